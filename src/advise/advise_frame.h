/*
 * advise_frame.h - a group's bytes as spans, cut into units in strata
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A span is a sequence of bytes that is compressed as a whole: a file, or the
 * tar stream of a group, or what goes into a squashfs image, whose whole blocks
 * and whose tails are two spans.  A span is cut into units of the same size and
 * a shorter last one.  The first stratum has the whole units, the others have
 * the last ones, by size.
 */
#ifndef COLDPRESS_ADVISE_FRAME_H
#define COLDPRESS_ADVISE_FRAME_H

#include "advise/advise.h"

enum { FRAME_STRATA = 12 };

/* How the bytes of a span come about. */
enum frame_form {
	FRAME_FILE,		/* those of a file */
	FRAME_UNPACKED,		/* those of a compressed file */
	FRAME_TAR,		/* headers and contents of all files */
	FRAME_BLOCKS,		/* whole blocks of all files */
	FRAME_TAILS		/* what is left of each file */
};

struct frame_span {
	enum frame_form form;
	const struct advise_file *file;	/* NULL: all of the group */
	uint64_t len;
	uint64_t *starts;		/* of each file of the group in it */
};

/* The spans with units in a stratum, and the number of units before each. */
struct frame_stratum {
	size_t *spans;
	uint64_t *before;
	size_t count, room, before_room;
	uint64_t units, drawn;
	uint64_t size;
};

struct advise_frame {
	struct frame_span *spans;
	size_t count, room;
	struct frame_stratum strata[FRAME_STRATA];
	uint64_t seed;
	uint8_t *unit;			/* room for a unit */
};

/*
 * Reads len bytes at offset of a span to `to`; what can no longer be read is
 * zero.  Returns 0 or -errno.
 */
int advise_span_read(const struct advise_group *g, const struct frame_span *s,
    uint64_t offset, uint8_t *to, size_t len);

/* Returns how many bytes a file adds to a span of all files. */
uint64_t advise_span_share(enum frame_form form, const struct advise_file *f);

/*
 * Returns the size of a compressed file's contents; 0 if it is unknown.
 */
uint64_t advise_plain_size(const struct advise_file *f);

#endif

/*
 * advise_frame.h - a group's bytes as spans, cut into units in strata
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A span is a sequence of bytes that is compressed as a whole: a file, or the
 * tar stream of a group, or what goes into a squashfs image, whose whole blocks
 * and whose tails are two spans.  A span is cut into units of the same size and
 * a shorter last one.  The first stratum has the whole units, the others have
 * the last ones, by size.  Units of a tar stream in which a file comes again have
 * a stratum of their own: what the long windows make of them is quite different.
 */
#ifndef COLDPRESS_ADVISE_FRAME_H
#define COLDPRESS_ADVISE_FRAME_H

#include "advise/advise.h"

#include <sys/types.h>

enum { FRAME_STRATA = 12, FRAME_AGAIN = FRAME_STRATA - 1 };

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
	struct advise_file *file;	/* NULL: all of the group */
	uint64_t len;
	uint64_t *starts;		/* of each file of the group in it */
};

/* The spans with units in a stratum, and the number of units before each. */
struct frame_stratum {
	size_t *spans;
	uint64_t *before;
	size_t count, room, before_room;
	uint64_t *list;			/* numbers of the units in the only span;
					 * NULL: all */
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
 * Reads len bytes at offset of a span to `to`.  What cannot be read is left out,
 * and noted in its file.  Returns how much there is, or -ENOMEM.
 */
ssize_t advise_span_read(const struct advise_group *g, const struct frame_span *s,
    uint64_t offset, uint8_t *to, size_t len);

/*
 * Returns how many bytes a file adds to a span of all files; UINT64_MAX without
 * memory.
 */
uint64_t advise_span_share(enum frame_form form, const struct advise_file *f);

/*
 * Returns the size of a compressed file's contents; 0 if it is unknown, which is
 * noted in the file if it cannot be read.
 */
uint64_t advise_plain_size(struct advise_file *f);

/*
 * Compresses a part of a stream with the library of c, zstd or xz, after the
 * `before` bytes in front of it.  Sets t->size and, with t->timed set, the CPU
 * times, which do not include preparations.  Returns 0 or -errno.
 */
int advise_after(const struct advise_candidate *c, const uint8_t *data,
    size_t len, size_t before, struct advise_trial *t);

/*
 * Returns how many bytes of memory pzc uses for a stream of len bytes that
 * becomes one of `size` bytes.
 */
double advise_memory(const struct advise_candidate *c, double len, double size);

/* Returns the CPU time so far, in seconds: of the thread, or of all. */
double advise_cpu_now(const struct advise_trial *t);

/*
 * As advise_try(), for the blocks of an image, the chunks of btrfs, and the
 * records of ZFS.
 */
int advise_try_blocks(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t);
int advise_try_chunks(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t);
int advise_try_records(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t);

/*
 * As advise_try(), for a part of a layer whose files are compressed one by one,
 * in pieces of c->block bytes at most, with their lines in the index.
 */
int advise_try_pieces(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t);

#endif

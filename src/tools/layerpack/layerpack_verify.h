/*
 * layerpack_verify.h - declarations shared by the verification code
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_VERIFY_H
#define COLDPRESS_LAYERPACK_VERIFY_H

#include "layerpack_units.h"

#include "engine/digest/digest.h"
#include "format/tar/tar_archive.h"

struct verify {
	struct layerpack *p;
	struct layerpack_source s;
	int archive, trace;		/* files, or -errno */
	const struct layer_entry *entries;
	size_t count, units;
	struct unit_reader reader;
	uint32_t unit;			/* unit in the reader */
	uint8_t *state;			/* enum unit_state for each unit */
	struct digest_algo *sha256;
	struct digest *digest;
	uint64_t bytes;			/* bytes compared */
	/* the file being compared */
	size_t n;			/* entry of the file */
	size_t run;			/* first run not yet compared */
	bool hashed, differs;
};

enum unit_state { UNIT_UNREAD, UNIT_GOOD, UNIT_BAD };

/*
 * Returns a unit's content, loading it if necessary.  Returns NULL, after
 * reporting the reason, if the unit is invalid.
 */
const uint8_t *verify_unit(struct verify *v, uint32_t unit);

enum { VERIFY_ZEROS = 64 << 10 };
extern const uint8_t verify_zeros[VERIFY_ZEROS];

/*
 * Compares len bytes of data (NULL: zeros) at offset `at` in a file with the
 * units of the file.  *first is the first run of the entry that does not end
 * before the data; it is advanced, so pieces must be in file order.  An invalid
 * unit has already been reported, and is treated as equal.
 */
bool verify_data(struct verify *v, const struct layer_entry *e, size_t *first,
    uint64_t at, const uint8_t *data, uint64_t len);

/*
 * Compares an entry of the archive with an entry of the index, without the
 * data.  Returns NULL if they are equal, otherwise a description of the
 * difference.
 */
const char *verify_entry(const struct tar_entry *t,
    const struct layer_entry *e);

/* Reads the archive, and compares it with the index.  Returns 0 or -errno. */
int verify_archive(struct verify *v);

/*
 * Compares the trace, if the layer has one, with the units, and reports any
 * differences.  Returns 0 or -errno.
 */
int verify_trace(struct verify *v);

#endif

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
	const struct layer_entry *entries;
	size_t count, units;
	struct unit_reader reader;
	uint32_t unit;			/* in the reader */
	uint8_t *state;			/* enum unit_state, of each unit */
	struct digest_algo *sha256;
	struct digest *digest;
	uint64_t bytes;			/* compared */
	/* the file being compared */
	size_t n;			/* its entry */
	size_t run;			/* the first not yet compared */
	bool hashed, differs;
};

enum unit_state { UNIT_UNREAD, UNIT_GOOD, UNIT_BAD };

/*
 * Returns the content of a unit, loading it if necessary; NULL, after reporting
 * why, if it is not good.
 */
const uint8_t *verify_unit(struct verify *v, uint32_t unit);

/*
 * Compares an entry of the archive with one of the index, without the data.
 * Returns NULL if they are equal, otherwise what differs.
 */
const char *verify_entry(const struct tar_entry *t,
    const struct layer_entry *e);

/* Reads the archive, and compares it with the index.  Returns 0 or -errno. */
int verify_archive(struct verify *v);

#endif

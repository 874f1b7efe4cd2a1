/*
 * verify_impl.h - declarations shared by the verification code
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VERIFY_IMPL_H
#define COLDPRESS_LAZY_VERIFY_IMPL_H

#include "lazy/verify/verify.h"

#include "engine/digest/digest.h"
#include "lazy/unit_reader.h"

struct verify {
	const struct layer *l;
	const struct layer_blobs *blobs;
	const struct verify_options *o;
	struct verify_result *result;
	const struct layer_entry *entries;
	struct unit_reader reader;
	uint32_t unit;			/* unit in the reader */
	uint8_t *state;			/* enum unit_state for each unit */
	struct digest_algo *sha256;
	struct digest *digest;
	/* the file being compared */
	size_t n;			/* entry of the file */
	size_t run;			/* first run not yet compared */
	bool hashed, differs;
};

enum unit_state { UNIT_UNREAD, UNIT_GOOD, UNIT_BAD };

/* Reports a fault. */
void verify_fault(struct verify *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

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

/* Reads the archive, and compares it with the index.  Returns 0 or -errno. */
int verify_archive(struct verify *v);

/*
 * Compares the trace, if the layer has one, with the units.  Returns 0 or
 * -errno.
 */
int verify_trace(struct verify *v);

#endif

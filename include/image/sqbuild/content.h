/*
 * content.h - what tells files of the same content
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A hash of 128 bits, and a number of bytes.  One thread's.
 */
#ifndef COLDPRESS_SQBUILD_CONTENT_H
#define COLDPRESS_SQBUILD_CONTENT_H

#include "image/sqbuild/data.h"

#include <xxhash.h>

struct content {
	const struct sqb_data_options *o;
	XXH3_state_t *state;
	bool begun;
};

int content_open(struct content *c, const struct sqb_data_options *o);
void content_close(struct content *c);

/* A file: begun, its blocks in order, ended. */
void content_begin(struct content *c);
void content_add(struct content *c, const uint8_t *block, size_t len);
XXH128_hash_t content_end(const struct content *c);

/*
 * What files of the same content have in common: the size, or, to be exact,
 * that of all their blocks.
 */
uint64_t content_size(const struct sqb_data_options *o, uint64_t size);

bool content_is_zero(const uint8_t *p, size_t len);	/* len >= 1 */

#endif

/*
 * content.h - hashing the content of files to find duplicates
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Content is identified by a 128-bit hash and a size.  Use from one thread at a
 * time.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_CONTENT_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_CONTENT_H

#include "image/squashfs/write/data.h"

#include <xxhash.h>

struct sqw_content {
	const struct sqw_data_options *o;
	XXH3_state_t *state;
	bool begun;
	uint64_t busy_ns;		/* time spent hashing so far */
};

int sqw_content_open(struct sqw_content *c, const struct sqw_data_options *o);
void sqw_content_close(struct sqw_content *c);

/*
 * These functions hash a file: begin, add its blocks in order, end.  A hole is
 * hashed like `count` blocks of zeros, the first of which has len bytes.
 */
void sqw_content_begin(struct sqw_content *c);
void sqw_content_add(struct sqw_content *c, const uint8_t *block, size_t len);
void sqw_content_add_hole(struct sqw_content *c, size_t len, uint32_t count);
XXH128_hash_t sqw_content_end(const struct sqw_content *c);

/*
 * Returns the size to be used when comparing the content of files: the size of
 * the file or, in exact mode, of all its blocks.
 */
uint64_t sqw_content_size(const struct sqw_data_options *o, uint64_t size);

bool sqw_content_is_zero(const uint8_t *p, size_t len);	/* len >= 1 */

#endif

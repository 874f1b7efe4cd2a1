/*
 * table.h - a table of metadata blocks in a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Data added to a table is cut into metadata blocks, which are compressed and
 * written.  Integers are little-endian.  Use from one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_TABLE_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_TABLE_H

#include "image/squashfs/format.h"

#include <stddef.h>
#include <stdint.h>

/* Operations on the blocks of a table; arg is passed to each. */
struct sqw_table_ops {
	/*
	 * Compresses len bytes into out.  Returns the size, or 0 if the result
	 * would not be smaller.  If NULL, blocks are stored uncompressed.
	 */
	size_t (*pack)(void *arg, const uint8_t *in, size_t len, uint8_t *out,
	    size_t cap);
	/*
	 * Writes a block, including its header, after the previous one.  If
	 * NULL, blocks are only counted.  Returns 0 or -errno.
	 */
	int (*write)(void *arg, const uint8_t *block, size_t len);
	void *arg;
};

/* All zero initially, except for ops. */
struct sqw_table {
	struct sqw_table_ops ops;
	uint64_t size;			/* size of the complete blocks, with
					 * headers */
	uint64_t raw_size;		/* the same, before compression */
	uint64_t blocks;
	int err;			/* the first error from write() */
	uint32_t filled;		/* bytes in the current block */
	uint8_t data[SQUASHFS_META_B];
	uint8_t packed[SQUASHFS_META_HEADER_B + SQUASHFS_META_B];
};

struct sqw_place {
	uint32_t block;			/* offset of the block in its table */
	uint16_t offset;
};

/* Returns the position of the next byte. */
struct sqw_place sqw_place(const struct sqw_table *t);

void sqw_put(struct sqw_table *t, const void *data, size_t len);
void sqw_put16(struct sqw_table *t, uint64_t v);
void sqw_put32(struct sqw_table *t, uint64_t v);
void sqw_put64(struct sqw_table *t, uint64_t v);

/* Ends the last block.  Returns 0, or the first error from write(). */
int sqw_table_end(struct sqw_table *t);

#endif

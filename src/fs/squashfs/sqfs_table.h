/*
 * sqfs_table.h - a table of metadata blocks of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is put into it is compressed block by block, and
 * only the sizes are kept.  Integers are little-endian.
 */
#ifndef COLDPRESS_SQFS_TABLE_H
#define COLDPRESS_SQFS_TABLE_H

#include "fs/packer.h"

#include <stdbool.h>

enum {
	SQFS_META = 8192,		/* bytes of a block */
	SQFS_HEADER = 2			/* before each: its size */
};

/* All zero at first, but for the packer, which may be NULL: uncompressed. */
struct sqfs_table {
	struct packer *packer;
	uint64_t size;			/* of the whole blocks, compressed */
	uint64_t blocks;
	uint32_t filled;		/* of the one in hand */
	uint8_t data[SQFS_META];
};

struct sqfs_place {
	uint32_t block;			/* where it begins in its table */
	uint16_t offset;
};

/* Where the next byte goes. */
struct sqfs_place sqfs_place(const struct sqfs_table *t);

void sqfs_put(struct sqfs_table *t, const void *data, size_t len);
void sqfs_put16(struct sqfs_table *t, uint64_t v);
void sqfs_put32(struct sqfs_table *t, uint64_t v);
void sqfs_put64(struct sqfs_table *t, uint64_t v);

/* What it takes, with the list of its blocks or without; it is empty then. */
uint64_t sqfs_table_end(struct sqfs_table *t, bool pointers);

#endif

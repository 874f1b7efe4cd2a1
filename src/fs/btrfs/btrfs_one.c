/*
 * btrfs_one.c - what btrfs allocates for one chunk
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "btrfs.h"
#include "fs/fs_one.h"

#include <string.h>

_Static_assert((int)FS_CHUNK == (int)BTRFS_CHUNK,
    "a chunk is a chunk");

uint64_t
fs_one_chunk(struct packer *p, uint8_t *data, uint64_t offset,
    uint64_t file_size)
{
	uint64_t left = file_size - offset;
	uint32_t len = left < BTRFS_CHUNK ? (uint32_t)left : BTRFS_CHUNK;
	bool good[BTRFS_PIECES];
	struct btrfs_chunk c;

	memset(data + len, 0, (size_t)-len % BTRFS_SECTOR);
	for (uint32_t at = 0; at < len; at += BTRFS_PIECE)
		good[at / BTRFS_PIECE] = btrfs_looks_good(data + at,
		    len - at < BTRFS_PIECE ? len - at : BTRFS_PIECE);
	btrfs_pack(p, data, offset, file_size, good, &c);
	return c.physical_B;
}

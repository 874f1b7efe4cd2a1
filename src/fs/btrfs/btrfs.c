/*
 * btrfs.c - the space used by pieces of files on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "btrfs.h"

#include <string.h>

static uint32_t
round_up(uint32_t n)
{
	return (n + BTRFS_SECTOR - 1) / BTRFS_SECTOR * BTRFS_SECTOR;
}

static uint32_t
lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Counts one more extent, or the bytes in a leaf. */
static void
add_extent(struct btrfs_chunk *c, uint32_t len, uint32_t stored)
{
	c->logical_B += round_up(len);
	c->physical_B += round_up(stored);
	c->filled_B += stored;
	c->extents++;
}

static void
put_in_leaf(struct btrfs_chunk *c, uint32_t len, uint32_t stored)
{
	*c = (struct btrfs_chunk){ .logical_B = len, .physical_B = stored,
	    .filled_B = stored, .in_leaf = true, .failed = c->failed };
}

void
btrfs_plain(bool first, uint32_t len, struct btrfs_chunk *c)
{
	*c = (struct btrfs_chunk){ .extents = 0 };
	if (first && len <= BTRFS_INLINE)
		put_in_leaf(c, len, len);
	else
		add_extent(c, len, len);
}

/*
 * Tries one piece.  Returns false if this piece and all later ones stay
 * uncompressed.
 */
static bool
pack_piece(struct packer *p, const uint8_t *data, bool first, uint32_t len,
    struct btrfs_chunk *c)
{
	uint32_t n;

	/* a single sector cannot shrink to less, but it may fit into a leaf */
	if (!first && len <= BTRFS_SECTOR)
		return false;
	n = (uint32_t)packer_pack(p, data, len, round_up(len));
	if (n != 0 && first && len <= BTRFS_SECTOR && n <= BTRFS_INLINE) {
		put_in_leaf(c, len, n);
		return true;
	}
	c->failed = n == 0 || round_up(n) + BTRFS_SECTOR > round_up(len);
	if (c->failed)
		return false;
	add_extent(c, len, n);
	return true;
}

void
btrfs_pack(struct packer *p, const uint8_t *data, uint64_t offset,
    uint64_t size, const bool good[BTRFS_PIECES], struct btrfs_chunk *c)
{
	uint32_t len = size - offset < BTRFS_CHUNK ?
	    (uint32_t)(size - offset) : BTRFS_CHUNK;
	uint32_t at = 0;

	*c = (struct btrfs_chunk){ .extents = 0 };
	while (at < len) {
		uint32_t n = lesser(len - at, BTRFS_PIECE);

		if (!good[at / BTRFS_PIECE] || !pack_piece(p, data + at,
		    offset + at == 0, n, c))
			break;
		at += n;
	}
	if (at < len && offset == 0 && at == 0 && len <= BTRFS_INLINE)
		put_in_leaf(c, len, len);
	else if (at < len)
		add_extent(c, len - at, len - at);
}

/*
 * btrfs.h - what files take on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Rules: Documentation/ch-compression.rst of btrfs-progs,
 * the on-disk format as the btrfs wiki describes it, and what compsize says
 * of files on Linux 6.18.  A file is written in chunks of 512 KiB, and a
 * chunk compressed in pieces of 128 KiB; with the first piece that fails, the
 * rest of its chunk stays as it is.
 */
#ifndef COLDPRESS_BTRFS_H
#define COLDPRESS_BTRFS_H

#include "engine/packer/packer.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	BTRFS_SECTOR = 4096,
	BTRFS_PIECE = 128 << 10,
	BTRFS_CHUNK = 512 << 10,
	BTRFS_PIECES = BTRFS_CHUNK / BTRFS_PIECE,
	BTRFS_INLINE = 2048	/* most that goes into a leaf: max_inline */
};

/* What a chunk takes. */
struct btrfs_chunk {
	uint32_t logical_B;	/* whole sectors, or bytes in a leaf */
	uint32_t physical_B;	/* the same, compressed */
	uint32_t filled_B;	/* of these, without what pads sectors */
	uint8_t extents;
	bool in_leaf;
	bool failed;		/* a piece became no smaller */
};

/*
 * Whether a sample of the piece looks as if it could be compressed: patterns
 * that repeat, few different bytes, or a low entropy.  Behind len bytes there
 * are zeros up to a whole sector.
 */
bool btrfs_looks_good(const uint8_t *piece, uint32_t len);

/* A chunk of len bytes, the first of its file or not, as it is. */
void btrfs_plain(bool first, uint32_t len, struct btrfs_chunk *c);

/*
 * A chunk at offset of its file of size bytes, compressed by p as far as it
 * pays; good says of each piece whether to try.
 */
void btrfs_pack(struct packer *p, const uint8_t *data, uint64_t offset,
    uint64_t size, const bool good[BTRFS_PIECES], struct btrfs_chunk *c);

/* Nodes of the trees, added up item by item; all zero at first. */
struct btrfs_trees {
	uint64_t files_B;	/* items with their heads: inodes, names */
	uint64_t extents_B;
	uint64_t sums_B;
};

/* A file, directory or other of that name's length. */
void btrfs_add_inode(struct btrfs_trees *t, uint64_t name_len);

/* What is in the leaf: of a small file, or a link's target. */
void btrfs_add_in_leaf(struct btrfs_trees *t, uint64_t bytes);

/* Extents, of so many bytes on the disk together. */
void btrfs_add_extents(struct btrfs_trees *t, uint64_t count,
    uint64_t physical_B);

/* Bytes of all nodes, each stored twice. */
uint64_t btrfs_trees_B(const struct btrfs_trees *t);

#endif

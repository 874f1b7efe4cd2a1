/*
 * btrfs.h - the space used by files on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The rules are from btrfs-progs' Documentation/ch-compression.rst, the btrfs
 * wiki's description of the on-disk format, and compsize's output for files on
 * Linux 6.18.  A file is written in chunks of 512 KiB, and a chunk is
 * compressed in pieces of 128 KiB; starting with the first piece that does not
 * shrink, the rest of the chunk is stored uncompressed.
 */
#ifndef COLDPRESS_BTRFS_H
#define COLDPRESS_BTRFS_H

#include "btrfs_names.h"
#include "engine/packer/packer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	BTRFS_SECTOR = 4096,
	BTRFS_PIECE = 128 << 10,
	BTRFS_CHUNK = 512 << 10,
	BTRFS_PIECES = BTRFS_CHUNK / BTRFS_PIECE,
	BTRFS_INLINE = 2048	/* maximum inline size: max_inline */
};

/* The space used by a chunk. */
struct btrfs_chunk {
	uint32_t logical_B;	/* whole sectors, or bytes in a leaf */
	uint32_t physical_B;	/* the same, after compression */
	uint32_t filled_B;	/* part of that, without sector padding */
	uint8_t extents;
	bool in_leaf;
	bool failed;		/* a piece did not shrink */
};

/*
 * Returns whether a sample of the piece looks compressible: it has repeating
 * patterns, few distinct bytes, or low entropy.  The len bytes are followed by
 * zeros up to a whole sector.
 */
bool btrfs_looks_good(const uint8_t *piece, uint32_t len);

/*
 * Measures a chunk of len bytes, stored uncompressed.  first is set for the
 * first chunk of a file.
 */
void btrfs_plain(bool first, uint32_t len, struct btrfs_chunk *c);

/*
 * Measures the chunk at offset in a file of size bytes, compressed by p as far
 * as that pays off.  good[i] is set if compression is to be tried for piece i.
 */
void btrfs_pack(struct packer *p, const uint8_t *data, uint64_t offset,
    uint64_t size, const bool good[BTRFS_PIECES], struct btrfs_chunk *c);

/* The files to copy; several threads may share one. */
struct btrfs_data {
	const struct btrfs_names *names;
	const size_t *first;		/* chunk of each item, and an end */
	const struct btrfs_chunk *chunks;
	size_t step;			/* from one chunk to the next */
	bool plain;			/* nothing is compressed */
};

/*
 * Returns the mean of several simulated copies, or 0 without memory.  The same
 * data always gives the same number.
 */
uint64_t btrfs_trial_nodes(const struct btrfs_data *data);

#endif

/*
 * zfs_dir.c - the directories of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs_dir.h"

#include "base/bytes.h"

#include <string.h>

enum {
	MICRO_ENTRY = 64,
	MICRO_NAME = 50,
	MICRO_MOST = 128 << 10,
	FAT_BLOCK = 16384,
	FAT_CHUNK = 24,
	FAT_CHUNK_DATA = 21,
	FAT_LEAF_HEAD = 48 + 2 * 512,
	FAT_CHUNKS = (FAT_BLOCK - FAT_LEAF_HEAD) / FAT_CHUNK,
	FAT_TABLE = 1024		/* leaf pointers in the first block */
};

static void
micro_dir(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count)
{
	struct zfs_blocks *b = d->blocks;
	size_t len = ((count + 1) * MICRO_ENTRY + ZFS_SECTOR - 1) /
	    ZFS_SECTOR * ZFS_SECTOR;
	struct zfs_target t = { len, 0, true, 1, ZFS_TYPE_DIR };
	struct zfs_object o = { depth, mode, count + 2, (uint32_t)len, 1, 0 };

	memset(b->block, 0, len);
	store_le64(b->block, (uint64_t)1 << 63 | 3);
	store_le64(b->block + 8, zfs_noise(b));
	for (size_t i = 0; i < count; i++) {
		uint8_t *p = b->block + (i + 1) * MICRO_ENTRY;

		store_le64(p, (d->objects + 1 + i) | (uint64_t)8 << 60);
		memcpy(p + 14, names[i], strlen(names[i]));
	}
	t.stored = zfs_blocks_add(b, b->block, len, 1);
	o.used = ZFS_COPIES * t.stored;
	zfs_dnode_add(d, &o, &t);
}

static size_t
chunks_of(const char *name)
{
	return 2 + strlen(name) / FAT_CHUNK_DATA + 1;
}

static uint8_t *
leaf_chunk(uint8_t *leaf, size_t i)
{
	return leaf + FAT_LEAF_HEAD + i * FAT_CHUNK;
}

/*
 * Adds one name, of that many objects, to a leaf from chunk `at` on; returns
 * the next free one.  A hash has 28 bits, beginning with those of the leaf.
 */
static size_t
leaf_name(struct zfs_dnodes *d, uint8_t *leaf, size_t at, const char *name,
    size_t count, unsigned prefix)
{
	size_t len = strlen(name) + 1;
	uint64_t hash = zfs_noise(d->blocks) >> 36 << 36 >> prefix >> 36 << 36;
	uint64_t object = d->objects + 1 + zfs_noise(d->blocks) % count;
	uint8_t *p = leaf_chunk(leaf, at);

	store_le16(leaf + 48 + 2 * (hash << prefix >> 55), (uint16_t)at);
	p[0] = 252;
	p[1] = 8;
	store_le16(p + 2, 0xffff);
	store_le16(p + 4, (uint16_t)(at + 1));
	store_le16(p + 6, (uint16_t)len);
	store_le16(p + 8, (uint16_t)(at + chunks_of(name) - 1));
	store_le16(p + 10, 1);
	store_le64(p + 16, hash);
	for (at++; len > 0; at++) {
		size_t n = len < FAT_CHUNK_DATA ? len : FAT_CHUNK_DATA;

		p = leaf_chunk(leaf, at);
		p[0] = 251;
		memcpy(p + 1, name, n);
		store_le16(p + 22, n == len ? 0xffff : (uint16_t)(at + 1));
		name += n;
		len -= n;
	}
	p = leaf_chunk(leaf, at);
	p[0] = 251;
	p[1] = 0x80;
	for (unsigned i = 0; i < 4; i++)	/* big-endian */
		p[5 + i] = (uint8_t)(object >> (24 - 8 * i));
	store_le16(p + 22, 0xffff);
	return at + 1;
}

/* Adds one of that many leaves, all of which are filled alike. */
static void
fill_leaf(struct zfs_dnodes *d, const char *const *names, size_t count,
    size_t leaves)
{
	unsigned prefix = 0;
	size_t at = 0;

	while (prefix < 16 && (size_t)1 << prefix < leaves)
		prefix++;
	memset(d->blocks->block, 0, FAT_BLOCK);
	memset(d->blocks->block + 48, 0xff, 2 * 512);
	store_le64(d->blocks->block, (uint64_t)1 << 63);
	for (size_t i = 0; i < count && at + chunks_of(names[i]) <=
	    FAT_CHUNKS; i += leaves)
		at = leaf_name(d, d->blocks->block, at, names[i], count,
		    prefix);
	for (; at < FAT_CHUNKS; at++) {
		leaf_chunk(d->blocks->block, at)[0] = 253;
		store_le16(leaf_chunk(d->blocks->block, at) + 22,
		    (uint16_t)(at + 1));
	}
}

/* Fills the block that maps hashes to leaves. */
static void
fill_table(struct zfs_blocks *b, size_t leaves)
{
	memset(b->block, 0, FAT_BLOCK);
	for (size_t i = 0; i < FAT_TABLE; i++)
		store_le64(b->block + FAT_BLOCK / 2 + 8 * i,
		    1 + i * leaves / FAT_TABLE);
}

static void
fat_dir(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count)
{
	struct zfs_blocks *b = d->blocks;
	size_t chunks = 0, leaves = 1;
	struct zfs_target t = { FAT_BLOCK, 0, true, 1, ZFS_TYPE_DIR };
	struct zfs_object o = { depth, mode, count + 2, FAT_BLOCK, 0, 0 };

	for (size_t i = 0; i < count; i++)
		chunks += chunks_of(names[i]);
	while (chunks / leaves > FAT_CHUNKS)
		leaves *= 2;
	fill_leaf(d, names, count, leaves);
	t.stored = zfs_blocks_add(b, b->block, FAT_BLOCK, leaves);
	o.used = ZFS_COPIES * t.stored * leaves;
	o.blocks = leaves + 1;
	fill_table(b, leaves);
	zfs_blocks_add(b, b->block, FAT_BLOCK, 1);
	zfs_add_indirect(b, leaves + 1, &t, 1);
	zfs_dnode_add(d, &o, &t);
}

void
zfs_dir_add(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count)
{
	size_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(names[i]);

		longest = n > longest ? n : longest;
	}
	if (longest < MICRO_NAME &&
	    (count + 1) * MICRO_ENTRY <= MICRO_MOST)
		micro_dir(d, depth, mode, names, count);
	else
		fat_dir(d, depth, mode, names, count);
}

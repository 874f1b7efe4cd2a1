/*
 * zfs_dir.c - the directories of a ZFS dataset
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zfs_meta.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	MICRO_NAME = 50,
	MICRO_MOST = 128 << 10,
	SALT_BASE = 0x2a5b0000,		/* any address */
	FAT_BLOCK = 16384,
	FAT_CHUNK = 24,
	FAT_CHUNK_DATA = 21,
	FAT_LEAF_HEAD = 48 + 2 * 512,
	FAT_CHUNKS = (FAT_BLOCK - FAT_LEAF_HEAD) / FAT_CHUNK,
	FAT_TABLE = 1024,		/* number of leaf pointers in the first
					 * block */
	FAT_PREFIX_MOST = 28		/* bits of a hash */
};

struct fat_name {
	const char *name;
	uint64_t hash;
};

struct fat_dir {
	struct zfs_dnodes *d;
	enum zfs_rank rank;
	size_t count;			/* number of names */
	size_t leaves;			/* leaves added so far */
	uint64_t used;			/* space that they use */
	uint64_t stored;		/* size of the last of them */
};

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
 * Adds a name to a leaf from chunk `at` onward.  Returns the next free chunk.
 */
static size_t
leaf_name(uint8_t *leaf, size_t at, const struct fat_name *of,
    uint64_t object, unsigned prefix)
{
	const char *name = of->name;
	size_t len = strlen(name) + 1;
	uint64_t hash = of->hash >> 36 << 36;
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

static int
by_fat_name(const void *a, const void *b)
{
	const struct fat_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/*
 * Adds the leaves of n sorted names whose hashes share `prefix` bits; a leaf
 * that overflows is split by the next bit.  The names that do not even fit then
 * are omitted.
 */
static void
add_leaves(struct fat_dir *f, struct fat_name *names, size_t n,
    unsigned prefix)
{
	struct zfs_blocks *b = f->d->blocks;
	uint8_t *leaf = b->scratch->block;
	size_t chunks = 0, half = 0, at = 0;

	for (size_t i = 0; i < n && chunks <= FAT_CHUNKS; i++)
		chunks += chunks_of(names[i].name);
	if (prefix < FAT_PREFIX_MOST && chunks > FAT_CHUNKS) {
		while (half < n && (names[half].hash << prefix >> 63) == 0)
			half++;
		add_leaves(f, names, half, prefix + 1);
		add_leaves(f, names + half, n - half, prefix + 1);
		return;
	}
	memset(leaf, 0, FAT_BLOCK);
	memset(leaf + 48, 0xff, 2 * 512);
	store_le64(leaf, (uint64_t)1 << 63);
	/*
	 * They are stored in creation order, which is assumed to be the order
	 * of the sorted names, so their object numbers are in ascending order.
	 */
	qsort(names, n, sizeof(*names), by_fat_name);
	for (size_t i = 0; i < n; i++) {
		uint64_t object = f->d->objects + 1 +
		    (i * f->count + zfs_noise(b) % f->count) / n;

		if (at + chunks_of(names[i].name) <= FAT_CHUNKS)
			at = leaf_name(leaf, at, &names[i], object, prefix);
	}
	for (; at < FAT_CHUNKS; at++) {
		leaf_chunk(leaf, at)[0] = 253;
		store_le16(leaf_chunk(leaf, at) + 22, (uint16_t)(at + 1));
	}
	f->stored = zfs_blocks_add(b, f->rank, leaf, FAT_BLOCK, 1);
	f->used += zfs_meta_used(b->pool, f->stored);
	f->leaves++;
}

static int
by_hash(const void *a, const void *b)
{
	const struct fat_name *x = a, *y = b;

	return (x->hash > y->hash) - (x->hash < y->hash);
}

/*
 * ZFS hashes names with a CRC that starts from a random number.  The number
 * only inverts the same bits in the hashes of all names of the same length, so
 * it does not affect how the leaves are filled.
 */
int
zfs_fat_blocks(struct zfs_dnodes *d, enum zfs_rank rank,
    const char *const *names, size_t count, struct zfs_target *leaf,
    uint64_t *leaves, uint64_t *used)
{
	struct zfs_blocks *b = d->blocks;
	struct fat_dir f = { .d = d, .rank = rank, .count = count };
	struct fat_name *hashed = sys_malloc(count * sizeof(*hashed));
	uint8_t *block = b->scratch->block;

	*leaf = (struct zfs_target){ .size = FAT_BLOCK, .meta = true,
	    .under = 1, .type = ZFS_TYPE_DIR };
	*leaves = *used = 0;
	if (hashed == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		hashed[i] = (struct fat_name){ names[i],
			lzma_crc64((const uint8_t *)names[i],
			strlen(names[i]), 0) };
	qsort(hashed, count, sizeof(*hashed), by_hash);
	add_leaves(&f, hashed, count, 0);
	sys_free(hashed);
	/* the block that maps hashes to leaves */
	memset(block, 0, FAT_BLOCK);
	for (size_t i = 0; i < FAT_TABLE; i++)
		store_le64(block + FAT_BLOCK / 2 + 8 * i,
		    1 + i * f.leaves / FAT_TABLE);
	zfs_blocks_add(b, rank, block, FAT_BLOCK, 1);
	leaf->stored = f.stored;
	*leaves = f.leaves;
	*used = f.used;
	return 0;
}

static int
fat_dir(struct zfs_dnodes *d, unsigned depth, const struct stat *st,
    const char *const *names, size_t count)
{
	struct zfs_object o = { .depth = depth, .st = st, .size = count + 2,
	    .block = FAT_BLOCK };
	struct zfs_target leaf;
	uint64_t leaves;
	int rc = zfs_fat_blocks(d, ZFS_RANK_DNODES, names, count, &leaf,
	    &leaves, &o.used);

	if (rc != 0)
		return rc;
	o.blocks = leaves + 1;
	zfs_add_indirect(d->blocks, ZFS_RANK_DNODES, leaves + 1, &leaf,
	    1);
	return zfs_dnode_add(d, &o, &leaf);
}

void
zfs_micro_begin(struct zfs_blocks *b, uint8_t *block, size_t len)
{
	memset(block, 0, len);
	store_le64(block, (uint64_t)1 << 63 | 3);
	/*
	 * The salt of the hashes: ZFS combines the addresses of two objects in
	 * memory, which are close to those used for the previous directory: in
	 * zfs-fuse within 64 KiB, in OpenZFS within a megabyte or so, which
	 * varies from one copy to the next.
	 */
	store_le64(block + 8, (b->pool->features ? (uint64_t)SALT_BASE << 4 |
	    (zfs_noise(b) & 0xfffff) : SALT_BASE |
	    (zfs_noise(b) & 0xffff)) | 1);
}

void
zfs_micro_put(uint8_t *block, size_t i, uint64_t value, const char *name)
{
	uint8_t *p = block + (i + 1) * ZFS_MICRO_ENTRY;

	store_le64(p, value);
	memcpy(p + 14, name, strlen(name));
}

int
zfs_dir_add(struct zfs_dnodes *d, unsigned depth, const struct stat *st,
    const char *const *names, const uint64_t *values, size_t count)
{
	struct zfs_blocks *b = d->blocks;
	size_t longest = 0, len = (size_t)zfs_round_up((count + 1) *
	    ZFS_MICRO_ENTRY, ZFS_SECTOR);
	struct zfs_target t = { .size = len, .meta = true, .under = 1,
	    .type = ZFS_TYPE_DIR };
	struct zfs_object o = { .depth = depth, .st = st, .size = count + 2,
	    .block = (uint32_t)len, .blocks = 1 };
	uint8_t *block = b->scratch->block;

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(names[i]);

		longest = n > longest ? n : longest;
	}
	if (longest >= MICRO_NAME || (count + 1) * ZFS_MICRO_ENTRY > MICRO_MOST)
		return fat_dir(d, depth, st, names, count);
	zfs_micro_begin(b, block, len);
	for (size_t i = 0; i < count; i++)
		zfs_micro_put(block, i, values != NULL ? values[i] :
		    (d->objects + 1 + i) | (uint64_t)8 << 60, names[i]);
	zfs_blocks_leaf(b, ZFS_RANK_DNODES, block, len, &t);
	t.data = t.stored == len ? block : NULL;
	o.used = zfs_meta_used(b->pool, t.stored);
	return zfs_dnode_add(d, &o, &t);
}

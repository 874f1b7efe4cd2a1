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
	MICRO_ENTRY = 64,
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
	size_t count;			/* number of names */
	size_t leaves;			/* leaves added so far */
	struct zfs_target leaf;
	struct zfs_object object;
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
	uint8_t *leaf = b->block;
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
	f->leaf.stored = zfs_blocks_add(b, leaf, FAT_BLOCK, 1);
	f->object.used += ZFS_COPIES * f->leaf.stored;
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
static int
fat_dir(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count)
{
	struct zfs_blocks *b = d->blocks;
	struct fat_dir f = { .d = d, .count = count,
		.leaf = { FAT_BLOCK, 0, true, 1, ZFS_TYPE_DIR, NULL },
		.object = { depth, mode, count + 2, FAT_BLOCK, 0, 0 } };
	struct fat_name *hashed = sys_malloc(count * sizeof(*hashed));

	if (hashed == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		hashed[i] = (struct fat_name){ names[i],
			lzma_crc64((const uint8_t *)names[i],
			strlen(names[i]), 0) };
	qsort(hashed, count, sizeof(*hashed), by_hash);
	add_leaves(&f, hashed, count, 0);
	sys_free(hashed);
	f.object.blocks = f.leaves + 1;
	/* the block that maps hashes to leaves */
	memset(b->block, 0, FAT_BLOCK);
	for (size_t i = 0; i < FAT_TABLE; i++)
		store_le64(b->block + FAT_BLOCK / 2 + 8 * i,
		    1 + i * f.leaves / FAT_TABLE);
	zfs_blocks_add(b, b->block, FAT_BLOCK, 1);
	zfs_add_indirect(b, f.leaves + 1, &f.leaf, 1);
	zfs_dnode_add(d, &f.object, &f.leaf);
	return 0;
}

int
zfs_dir_add(struct zfs_dnodes *d, unsigned depth, mode_t mode,
    const char *const *names, size_t count)
{
	struct zfs_blocks *b = d->blocks;
	size_t longest = 0, len = (size_t)zfs_round_up((count + 1) *
	    MICRO_ENTRY, ZFS_SECTOR);
	struct zfs_target t = { len, 0, true, 1, ZFS_TYPE_DIR, NULL };
	struct zfs_object o = { depth, mode, count + 2, (uint32_t)len, 1, 0 };

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(names[i]);

		longest = n > longest ? n : longest;
	}
	if (longest >= MICRO_NAME || (count + 1) * MICRO_ENTRY > MICRO_MOST)
		return fat_dir(d, depth, mode, names, count);
	memset(b->block, 0, len);
	store_le64(b->block, (uint64_t)1 << 63 | 3);
	/*
	 * The salt of the hashes: ZFS combines the addresses of two objects in
	 * memory, which are close to those used for the previous directory.
	 */
	store_le64(b->block + 8, SALT_BASE | (zfs_noise(b) & 0xffff) | 1);
	for (size_t i = 0; i < count; i++) {
		uint8_t *p = b->block + (i + 1) * MICRO_ENTRY;

		store_le64(p, (d->objects + 1 + i) | (uint64_t)8 << 60);
		memcpy(p + 14, names[i], strlen(names[i]));
	}
	t.stored = zfs_blocks_add(b, b->block, len, 1);
	t.data = t.stored == len ? b->block : NULL;
	o.used = ZFS_COPIES * t.stored;
	zfs_dnode_add(d, &o, &t);
	return 0;
}

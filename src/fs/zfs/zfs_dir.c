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
	FAT_HASHES = 512,
	FAT_LEAF_HEAD = 48 + 2 * FAT_HASHES,
	FAT_CHUNKS = (FAT_BLOCK - FAT_LEAF_HEAD) / FAT_CHUNK,
	FAT_MAGIC = 0x2ab1eaf,
	FAT_END = 0xffff,		/* of a chain */
	FAT_ARRAY = 251, FAT_ENTRY = 252, FAT_FREE = 253,
	FAT_NFREE = 28, FAT_COUNT = 30, FAT_PREFIX = 32, FAT_FIRST = 34,
	FAT_TABLE = 1024,		/* number of leaf pointers in the first
					 * block */
	FAT_PREFIX_MOST = 28		/* bits of a hash */
};

/*
 * A directory.  Of a name, the leaves sort its hash, of which ZFS stores 28
 * bits, followed by its index: there may be millions of them.
 */
enum { FAT_INDEX = 36 };

struct fat_dir {
	struct zfs_dnodes *d;
	enum zfs_rank rank;
	const struct zfs_names *names;
	uint64_t *spare;		/* as many as there are names */
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

static void
leaf_begin(uint8_t *leaf)
{
	memset(leaf, 0, FAT_BLOCK);
	store_le64(leaf, (uint64_t)1 << 63);
	store_le32(leaf + 24, FAT_MAGIC);
	store_le16(leaf + FAT_NFREE, FAT_CHUNKS);
	memset(leaf + 48, 0xff, 2 * FAT_HASHES);
	for (size_t i = 0; i < FAT_CHUNKS; i++) {
		leaf_chunk(leaf, i)[0] = FAT_FREE;
		store_le16(leaf_chunk(leaf, i) + 22, i + 1 < FAT_CHUNKS ?
		    (uint16_t)(i + 1) : FAT_END);
	}
}

/* Takes the first of the free chunks, which form a stack. */
static uint16_t
leaf_take(uint8_t *leaf)
{
	uint16_t i = load_le16(leaf + FAT_FIRST);

	store_le16(leaf + FAT_FIRST, load_le16(leaf_chunk(leaf, i) + 22));
	store_le16(leaf + FAT_NFREE,
	    (uint16_t)(load_le16(leaf + FAT_NFREE) - 1));
	return i;
}

static void
leaf_give(uint8_t *leaf, uint16_t i)
{
	uint8_t *p = leaf_chunk(leaf, i);

	memset(p, 0, FAT_CHUNK);
	p[0] = FAT_FREE;
	store_le16(p + 22, load_le16(leaf + FAT_FIRST));
	store_le16(leaf + FAT_FIRST, i);
	store_le16(leaf + FAT_NFREE,
	    (uint16_t)(load_le16(leaf + FAT_NFREE) + 1));
}

/* Appends an entry to the chain of its hash. */
static void
leaf_chain(uint8_t *leaf, uint16_t entry)
{
	uint8_t *p = leaf_chunk(leaf, entry);
	uint64_t hash = load_le64(p + 16) << load_le16(leaf + FAT_PREFIX);
	uint8_t *at = leaf + 48 + 2 * (hash >> 55);

	while (load_le16(at) != FAT_END)
		at = leaf_chunk(leaf, load_le16(at)) + 2;
	store_le16(p + 2, FAT_END);
	store_le16(at, entry);
}

/* Stores bytes in chunks of their own, and returns the first of these. */
static uint16_t
leaf_bytes(uint8_t *leaf, const uint8_t *bytes, size_t len)
{
	uint16_t first = leaf_take(leaf), i = first;

	for (;;) {
		uint8_t *p = leaf_chunk(leaf, i);
		size_t n = len < FAT_CHUNK_DATA ? len : FAT_CHUNK_DATA;

		p[0] = FAT_ARRAY;
		memcpy(p + 1, bytes, n);
		bytes += n;
		len -= n;
		i = len == 0 ? FAT_END : leaf_take(leaf);
		store_le16(p + 22, i);
		if (len == 0)
			return first;
	}
}

static const char *
fat_get(const struct fat_dir *f, uint64_t hashed, uint64_t *value)
{
	const struct zfs_names *names = f->names;

	return names->get(names->arg, (size_t)(hashed &
	    (((uint64_t)1 << FAT_INDEX) - 1)), value);
}

static void
leaf_add(uint8_t *leaf, const char *name, uint64_t hash, uint64_t n)
{
	uint16_t entry = leaf_take(leaf);
	uint8_t *p = leaf_chunk(leaf, entry), value[8];
	size_t len = strlen(name) + 1;

	for (unsigned i = 0; i < sizeof(value); i++)	/* big-endian */
		value[i] = (uint8_t)(n >> (56 - 8 * i));
	p[0] = FAT_ENTRY;
	p[1] = sizeof(value);
	store_le16(p + 4, leaf_bytes(leaf, (const uint8_t *)name, len));
	store_le16(p + 6, (uint16_t)len);
	store_le16(p + 8, leaf_bytes(leaf, value, sizeof(value)));
	store_le16(p + 10, 1);
	store_le64(p + 16, hash);
	leaf_chain(leaf, entry);
	store_le16(leaf + FAT_COUNT,
	    (uint16_t)(load_le16(leaf + FAT_COUNT) + 1));
}

/* Moves the chunks from i on to another leaf, and returns the first there. */
static uint16_t
leaf_move(uint8_t *from, uint16_t i, uint8_t *to)
{
	uint16_t first = leaf_take(to), k = first;

	for (;;) {
		uint8_t *p = leaf_chunk(from, i), *q = leaf_chunk(to, k);
		uint16_t next = load_le16(p + 22);

		memcpy(q, p, FAT_CHUNK);
		leaf_give(from, i);
		k = next == FAT_END ? FAT_END : leaf_take(to);
		store_le16(q + 22, k);
		if (next == FAT_END)
			return first;
		i = next;
	}
}

/* Moves the entries whose hashes have the next bit set to a new leaf. */
static void
leaf_split(uint8_t *leaf, uint8_t *to)
{
	uint16_t prefix = load_le16(leaf + FAT_PREFIX), moved = 0;

	leaf_begin(to);
	store_le64(leaf + 16, load_le64(leaf + 16) << 1);
	store_le64(to + 16, load_le64(leaf + 16) | 1);
	store_le16(leaf + FAT_PREFIX, (uint16_t)(prefix + 1));
	store_le16(to + FAT_PREFIX, (uint16_t)(prefix + 1));
	memset(leaf + 48, 0xff, 2 * FAT_HASHES);
	for (uint16_t i = 0; i < FAT_CHUNKS; i++) {
		uint8_t *p = leaf_chunk(leaf, i), *q;
		uint16_t entry;

		if (p[0] != FAT_ENTRY)
			continue;
		if (load_le64(p + 16) << prefix >> 63 == 0) {
			leaf_chain(leaf, i);
			continue;
		}
		entry = leaf_take(to);
		q = leaf_chunk(to, entry);
		memcpy(q, p, FAT_CHUNK);
		leaf_chain(to, entry);
		store_le16(q + 4, leaf_move(leaf, load_le16(p + 4), to));
		store_le16(q + 8, leaf_move(leaf, load_le16(p + 8), to));
		leaf_give(leaf, i);
		moved++;
	}
	store_le16(to + FAT_COUNT, moved);
	store_le16(leaf + FAT_COUNT,
	    (uint16_t)(load_le16(leaf + FAT_COUNT) - moved));
}

/*
 * Puts the names whose hashes have this bit after those that do not, otherwise
 * in the same order.  Returns the number of the latter.
 */
static size_t
part_names(uint64_t *names, size_t n, unsigned bit, uint64_t *spare)
{
	size_t low = 0, high = 0;

	for (size_t i = 0; i < n; i++)
		if (names[i] << bit >> 63 != 0)
			spare[high++] = names[i];
		else
			names[low++] = names[i];
	memcpy(names + low, spare, high * sizeof(*spare));
	return low;
}

/*
 * Adds names in the order of their creation to a leaf.  If they do not fit, it
 * is split by the next bit of the hashes, and both halves are filled; names
 * that do not even fit then are omitted.  Returns 0 or -ENOMEM.
 */
static int
add_leaves(struct fat_dir *f, uint8_t *leaf, uint64_t *names, size_t n)
{
	unsigned prefix = load_le16(leaf + FAT_PREFIX);

	for (size_t i = 0; i < n; i++) {
		uint64_t value;
		const char *name = fat_get(f, names[i], &value);
		uint8_t *other;
		size_t low;
		int rc;

		if (chunks_of(name) <= load_le16(leaf + FAT_NFREE)) {
			leaf_add(leaf, name, names[i] >> FAT_INDEX <<
			    FAT_INDEX, value);
			continue;
		}
		if (prefix == FAT_PREFIX_MOST)
			continue;
		other = sys_malloc(FAT_BLOCK);
		if (other == NULL)
			return -ENOMEM;
		leaf_split(leaf, other);
		low = part_names(names + i, n - i, prefix, f->spare);
		rc = add_leaves(f, leaf, names + i, low);
		if (rc == 0)
			rc = add_leaves(f, other, names + i + low, n - i - low);
		sys_free(other);
		return rc;
	}
	f->stored = zfs_blocks_add(f->d->blocks, f->rank, leaf, FAT_BLOCK, 1);
	f->used += zfs_meta_used(f->d->blocks->pool, f->stored);
	f->leaves++;
	return 0;
}

/*
 * ZFS hashes names with a CRC that starts from a random number.  The number
 * only inverts the same bits in the hashes of all names of the same length, so
 * it does not affect how the leaves are filled.
 */
int
zfs_fat_blocks(struct zfs_dnodes *d, enum zfs_rank rank,
    const struct zfs_names *names, struct zfs_target *leaf, uint64_t *leaves,
    uint64_t *used)
{
	struct zfs_blocks *b = d->blocks;
	struct fat_dir f = { .d = d, .rank = rank, .names = names };
	size_t count = names->count;
	uint64_t *hashed = sys_calloc(2 * count, sizeof(*hashed));
	uint8_t *first = sys_malloc(FAT_BLOCK);
	uint8_t *block = b->scratch->block;
	int rc = hashed == NULL || first == NULL ? -ENOMEM : 0;

	*leaf = (struct zfs_target){ .size = FAT_BLOCK, .meta = true,
	    .under = 1, .type = ZFS_TYPE_DIR };
	*leaves = *used = 0;
	if (rc != 0)
		goto out;
	for (size_t i = 0; i < count; i++) {
		uint64_t value;
		const char *name = names->get(names->arg, i, &value);

		hashed[i] = (lzma_crc64((const uint8_t *)name, strlen(name),
		    0) >> FAT_INDEX << FAT_INDEX) | i;
	}
	f.spare = hashed + count;
	leaf_begin(first);
	rc = add_leaves(&f, first, hashed, count);
	if (rc != 0)
		goto out;
	/* the block that maps hashes to leaves */
	memset(block, 0, FAT_BLOCK);
	for (size_t i = 0; i < FAT_TABLE; i++)
		store_le64(block + FAT_BLOCK / 2 + 8 * i,
		    1 + i * f.leaves / FAT_TABLE);
	zfs_blocks_add(b, rank, block, FAT_BLOCK, 1);
	leaf->stored = f.stored;
	*leaves = f.leaves;
	*used = f.used;
out:
	sys_free(first);
	sys_free(hashed);
	return rc;
}

static int
fat_dir(struct zfs_dnodes *d, unsigned depth, const struct stat *st,
    const struct zfs_names *names)
{
	struct zfs_object o = { .depth = depth, .st = st,
	    .size = names->count + 2, .block = FAT_BLOCK };
	struct zfs_target leaf;
	uint64_t leaves;
	int rc = zfs_fat_blocks(d, ZFS_RANK_DNODES, names, &leaf, &leaves,
	    &o.used);

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
    const struct zfs_names *names)
{
	struct zfs_blocks *b = d->blocks;
	size_t count = names->count, longest = 0;
	size_t len = (size_t)zfs_round_up((count + 1) * ZFS_MICRO_ENTRY,
	    ZFS_SECTOR);
	struct zfs_target t = { .size = len, .meta = true, .under = 1,
	    .type = ZFS_TYPE_DIR };
	struct zfs_object o = { .depth = depth, .st = st, .size = count + 2,
	    .block = (uint32_t)len, .blocks = 1 };
	uint8_t *block = b->scratch->block;
	uint64_t value;

	if ((count + 1) * ZFS_MICRO_ENTRY > MICRO_MOST)
		return fat_dir(d, depth, st, names);
	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(names->get(names->arg, i, &value));

		longest = n > longest ? n : longest;
	}
	if (longest >= MICRO_NAME)
		return fat_dir(d, depth, st, names);
	zfs_micro_begin(b, block, len);
	for (size_t i = 0; i < count; i++) {
		const char *name = names->get(names->arg, i, &value);

		zfs_micro_put(block, i, value, name);
	}
	zfs_blocks_leaf(b, ZFS_RANK_DNODES, block, len, &t);
	t.data = t.stored == len ? block : NULL;
	o.used = zfs_meta_used(b->pool, t.stored);
	return zfs_dnode_add(d, &o, &t);
}

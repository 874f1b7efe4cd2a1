/*
 * zfs_meta.c - what files take in a ZFS dataset: dnodes, pointers, names
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata is compressed, too, and what it takes then follows from what is in
 * it.  So blocks of it are made here as ZFS would fill them: fields at their
 * places with values as they would be, and noise where ZFS has checksums and
 * nanoseconds.  Nothing is fitted to any pool.
 */
#include "zfs.h"

#include "bytes.h"
#include "lz4_zfs.h"
#include "lzjb.h"
#include "sys.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

enum {
	DNODE = 512,
	DNODE_BLOCK = 16384,
	DNODES = DNODE_BLOCK / DNODE,
	POINTER = 128,			/* to a block */
	BONUS = 64 + POINTER,		/* its place in a dnode */
	INDIRECT_OLD = 14,		/* log2 of a block of pointers */
	INDIRECT_NEW = 17,
	LEVELS = 6,			/* of such, above the dnodes */
	MICRO_ENTRY = 64,
	MICRO_NAME = 50,
	MICRO_MOST = 128 << 10,
	FAT_BLOCK = 16384,
	FAT_CHUNK = 24,
	FAT_CHUNK_DATA = 21,
	FAT_LEAF_HEAD = 48 + 2 * 512,
	FAT_CHUNKS = (FAT_BLOCK - FAT_LEAF_HEAD) / FAT_CHUNK,
	FAT_TABLE = 1024,		/* leaf pointers in the first block */
	COPIES = 2,
	BYTE_NS = 50,			/* to write a byte */
	TXG = 11,			/* in which all is written */
	ROOT = 3,			/* number of the first directory */
	MOST = 1 << INDIRECT_NEW,
	PACKER_OFF = 2, PACKER_LZJB = 3, PACKER_GZIP = 10, FLETCHER4 = 7,
	TYPE_FILE = 19, TYPE_DIR = 20, BONUS_ZNODE = 17
};

struct zfs_meta {
	const struct zfs_pool *pool;
	struct zfs_space sum;
	uint64_t noise;			/* of the generator */
	uint64_t objects;		/* dnodes so far */
	uint64_t dir;			/* number of the last directory */
	uint64_t offset;		/* in the pool, sectors */
	uint64_t now_ns;
	unsigned in_block;
	uint8_t dnodes[DNODE_BLOCK];
	uint8_t block[MOST];		/* any other, one at a time */
	uint8_t packed[MOST];
	uint16_t table[LZJB_TABLE];
	uint32_t lz4[LZ4_ZFS_TABLE];
};

int
zfs_meta_open(struct zfs_meta **out, const struct zfs_pool *pool)
{
	struct zfs_meta *m = sys_calloc(1, sizeof(*m));

	if (m == NULL)
		return -ENOMEM;
	m->pool = pool;
	m->noise = 1;
	m->offset = 1 << 16;
	m->now_ns = (uint64_t)1700000000 * 1000000000;
	*out = m;
	return 0;
}

void
zfs_meta_close(struct zfs_meta *m)
{
	sys_free(m);
}

/* splitmix64, as published by Steele, Lea and Flood. */
static uint64_t
noise(struct zfs_meta *m)
{
	uint64_t z = m->noise += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

static uint64_t
round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* Blocks */

static size_t
compress(struct zfs_meta *m, const uint8_t *data, size_t len)
{
	size_t most = len - len / 8;
	size_t n;

	if (!m->pool->features) {
		most = most / ZFS_SECTOR * ZFS_SECTOR;
		return most == 0 ? 0 : lzjb_compress(data, len, m->packed,
		    most, m->table);
	}
	n = lz4_zfs_compress(data, len, m->packed, most - 4, m->lz4);
	return n == 0 ? 0 : n + 4;
}

/* Counts so many blocks like this one; what one takes. */
static uint64_t
add_blocks(struct zfs_meta *m, const uint8_t *data, size_t len, uint64_t many)
{
	uint64_t sector = (uint64_t)1 << m->pool->ashift;
	uint64_t n = compress(m, data, len);

	n = n == 0 ? len : n;
	n = round_up(n, m->pool->features ? sector : ZFS_SECTOR);
	n = n < len ? n : len;
	m->sum.blocks += many;
	m->sum.logical_B += many * n;
	m->sum.physical_B += many * n;
	m->sum.allocated_B += many * COPIES * round_up(n, sector);
	return n;
}

/*
 * fletcher4, as of a block of that size: the sum of its words, the sum of
 * these sums, and so on, so that each is longer than the one before.
 */
static void
put_checksum(struct zfs_meta *m, uint8_t *p, uint64_t size)
{
	uint64_t a = 0, b = 0, c = 0, d = 0;

	for (uint64_t i = 0; i < size / 8; i++) {
		uint64_t word = noise(m);

		d += c += b += a += (uint32_t)word;
		d += c += b += a += word >> 32;
	}
	store_le64(p, a);
	store_le64(p + 8, b);
	store_le64(p + 16, c);
	store_le64(p + 24, d);
}

/* What a pointer tells of a block. */
struct target {
	uint64_t size, stored;		/* bytes */
	bool meta;			/* then it has two copies */
	uint64_t under;			/* data blocks that are found by it */
};

static void
put_pointer(struct zfs_meta *m, uint8_t *p, const struct target *t)
{
	uint64_t sectors = round_up(t->stored,
	    (uint64_t)1 << m->pool->ashift) / ZFS_SECTOR;
	unsigned packer = t->stored == t->size ? PACKER_OFF :
	    t->meta ? PACKER_LZJB : PACKER_GZIP;

	memset(p, 0, POINTER);
	for (unsigned i = 0; i < (t->meta ? COPIES : 1); i++) {
		store_le64(p + 16 * i, sectors);
		/* copies lie far from each other */
		store_le64(p + 16 * i + 8, m->offset + ((uint64_t)i << 20));
	}
	m->offset += sectors;
	store_le64(p + 48, (t->size / ZFS_SECTOR - 1) |
	    (t->stored / ZFS_SECTOR - 1) << 16 | (uint64_t)packer << 32 |
	    (uint64_t)FLETCHER4 << 40 | (uint64_t)TYPE_FILE << 48 |
	    (uint64_t)(t->under > 1) << 56 | (uint64_t)1 << 63);
	store_le64(p + 80, TXG);
	store_le64(p + 88, t->under);
	put_checksum(m, p + 96, t->stored);
}

/*
 * Blocks of pointers to so many of *t, and of pointers to these, for at least
 * so many levels, until there is one; then *t is that.
 */
static void
add_indirect(struct zfs_meta *m, uint64_t blocks, struct target *t,
    unsigned levels)
{
	size_t len = (size_t)1 << (m->pool->features ? INDIRECT_NEW :
	    INDIRECT_OLD);
	uint64_t room = len / POINTER, under = blocks;

	for (unsigned level = 0; level < levels || blocks > 1; level++) {
		uint64_t whole = blocks / room, rest = blocks % room;

		memset(m->block, 0, len);
		for (uint64_t i = 0; i < (whole > 0 ? room : rest); i++)
			put_pointer(m, m->block + i * POINTER, t);
		t->stored = add_blocks(m, m->block, len, whole > 0 ? whole : 1);
		if (whole > 0 && rest > 0) {
			memset(m->block + rest * POINTER, 0,
			    len - rest * POINTER);
			add_blocks(m, m->block, len, 1);
		}
		blocks = whole + (rest > 0);
		t->size = len;
		t->meta = true;
		t->under = room < under ? room : under;
	}
	t->under = under;
}

/* Dnodes */

/*
 * Read and made; written; changed: about a millisecond for each object, and
 * longer for a large one.  What is put into a directory changes it by being
 * written.
 */
static void
put_times(struct zfs_meta *m, uint8_t *p, bool dir, uint64_t size)
{
	uint64_t made = m->now_ns += noise(m) % 1000000;
	uint64_t written = m->now_ns += noise(m) % 400000 + size * BYTE_NS;
	uint64_t changed = dir ? written :
	    (m->now_ns += noise(m) % 100000);
	const uint64_t times[] = { made, written, changed, made };

	for (unsigned i = 0; i < 4; i++) {
		store_le64(p + 16 * i, times[i] / 1000000000);
		store_le64(p + 16 * i + 8, times[i] % 1000000000);
	}
}

/* The NFSv4 rights that three bits of a mode are. */
static uint32_t
rights_of(mode_t rwx)
{
	return (rwx & 4 ? 1U : 0) | (rwx & 2 ? 6U : 0) | (rwx & 1 ? 0x20U : 0);
}

/* The ACL of a mode: what owner, group and all are denied and allowed. */
static void
put_acl(uint8_t *p, mode_t mode)
{
	static const struct {
		uint16_t flags;
		uint32_t denied, allowed;	/* whatever the mode */
	} who[] = { { 0x1000, 0, 0xc0110 }, { 0x2040, 0, 0 },
	    { 0x4000, 0xc0110, 0x120088 } };

	store_le32(p + 8, 48);
	store_le16(p + 12, 1);
	store_le16(p + 14, 6);
	p += 16;
	for (unsigned i = 0; i < 3; i++, p += 16) {
		mode_t bits = mode >> (6 - 3 * i) & 7;

		store_le16(p, 1);
		store_le16(p + 2, who[i].flags);
		store_le32(p + 4, who[i].denied | rights_of(~bits & 7));
		store_le16(p + 10, who[i].flags);
		store_le32(p + 12, who[i].allowed | rights_of(bits));
	}
}

/* What the POSIX layer keeps of an object. */
static void
put_znode(struct zfs_meta *m, uint8_t *p, mode_t mode, uint64_t size)
{
	bool dir = S_ISDIR(mode);

	put_times(m, p, dir, size);
	store_le64(p + 64, TXG);
	store_le64(p + 72, mode);
	store_le64(p + 80, size);
	store_le64(p + 88, dir ? ROOT : m->dir);	/* parent */
	store_le64(p + 96, dir ? 2 : 1);
	store_le64(p + 120, (uint64_t)0x408 << 32 | (dir ? 0x144 : 4));
	put_acl(p + 176, mode);
}

/* The next dnode: of so many blocks of that size, found by *t. */
static void
add_dnode(struct zfs_meta *m, mode_t mode, uint64_t size, uint32_t block,
    uint64_t blocks, uint64_t used, const struct target *t)
{
	uint8_t *p = m->dnodes + m->in_block * DNODE;
	bool dir = S_ISDIR(mode);

	memset(p, 0, DNODE);
	p[0] = dir ? TYPE_DIR : TYPE_FILE;
	p[1] = m->pool->features ? INDIRECT_NEW : INDIRECT_OLD;
	p[2] = blocks > 1 ? 2 : 1;
	p[3] = 1;
	p[4] = BONUS_ZNODE;
	p[7] = 3;
	store_le16(p + 8, (uint16_t)(block / ZFS_SECTOR));
	store_le16(p + 10, 264);
	store_le64(p + 16, blocks > 0 ? blocks - 1 : 0);
	store_le64(p + 24, used);
	if (blocks > 0)
		put_pointer(m, p + 64, t);
	if (dir)
		m->dir = m->objects + ROOT;
	put_znode(m, p + BONUS, mode, size);
	m->objects++;
	if (++m->in_block == DNODES) {
		add_blocks(m, m->dnodes, DNODE_BLOCK, 1);
		memset(m->dnodes, 0, DNODE_BLOCK);
		m->in_block = 0;
	}
}

void
zfs_meta_file(struct zfs_meta *m, mode_t mode, uint64_t size,
    uint64_t records)
{
	uint32_t record = zfs_record_size(m->pool, size);
	/* about: how well it is compressed has no part in this */
	struct target t = { record, round_up(record / 2 +
	    noise(m) % (record / 2 + 1), ZFS_SECTOR), false, 1 };
	uint64_t used = t.stored * records;

	if (records > 1)
		add_indirect(m, records, &t, 1);
	add_dnode(m, mode, size, record, records, used, &t);
}

void
zfs_meta_other(struct zfs_meta *m, mode_t mode)
{
	add_dnode(m, mode, 32, ZFS_SECTOR, 0, 0, NULL);
}

/* Directories */

static void
micro_dir(struct zfs_meta *m, mode_t mode, const char *const *names,
    size_t count)
{
	size_t len = round_up((count + 1) * MICRO_ENTRY, ZFS_SECTOR);
	struct target t = { len, 0, true, 1 };

	memset(m->block, 0, len);
	store_le64(m->block, (uint64_t)1 << 63 | 3);
	store_le64(m->block + 8, noise(m));
	for (size_t i = 0; i < count; i++) {
		uint8_t *p = m->block + (i + 1) * MICRO_ENTRY;

		store_le64(p, (m->objects + 1 + i) | (uint64_t)8 << 60);
		memcpy(p + 14, names[i], strlen(names[i]));
	}
	t.stored = add_blocks(m, m->block, len, 1);
	add_dnode(m, mode, count + 2, (uint32_t)len, 1, COPIES * t.stored, &t);
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
 * One name, of so many objects, into a leaf from chunk `at` on; the next free
 * one.  A hash has 28 bits, of which the leaf's own come first.
 */
static size_t
leaf_name(struct zfs_meta *m, uint8_t *leaf, size_t at, const char *name,
    size_t count, unsigned prefix)
{
	size_t len = strlen(name) + 1;
	uint64_t hash = noise(m) >> 36 << 36 >> prefix >> 36 << 36;
	uint64_t object = m->objects + 1 + noise(m) % count;
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

/* One leaf of so many, all of which are filled alike. */
static void
fill_leaf(struct zfs_meta *m, const char *const *names, size_t count,
    size_t leaves)
{
	unsigned prefix = 0;
	size_t at = 0;

	while (prefix < 16 && (size_t)1 << prefix < leaves)
		prefix++;
	memset(m->block, 0, FAT_BLOCK);
	memset(m->block + 48, 0xff, 2 * 512);
	store_le64(m->block, (uint64_t)1 << 63);
	for (size_t i = 0; i < count && at + chunks_of(names[i]) <=
	    FAT_CHUNKS; i += leaves)
		at = leaf_name(m, m->block, at, names[i], count, prefix);
	for (; at < FAT_CHUNKS; at++) {
		leaf_chunk(m->block, at)[0] = 253;
		store_le16(leaf_chunk(m->block, at) + 22, (uint16_t)(at + 1));
	}
}

static void
fat_dir(struct zfs_meta *m, mode_t mode, const char *const *names,
    size_t count)
{
	size_t chunks = 0, leaves = 1;
	struct target t = { FAT_BLOCK, 0, true, 1 };
	uint64_t used;

	for (size_t i = 0; i < count; i++)
		chunks += chunks_of(names[i]);
	while (chunks / leaves > FAT_CHUNKS)
		leaves *= 2;
	fill_leaf(m, names, count, leaves);
	t.stored = add_blocks(m, m->block, FAT_BLOCK, leaves);
	used = COPIES * t.stored * leaves;
	memset(m->block, 0, FAT_BLOCK);
	for (size_t i = 0; i < FAT_TABLE; i++)
		store_le64(m->block + FAT_BLOCK / 2 + 8 * i,
		    1 + i * leaves / FAT_TABLE);
	add_blocks(m, m->block, FAT_BLOCK, 1);
	add_indirect(m, leaves + 1, &t, 1);
	add_dnode(m, mode, count + 2, FAT_BLOCK, leaves + 1, used, &t);
}

void
zfs_meta_dir(struct zfs_meta *m, mode_t mode, const char *const *names,
    size_t count)
{
	size_t longest = 0;

	for (size_t i = 0; i < count; i++) {
		size_t n = strlen(names[i]);

		longest = n > longest ? n : longest;
	}
	if (longest < MICRO_NAME &&
	    (count + 1) * MICRO_ENTRY <= MICRO_MOST)
		micro_dir(m, mode, names, count);
	else
		fat_dir(m, mode, names, count);
}

void
zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum)
{
	static const uint8_t small[2048];
	struct target t = { DNODE_BLOCK, 4096, true, DNODES };

	if (m->in_block > 0)
		add_blocks(m, m->dnodes, DNODE_BLOCK, 1);
	m->in_block = 0;
	/*
	 * What each dataset has: the master node, the queue of what is to be
	 * deleted, space by user and by group, and the head of it all.
	 */
	add_blocks(m, small, ZFS_SECTOR, 4);
	add_blocks(m, small, sizeof(small), 1);
	add_indirect(m, (m->objects + DNODES - 1) / DNODES, &t, LEVELS);
	*sum = m->sum;
}

/*
 * zfs_meta.c - the space used by a ZFS dataset's metadata: blocks and dnodes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Metadata is also compressed, so its size depends on its contents.  Therefore
 * metadata blocks are built here as ZFS would fill them, with realistic values
 * in all fields, and random bytes in place of checksums and nanoseconds.  No
 * value is fitted to a particular pool.
 */
#include "zfs_meta.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { PACKER_OFF = 2, PACKER_LZJB = 3, PACKER_GZIP = 10, FLETCHER4 = 7 };

void
zfs_blocks_init(struct zfs_blocks *b, const struct zfs_pool *pool)
{
	b->pool = pool;
	b->seed = 1;
	b->offset = 1 << 16;
	b->copies = 1 << 20;
}

/* This is splitmix64, as published by Steele, Lea and Flood. */
uint64_t
zfs_noise(struct zfs_blocks *b)
{
	uint64_t z = b->seed += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

/* Returns log2 of the pointer block size. */
static unsigned
indirect_shift(const struct zfs_pool *pool)
{
	return pool->features ? ZFS_INDIRECT_NEW : ZFS_INDIRECT_OLD;
}

uint64_t
zfs_blocks_add(struct zfs_blocks *b, const uint8_t *data, size_t len,
    uint64_t many)
{
	uint64_t sector = (uint64_t)1 << b->pool->ashift;
	size_t most = len - len / 8;
	uint64_t n = 0;

	if (b->pool->features) {
		n = lz4_zfs_compress(data, len, b->packed, most - 4, b->lz4);
		n += n == 0 ? 0 : 4;
	} else {
		most = most / ZFS_SECTOR * ZFS_SECTOR;
		if (most != 0)
			n = lzjb_compress(data, len, b->packed, most, b->lzjb);
	}
	n = n == 0 ? len : n;
	n = zfs_round_up(n, b->pool->features ? sector : ZFS_SECTOR);
	n = n < len ? n : len;
	b->sum.blocks += many;
	b->sum.logical_B += many * n;
	b->sum.physical_B += many * n;
	b->sum.allocated_B += many * ZFS_COPIES * zfs_round_up(n, sector);
	return n;
}

/* Writes a pointer of ZFS_POINTER bytes to *t. */
static void
put_pointer(struct zfs_blocks *b, uint8_t *p, const struct zfs_target *t)
{
	uint64_t sectors = zfs_round_up(t->stored,
	    (uint64_t)1 << b->pool->ashift) / ZFS_SECTOR;
	uint64_t sum = 0, second = 0, third = 0, fourth = 0;
	unsigned packer = t->stored == t->size ? PACKER_OFF :
	    t->meta ? PACKER_LZJB : PACKER_GZIP;

	memset(p, 0, ZFS_POINTER);
	store_le64(p, sectors);
	store_le64(p + 8, b->offset);
	b->offset += sectors;
	if (t->meta) {
		/* second copies are stored consecutively in another area */
		store_le64(p + 16, sectors);
		store_le64(p + 24, b->copies);
		b->copies += sectors;
	}
	store_le64(p + 48, (t->size / ZFS_SECTOR - 1) |
	    (t->stored / ZFS_SECTOR - 1) << 16 | (uint64_t)packer << 32 |
	    (uint64_t)FLETCHER4 << 40 | (uint64_t)t->type << 48 |
	    (uint64_t)(t->under > 1) << 56 | (uint64_t)1 << 63);
	store_le64(p + 80, ZFS_TXG);
	store_le64(p + 88, t->under);
	/*
	 * The fletcher4 checksum: the sum of the words, the sum of these sums,
	 * and so on, each with more digits than the previous one.  Unknown
	 * contents are assumed to be random.
	 */
	for (uint64_t i = 0; i < t->stored / 8; i++) {
		uint64_t word = t->data != NULL ? load_le64(t->data + 8 * i) :
		    zfs_noise(b);

		fourth += third += second += sum += (uint32_t)word;
		fourth += third += second += sum += word >> 32;
	}
	store_le64(p + 96, sum);
	store_le64(p + 104, second);
	store_le64(p + 112, third);
	store_le64(p + 120, fourth);
}

void
zfs_add_indirect(struct zfs_blocks *b, uint64_t blocks, struct zfs_target *t,
    unsigned levels)
{
	size_t len = (size_t)1 << indirect_shift(b->pool);
	uint64_t room = len / ZFS_POINTER, under = blocks;

	for (unsigned level = 0; level < levels || blocks > 1; level++) {
		uint64_t whole = blocks / room, rest = blocks % room, stored;

		memset(b->block, 0, len);
		for (uint64_t i = 0; i < (whole > 0 ? room : rest); i++)
			put_pointer(b, b->block + i * ZFS_POINTER, t);
		stored = zfs_blocks_add(b, b->block, len, whole > 0 ? whole :
		    1);
		if (whole > 0 && rest > 0) {
			memset(b->block + rest * ZFS_POINTER, 0,
			    len - rest * ZFS_POINTER);
			zfs_blocks_add(b, b->block, len, 1);
		}
		t->stored = stored;
		blocks = whole + (rest > 0);
		t->size = len;
		t->meta = true;
		t->under = room < under ? room : under;
	}
	t->under = under;
}

enum {
	BONUS = 64 + ZFS_POINTER,	/* size of the bonus area in a dnode */
	BONUS_LEN = 264,
	BONUS_ZNODE = 17,
	LEVELS = 6,			/* levels of pointers above dnodes */
	MADE_NS = 1000000,		/* maximum time to create an object, */
	WRITTEN_NS = 400000,		/* then to write it, */
	CHANGED_NS = 100000,		/* and to set its permissions */
	BYTE_NS = 50,			/* time to write a byte */
	OBJECT_NS = (MADE_NS + WRITTEN_NS + CHANGED_NS) / 2,
	ROOT = 3			/* object number of the first
					 * directory */
};

void
zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks)
{
	d->blocks = blocks;
	d->now_ns = (uint64_t)1700000000 * 1000000000;
}

/*
 * Writes the access, creation, modification and change times, assuming about a
 * millisecond per object, and more for large objects.  Writing an object also
 * modifies its directory, so the modification time of the directory is slightly
 * later.  A link or an empty directory is not modified after its creation.
 */
static void
put_times(struct zfs_dnodes *d, uint8_t *p, const struct zfs_object *o)
{
	bool dir = S_ISDIR(o->mode);
	bool empty = S_ISLNK(o->mode) || (dir && o->size == 2);
	uint64_t made = d->now_ns += zfs_noise(d->blocks) % MADE_NS;
	uint64_t written = empty ? made : made +
	    zfs_noise(d->blocks) % WRITTEN_NS +
	    o->size * (dir ? OBJECT_NS : BYTE_NS);
	uint64_t changed = dir && !empty ? written :
	    written + zfs_noise(d->blocks) % CHANGED_NS;
	const uint64_t times[] = { made, written, changed, made };

	d->now_ns = dir ? made : changed;
	for (unsigned i = 0; i < 4; i++) {
		store_le64(p + 16 * i, times[i] / 1000000000);
		store_le64(p + 16 * i + 8, times[i] % 1000000000);
	}
}

/* Returns the NFSv4 permissions for three bits of a mode. */
static uint32_t
rights_of(mode_t rwx)
{
	return (rwx & 4 ? 1U : 0) | (rwx & 2 ? 6U : 0) | (rwx & 1 ? 0x20U : 0);
}

static void
end_dnode_block(struct zfs_dnodes *d)
{
	zfs_blocks_add(d->blocks, d->block, ZFS_DNODE_BLOCK, 1);
	memset(d->block, 0, ZFS_DNODE_BLOCK);
	d->in_block = 0;
}

void
zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t)
{
	static const struct {
		uint16_t flags;
		uint32_t denied, allowed;	/* independent of the mode */
	} who[] = { { 0x1000, 0, 0xc0110 }, { 0x2040, 0, 0 },
	    { 0x4000, 0xc0110, 0x120088 } };
	uint8_t *p = d->block + d->in_block * ZFS_DNODE, *z = p + BONUS;
	unsigned depth = o->depth < ZFS_DEPTHS ? o->depth : ZFS_DEPTHS - 1;
	uint64_t parent = depth == 0 ? 0 : d->dirs[depth - 1];
	bool dir = S_ISDIR(o->mode);

	_Static_assert(ZFS_TARGET_MOST == ZFS_DNODE - BONUS - BONUS_LEN,
	    "the bonus ends with the dnode");

	memset(p, 0, ZFS_DNODE);
	p[0] = dir ? ZFS_TYPE_DIR : ZFS_TYPE_FILE;
	p[1] = (uint8_t)indirect_shift(d->blocks->pool);
	p[2] = o->blocks > 1 ? 2 : 1;
	p[3] = 1;
	p[4] = BONUS_ZNODE;
	p[7] = 3;
	store_le16(p + 8, (uint16_t)(o->block / ZFS_SECTOR));
	store_le16(p + 10, BONUS_LEN);
	store_le64(p + 16, o->blocks > 0 ? o->blocks - 1 : 0);
	store_le64(p + 24, o->used);
	if (o->blocks > 0)
		put_pointer(d->blocks, p + 64, t);
	/* the attributes that the POSIX layer stores */
	put_times(d, z, o);
	store_le64(z + 64, ZFS_TXG);
	store_le64(z + 72, o->mode);
	store_le64(z + 80, o->size);
	store_le64(z + 88, parent != 0 ? parent : ROOT);
	store_le64(z + 96, dir ? 2 : 1);
	store_le64(z + 120, (uint64_t)0x408 << 32 | (dir ? 0x144 : 4));
	/*
	 * The ACL for the mode: the permissions denied and allowed to the
	 * owner, the group and everyone.
	 */
	store_le32(z + 184, 48);
	store_le16(z + 188, 1);
	store_le16(z + 190, 6);
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *ace = z + 192 + 16 * i;
		mode_t bits = o->mode >> (6 - 3 * i) & 7;

		store_le16(ace, 1);
		store_le16(ace + 2, who[i].flags);
		store_le32(ace + 4, who[i].denied | rights_of(~bits & 7));
		store_le16(ace + 10, who[i].flags);
		store_le32(ace + 12, who[i].allowed | rights_of(bits));
	}
	if (dir)
		d->dirs[depth] = d->objects + ROOT;
	/* a link's target follows, if there is room */
	if (S_ISLNK(o->mode) && o->size <= ZFS_TARGET_MOST) {
		store_le16(p + 10, (uint16_t)(BONUS_LEN + o->size));
		for (uint64_t i = 0; i < o->size; i++)
			z[BONUS_LEN + i] = (uint8_t)('a' +
			    zfs_noise(d->blocks) % 16);
	}
	d->objects++;
	if (++d->in_block == ZFS_DNODES)
		end_dnode_block(d);
}

void
zfs_meta_init(struct zfs_meta *m, const struct zfs_pool *pool)
{
	zfs_blocks_init(&m->blocks, pool);
	zfs_dnodes_init(&m->dnodes, &m->blocks);
}

void
zfs_meta_file(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size, uint64_t records)
{
	uint32_t record = zfs_record_size(m->blocks.pool, size);
	/* approximate: compression of the data does not matter here */
	uint64_t stored = zfs_round_up(record / 2 + zfs_noise(&m->blocks) %
	    (record / 2 + 1), ZFS_SECTOR);
	struct zfs_target t = { record, stored, false, 1,
	    ZFS_TYPE_FILE, NULL };
	struct zfs_object o = { depth, mode, size, record, records,
	    stored * records };

	if (size > record && records > 0)
		zfs_add_indirect(&m->blocks, records, &t, 1);
	zfs_dnode_add(&m->dnodes, &o, &t);
}

void
zfs_meta_other(struct zfs_meta *m, unsigned depth, mode_t mode,
    uint64_t size)
{
	const struct zfs_pool *pool = m->blocks.pool;
	struct zfs_object o = { depth, mode, size, ZFS_SECTOR, 0, 0 };
	struct zfs_target t = { 0, 0, false, 1, ZFS_TYPE_FILE, NULL };

	/*
	 * The target of a link that does not fit in its dnode is a block of
	 * data in pools of version 23, a spill block of metadata in others.  A
	 * target of up to 512 bytes cannot shrink; a longer target is assumed
	 * not to.
	 */
	if (S_ISLNK(mode) && size > ZFS_TARGET_MOST) {
		t.size = t.stored = zfs_round_up(size, ZFS_SECTOR);
		m->blocks.sum.blocks++;
		m->blocks.sum.logical_B += t.size;
		m->blocks.sum.physical_B += t.size;
		m->blocks.sum.allocated_B += (pool->features ? ZFS_COPIES :
		    1) * zfs_round_up(t.size, (uint64_t)1 << pool->ashift);
		o.block = (uint32_t)t.size;
		o.blocks = 1;
		o.used = t.size;
	}
	zfs_dnode_add(&m->dnodes, &o, &t);
}

void
zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum)
{
	static const uint8_t small[2048];
	struct zfs_target t = { ZFS_DNODE_BLOCK, 4096, true, ZFS_DNODES,
	    ZFS_TYPE_DNODE, NULL };

	/*
	 * The objects in every dataset: the master node, the delete queue, the
	 * space used by users and groups, and the head of the dataset.
	 */
	zfs_blocks_add(&m->blocks, small, ZFS_SECTOR, 4);
	zfs_blocks_add(&m->blocks, small, sizeof(small), 1);
	/* the incomplete block of dnodes, and the pointers to all blocks */
	if (m->dnodes.in_block > 0)
		end_dnode_block(&m->dnodes);
	zfs_add_indirect(&m->blocks, (m->dnodes.objects + ZFS_DNODES - 1) /
	    ZFS_DNODES, &t, LEVELS);
	*sum = m->blocks.sum;
}

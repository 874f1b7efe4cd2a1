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

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { PACKER_LZJB = 3, FLETCHER4 = 7 };

void
zfs_blocks_init(struct zfs_blocks *b, const struct zfs_pool *pool,
    struct zfs_scratch *scratch)
{
	b->pool = pool;
	b->scratch = scratch;
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
zfs_meta_used(const struct zfs_pool *pool, uint64_t stored)
{
	/* version 23 counts what is stored, OpenZFS the space */
	return pool->features ? pool->dnode_copies * zfs_allocated(pool,
	    stored, true) : pool->meta_copies * stored;
}

/*
 * Compresses a block of metadata.  Returns its size, or 0 if it does not shrink
 * enough.
 */
static size_t
pack_meta(struct zfs_blocks *b, const uint8_t *data, size_t len)
{
	struct zfs_scratch *s = b->scratch;
	size_t most = len - len / 8, unit = (size_t)zfs_unit(b->pool), n;

	if (b->pool->whole_sectors)
		most -= most % unit;
	if (!b->pool->features)
		return most == 0 ? 0 : lzjb_compress(data, len, s->packed,
		    most, s->lzjb);
	if (b->pool->whole_sectors && most < unit)
		most = ZFS_EMBEDDED_MOST;
	n = lz4_zfs_compress(data, len, s->packed + 4, most - 4, s->lz4);
	for (unsigned i = 0; i < 4; i++)
		s->packed[i] = (uint8_t)(n >> 8 * (3 - i));
	return n == 0 ? 0 : n + 4;
}

/* Counts blocks that compress to n bytes, and returns the space of each. */
static uint64_t
count_meta(struct zfs_blocks *b, enum zfs_rank rank, uint64_t n, size_t len,
    uint64_t many)
{
	const struct zfs_pool *pool = b->pool;
	unsigned copies = rank == ZFS_RANK_FIRST ? 2 :
	    rank == ZFS_RANK_POINTERS ? pool->pointer_copies :
	    rank == ZFS_RANK_DNODES ? pool->dnode_copies : pool->meta_copies;

	n = zfs_round_up(n == 0 ? len : n, zfs_unit(b->pool));
	n = n < len ? n : len;
	b->sum.blocks += many;
	b->sum.logical_B += many * n;
	b->sum.physical_B += many * n;
	b->sum.allocated_B += many * copies * zfs_allocated(pool, n, true);
	return n;
}

uint64_t
zfs_blocks_add(struct zfs_blocks *b, enum zfs_rank rank, const uint8_t *data,
    size_t len, uint64_t many)
{
	b->packed = pack_meta(b, data, len);
	return count_meta(b, rank, b->packed, len, many);
}

void
zfs_blocks_leaf(struct zfs_blocks *b, enum zfs_rank rank, const uint8_t *data,
    size_t len, struct zfs_target *t)
{
	size_t n = pack_meta(b, data, len);

	if (b->pool->embeds && n != 0 && n <= ZFS_EMBEDDED_MOST) {
		t->stored = 0;
		t->payload_len = n;
		memcpy(t->payload, b->scratch->packed, n);
		return;
	}
	t->stored = count_meta(b, rank, n, len, 1);
}

/*
 * Writes an embedded block: bytes of it wherever a pointer has something else
 * than properties and the transaction group.
 */
static void
put_embedded(uint8_t *p, const struct zfs_target *t)
{
	size_t at = 0;

	for (size_t i = 0; i < ZFS_POINTER; i++) {
		if (i / 8 == 6 || i / 8 == 10)
			continue;
		p[i] = at < t->payload_len ? t->payload[at++] : 0;
	}
	store_le64(p + 48, (t->size - 1) | (t->payload_len - 1) << 25 |
	    (uint64_t)(t->meta ? ZFS_PACKER_LZ4 : t->packer) << 32 |
	    (uint64_t)1 << 39 |
	    (uint64_t)t->type << 48 | (uint64_t)1 << 63);
	store_le64(p + 80, ZFS_TXG);
}

/*
 * Writes a fletcher4 checksum: the sum of the words, the sum of these sums, and
 * so on, each with more digits than the previous one.  Unknown contents are
 * assumed to be random.
 */
static void
put_sums(struct zfs_blocks *b, uint8_t *p, const struct zfs_target *t)
{
	uint64_t sum = 0, second = 0, third = 0, fourth = 0;

	for (uint64_t i = 0; i < t->stored / 8; i++) {
		uint64_t word = t->data != NULL ? load_le64(t->data + 8 * i) :
		    zfs_noise(b);

		fourth += third += second += sum += (uint32_t)word;
		fourth += third += second += sum += word >> 32;
	}
	store_le64(p, sum);
	store_le64(p + 8, second);
	store_le64(p + 16, third);
	store_le64(p + 24, fourth);
}

/*
 * The same in OpenZFS's pools without adding up as many random words.  Of a
 * block of n words, of which the last are zeros after the first m, the kth sum
 * has a mean of that of a word times the difference of two binomials,
 * C(n + k - 1, k) - C(n - m + k - 1, k), and varies by the inverse of the square
 * root of m.
 */
static void
put_likely_sums(struct zfs_blocks *b, uint8_t *p, const struct zfs_target *t)
{
	static const double noise_all = 18446744073709551616.0;
	uint64_t unit = zfs_unit(b->pool);
	uint64_t filled = t->filled != 0 ? t->filled : t->stored -
	    zfs_noise(b) % (t->stored < unit ? t->stored : unit);
	double n = (double)((t->stored + 3) / 4), m = (double)((filled + 3) / 4);
	double word = filled < 4 ? (double)(1U << (8 * filled - 1)) :
	    (double)(1U << 31);
	double all = 1, rest = 1, spread = 1 / sqrt(m);

	for (unsigned k = 1; k <= 4; k++) {
		double sum;

		all *= (n + k - 1) / k;
		rest *= (n - m + k - 1) / k;
		sum = word * (all - rest) * (1 + spread *
		    ((double)zfs_noise(b) / noise_all * 2 - 1));
		/* a double has fewer digits */
		store_le64(p + 8 * (k - 1), sum >= noise_all / 2 ?
		    zfs_noise(b) : (uint64_t)sum ^ (zfs_noise(b) & 0xff));
	}
}

void
zfs_put_pointer(struct zfs_blocks *b, uint8_t *p, const struct zfs_target *t)
{
	uint64_t sectors = zfs_allocated(b->pool, t->stored, t->meta) /
	    ZFS_SECTOR;
	unsigned packer = t->stored == t->size ? ZFS_PACKER_OFF :
	    !t->meta ? t->packer : b->pool->features ? ZFS_PACKER_LZ4 :
	    PACKER_LZJB;

	memset(p, 0, ZFS_POINTER);
	if (t->stored == 0 && t->payload_len > 0) {
		put_embedded(p, t);
		return;
	}
	store_le64(p, sectors);
	store_le64(p + 8, b->offset);
	b->offset += sectors;
	if (b->pool->encrypted) {
		/* the initialization vector and part of the salt */
		store_le64(p + 32, zfs_noise(b));
		store_le64(p + 40, zfs_noise(b));
	}
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
	if (b->pool->strong)
		for (unsigned k = 0; k < 4; k++)
			store_le64(p + 96 + 8 * k, zfs_noise(b));
	else if (b->pool->features && t->data == NULL)
		put_likely_sums(b, p + 96, t);
	else
		put_sums(b, p + 96, t);
}

void
zfs_add_indirect(struct zfs_blocks *b, enum zfs_rank rank, uint64_t blocks,
    struct zfs_target *t, unsigned levels)
{
	size_t len = (size_t)1 << indirect_shift(b->pool);
	uint64_t room = len / ZFS_POINTER, under = blocks;
	uint8_t *block = b->scratch->block;

	for (unsigned level = 0; level < levels || blocks > 1; level++) {
		uint64_t whole = blocks / room, rest = blocks % room, stored;

		/* redundant_metadata=most copies what is above pointers */
		if (level > 0 && rank == ZFS_RANK_POINTERS &&
		    b->pool->dnode_copies > b->pool->pointer_copies)
			rank = ZFS_RANK_DNODES;

		memset(block, 0, len);
		for (uint64_t i = 0; i < (whole > 0 ? room : rest); i++)
			zfs_put_pointer(b, block + i * ZFS_POINTER, t);
		stored = zfs_blocks_add(b, rank, block, len, whole > 0 ? whole :
		    1);
		if (whole > 0 && rest > 0) {
			memset(block + rest * ZFS_POINTER, 0,
			    len - rest * ZFS_POINTER);
			zfs_blocks_add(b, rank, block, len, 1);
		}
		t->stored = stored;
		t->filled = b->packed;
		blocks = whole + (rest > 0);
		t->size = len;
		t->meta = true;
		t->under = room < under ? room : under;
	}
	t->under = under;
}

enum {
	LEVELS_OLD = 6, LEVELS_NEW = 5,	/* levels of pointers above dnodes */
	ROOT_OLD = 3, ROOT_NEW = 34	/* object number of the first
					 * directory */
};

uint64_t
zfs_object_number(const struct zfs_pool *pool, uint64_t n)
{
	if (!pool->features)
		return n + ROOT_OLD;
	/* OpenZFS has used 1 and 32 to 36 when the second is made */
	return n == 0 ? ROOT_NEW : n + (n <= ZFS_DNODES - 2 ? 1 : 6);
}

void
zfs_dnodes_init(struct zfs_dnodes *d, struct zfs_blocks *blocks)
{
	d->blocks = blocks;
	d->now_ns = (uint64_t)1700000000 * 1000000000;
}

uint64_t
zfs_parent_of(const struct zfs_dnodes *d, unsigned depth)
{
	uint64_t parent = depth == 0 ? 0 : d->dirs[(depth < ZFS_DEPTHS ?
	    depth : ZFS_DEPTHS - 1) - 1];

	return parent != 0 ? parent : zfs_object_number(d->blocks->pool, 0);
}

void
zfs_dnodes_end(struct zfs_dnodes *d)
{
	/* the dnodes of an encrypted dataset are not compressed */
	d->stored = d->blocks->pool->encrypted ?
	    count_meta(d->blocks, ZFS_RANK_DNODES, 0, ZFS_DNODE_BLOCK, 1) :
	    zfs_blocks_add(d->blocks, ZFS_RANK_DNODES, d->block,
	    ZFS_DNODE_BLOCK, 1);
	d->filled = d->blocks->pool->encrypted ? 0 : d->blocks->packed;
	memcpy(d->block, d->next, ZFS_DNODE_BLOCK);
	memset(d->next, 0, ZFS_DNODE_BLOCK);
	d->in_block = d->in_next;
	d->in_next = 0;
	d->ended++;
}

int
zfs_dnode_add(struct zfs_dnodes *d, const struct zfs_object *o,
    const struct zfs_target *t)
{
	bool features = d->blocks->pool->features;
	bool dir = S_ISDIR(o->st->st_mode);
	/* the first directory is made with the dataset */
	unsigned slots = d->objects == 0 ? 1 : d->blocks->pool->dnode /
	    ZFS_DNODE;
	uint8_t *p;

	/* a large dnode does not cross the end of a block */
	if (d->in_block + slots > ZFS_DNODES)
		zfs_dnodes_end(d);
	p = d->block + d->in_block * ZFS_DNODE;

	memset(p, 0, slots * ZFS_DNODE);
	p[12] = (uint8_t)(slots - 1);
	p[0] = dir ? ZFS_TYPE_DIR : ZFS_TYPE_FILE;
	p[1] = (uint8_t)indirect_shift(d->blocks->pool);
	p[2] = o->blocks > 1 ? 2 : 1;
	p[3] = 1;
	store_le16(p + 8, (uint16_t)(o->block / ZFS_SECTOR));
	store_le64(p + 16, o->blocks > 0 ? o->blocks - 1 : 0);
	store_le64(p + 24, o->used);
	if (o->blocks > 0)
		zfs_put_pointer(d->blocks, p + 64, t);
	if (features)
		zfs_sa_put(d, p, o);
	else
		zfs_znode_put(d, p, o);
	if (dir)
		d->dirs[o->depth < ZFS_DEPTHS ? o->depth : ZFS_DEPTHS - 1] =
		    zfs_object_number(d->blocks->pool, d->objects);
	d->objects++;
	d->in_block += slots;
	if (d->in_block == ZFS_DNODES)
		zfs_dnodes_end(d);
	return features && d->objects == 1 ? zfs_sa_after_root(d) : 0;
}

void
zfs_meta_init(struct zfs_meta *m, const struct zfs_pool *pool,
    struct zfs_scratch *scratch)
{
	zfs_blocks_init(&m->blocks, pool, scratch);
	zfs_dnodes_init(&m->dnodes, &m->blocks);
	if (pool->features)
		zfs_sa_begin(&m->dnodes);
}

int
zfs_meta_file(struct zfs_meta *m, unsigned depth, const struct stat *st,
    uint64_t records, unsigned packer, const uint8_t *payload,
    size_t payload_len)
{
	const struct zfs_pool *pool = m->blocks.pool;
	uint64_t size = (uint64_t)st->st_size;
	uint32_t record = zfs_record_size(pool, size);
	/* approximate: compression of the data does not matter here */
	uint64_t stored = zfs_round_up(record / 2 + zfs_noise(&m->blocks) %
	    (record / 2 + 1), zfs_unit(pool));
	struct zfs_target t = { .size = record, .stored = stored < record &&
	    packer != ZFS_PACKER_OFF ? stored : record, .under = 1,
	    .type = ZFS_TYPE_FILE, .packer = packer };
	struct zfs_object o = { .depth = depth, .st = st, .size = size,
	    .block = record, .blocks = records, .used = pool->features ?
	    zfs_allocated(pool, t.stored, false) * pool->copies * records :
	    t.stored * records };

	if (size <= record && t.stored == record)
		t.filled = size;
	if (size > record && records > 0)
		zfs_add_indirect(&m->blocks, ZFS_RANK_POINTERS, records, &t,
		    1);
	if (payload_len > 0) {
		t.stored = o.used = 0;
		t.payload_len = payload_len;
		memcpy(t.payload, payload, payload_len);
	}
	return zfs_dnode_add(&m->dnodes, &o, &t);
}

int
zfs_meta_other(struct zfs_meta *m, unsigned depth, const struct stat *st,
    const char *link)
{
	const struct zfs_pool *pool = m->blocks.pool;
	uint64_t size = S_ISLNK(st->st_mode) ? (uint64_t)st->st_size : 0;
	struct zfs_object o = { .depth = depth, .st = st, .size = size,
	    .block = ZFS_SECTOR, .link = link };
	struct zfs_target t = { .under = 1, .type = ZFS_TYPE_FILE };

	/*
	 * In pools of version 23, the target of a link that does not fit in its
	 * dnode is a block of data.  A target of up to 512 bytes cannot shrink;
	 * a longer target is assumed not to.
	 */
	if (size > ZFS_TARGET_OLD && !pool->features) {
		t.size = t.stored = zfs_round_up(size, ZFS_SECTOR);
		m->blocks.sum.blocks++;
		m->blocks.sum.logical_B += t.size;
		m->blocks.sum.physical_B += t.size;
		m->blocks.sum.allocated_B += zfs_allocated(pool, t.size,
		    false);
		o.block = (uint32_t)t.size;
		o.blocks = 1;
		o.used = t.size;
	}
	return zfs_dnode_add(&m->dnodes, &o, &t);
}

void
zfs_meta_end(struct zfs_meta *m, struct zfs_space *sum)
{
	static const uint8_t small[2048];
	bool features = m->blocks.pool->features;
	struct zfs_target t = { .size = ZFS_DNODE_BLOCK, .stored = 4096,
	    .meta = true, .under = ZFS_DNODES, .type = ZFS_TYPE_DNODE };

	/*
	 * The objects in every dataset of version 23: the master node, the
	 * delete queue, the space used by users and groups, and the head of the
	 * dataset.
	 */
	if (!features) {
		zfs_blocks_add(&m->blocks, ZFS_RANK_CRITICAL, small,
		    ZFS_SECTOR, 4);
		zfs_blocks_add(&m->blocks, ZFS_RANK_CRITICAL, small,
		    sizeof(small), 1);
	}
	/* the incomplete block of dnodes, and the pointers to all blocks */
	while (m->dnodes.in_block > 0)
		zfs_dnodes_end(&m->dnodes);
	if (features) {
		t.stored = m->dnodes.stored;
		t.filled = m->dnodes.filled;
	}
	zfs_add_indirect(&m->blocks, ZFS_RANK_DNODES, m->dnodes.ended, &t, features ?
	    LEVELS_NEW : LEVELS_OLD);
	if (features)
		zfs_sa_head(&m->dnodes, &t);
	*sum = m->blocks.sum;
}

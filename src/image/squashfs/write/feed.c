/*
 * feed.c - cutting files into an image's units, in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are cut by one thread, because the contents of a fragment block depend
 * on all earlier files, and a file is stored only if it has no earlier
 * duplicate.
 *
 * A large file is hashed while it is read.  If an earlier file has the same
 * size, a duplicate must be detected before the file is stored: the file is
 * read twice or, if the source cannot be rewound, copied to an unlinked file.
 *
 * Fragments and blocks are found by the same table: a fragment is always
 * smaller than a block.
 */
#include "image/squashfs/write/feed.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The memory that struct sqw_data needs for each unit. */
enum { UNIT_B = 2 * sizeof(uint32_t) + sizeof(uint64_t) };

int
sqw_feed_open(struct sqw_feed *f, const struct sqw_source *source,
    const struct sqw_data_options *o, struct sqw_data *d)
{
	int rc;

	*f = (struct sqw_feed){ .source = source, .o = o, .d = d, .spool = -1 };
	rc = sqw_twins_open(&f->twins, o);
	for (int i = 0; rc == 0 && i < SQW_FILLING; i++) {
		f->filling[i].data = sys_malloc(sqw_pack_room(o));
		rc = f->filling[i].data == NULL ? -ENOMEM : 0;
	}
	f->tails_seen = sys_calloc(1, o->block / 8);
	return f->tails_seen == NULL ? -ENOMEM : rc;
}

void
sqw_feed_close(struct sqw_feed *f)
{
	f->d->hash_ns += f->twins.busy_ns;
	if (f->spool >= 0)
		sys_close(f->spool);
	sqw_twins_close(&f->twins);
	for (int i = 0; i < SQW_FILLING; i++)
		sys_free(f->filling[i].data);
	sys_free(f->tails_seen);
}

/*
 * Returns the number of further units that fit in the image and the memory
 * limit.
 */
static size_t
units_left(const struct sqw_feed *f)
{
	size_t most = UINT32_MAX - 1;

	if (f->o->memory > 0 && f->o->memory / UNIT_B < most)
		most = (size_t)(f->o->memory / UNIT_B);
	return most > f->d->units ? most - f->d->units : 0;
}

/*
 * Numbers the blocks of a hole, a block or a fragment block.  Returns 0,
 * -EOVERFLOW (no room) or -ENOMEM.
 */
static int
new_units(struct sqw_feed *f, uint32_t fragment, uint32_t count,
    uint32_t *unit)
{
	struct sqw_data *d = f->d;
	void *items = d->fragment;
	int rc = count > units_left(f) ? -EOVERFLOW :
	    array_reserve(&items, d->units + count, &d->fragment_cap,
	    sizeof(*d->fragment));

	d->fragment = items;
	if (rc != 0)
		return rc;
	*unit = (uint32_t)d->units;
	for (; count > 0; count--)
		d->fragment[d->units++] = fragment;
	return 0;
}

/* Returns the fields of a file that say where its data is. */
static struct sqw_position *
position_of(const struct sqw_feed *f)
{
	return &f->d->of[f->file.id];
}

/* Returns whether the current file may share data with others. */
static bool
may_share(const struct sqw_feed *f)
{
	return !f->file.alone && !f->o->no_duplicates;
}

/*
 * Makes the current file share the blocks of an earlier file, of `size` bytes
 * with this hash; returns false if there is none.
 */
static bool
share_blocks(struct sqw_feed *f, uint64_t size, XXH128_hash_t hash)
{
	const struct sqw_twin *twin = sqw_twins_find(&f->twins, size, hash);
	struct sqw_position *of = position_of(f);

	if (twin == NULL)
		return false;
	of->unit = f->d->of[twin->id].unit;
	of->blocks = f->d->of[twin->id].blocks;
	of->dense = twin->size == size ? f->d->of[twin->id].dense :
	    f->file.dense;
	return true;
}

/* Does the same for len bytes in a fragment block. */
static bool
share_tail(struct sqw_feed *f, uint32_t len, XXH128_hash_t hash)
{
	const struct sqw_twin *twin = !may_share(f) ? NULL :
	    sqw_twins_find(&f->twins, len, hash);
	struct sqw_position *of = position_of(f);

	if (twin == NULL)
		return false;
	of->tail_unit = f->d->of[twin->id].tail_unit;
	of->tail_at = f->d->of[twin->id].tail_at;
	of->tail = true;
	return true;
}

static void
count_duplicate(struct sqw_feed *f)
{
	f->d->duplicates++;
	f->d->duplicate_B += f->file.size;
}

static XXH128_hash_t
hash_alone(struct sqw_feed *f, const uint8_t *data, size_t len)
{
	sqw_twins_begin(&f->twins);
	sqw_twins_hash(&f->twins, data, len);
	return sqw_twins_end(&f->twins);
}

/* Fragment blocks */

static bool
is_tail_seen(const struct sqw_feed *f, uint32_t len)
{
	return (f->tails_seen[len / 8] & 1 << len % 8) != 0;
}

static void
give_fragment(struct sqw_filling *b, struct sqw_feed_unit *u)
{
	uint8_t *full = b->data;

	b->data = u->data;
	*u = (struct sqw_feed_unit){ .data = full, .len = b->filled, .count = 1,
		.number = b->unit, .is_fragment = true };
	b->filled = 0;
}

/* Gives a block that is being filled.  Returns 1, or 0 if there is none. */
static int
give_unfilled(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	for (int i = 0; i < SQW_FILLING; i++)
		if (f->filling[i].filled > 0) {
			give_fragment(&f->filling[i], u);
			return 1;
		}
	return 0;
}

/*
 * Adds len bytes in u, with this hash, to the fragment block.  If they do not
 * fit, u becomes the full fragment block, and they begin the next one.  Returns
 * 1 if u is a unit, 0 if not, or -errno.
 */
static int
put_tail(struct sqw_feed *f, struct sqw_feed_unit *u, uint32_t len,
    XXH128_hash_t hash)
{
	/* gensquashfs does not separate tails from small files */
	struct sqw_filling *b = &f->filling[f->file.size > f->o->block &&
	    !f->o->gensquashfs];
	struct sqw_position *of = position_of(f);
	bool full = len > f->o->block - b->filled;
	int rc = 0;

	if (may_share(f))
		rc = sqw_twins_add(&f->twins, len, hash, f->file.id);
	if (rc != 0)
		return rc;
	f->tails_seen[len / 8] |= (uint8_t)(1 << len % 8);
	if (full)
		give_fragment(b, u);
	else
		memcpy(b->data + b->filled, u->data, len);
	if (b->filled == 0)
		rc = new_units(f, f->d->fragments++, 1, &b->unit);
	of->tail_unit = b->unit;
	of->tail_at = b->filled;
	of->tail = true;
	b->filled += len;
	return rc != 0 ? rc : full;
}

/* Small files */

/* Stores the content in u as a separate block. */
static int
give_block(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	int rc;

	u->len = (uint32_t)f->file.size;
	u->count = 1;
	u->is_fragment = false;
	u->raw = f->file.raw;
	rc = new_units(f, SQUASHFS_NONE, 1, &u->number);
	*position_of(f) = (struct sqw_position){ .unit = u->number,
		.blocks = 1, .dense = f->file.dense };
	return rc != 0 ? rc : 1;
}

/*
 * Returns whether files of at most one block are compared as blocks, even if
 * they contain only zeros.
 */
static bool
is_always_block(const struct sqw_data_options *o)
{
	return o->exact && o->no_fragments;
}

/*
 * Stores a small file of zeros as a hole.  mksquashfs notices that another is
 * equal only if some fragment has its size.
 */
static int
give_zeros(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	uint32_t len = (uint32_t)f->file.size;

	if (f->o->exact && may_share(f) && f->zeros.size > 0 &&
	    is_tail_seen(f, len)) {
		*position_of(f) = f->d->of[f->zeros.id];
		if (f->zeros.size != len)
			position_of(f)->dense = f->file.dense;
		count_duplicate(f);
		return 0;
	}
	f->zeros = f->file;
	f->d->in_B += len;
	return give_block(f, u);
}

/*
 * Reads the current file, which is small, and adds it to the fragment block.
 * Returns 1 if u is a unit, 0 if not, or -errno.
 */
static int
next_small(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	uint32_t len = (uint32_t)f->file.size;
	XXH128_hash_t hash;
	int rc = f->source->read(f->source->arg, u->data, len);

	if (rc != 0)
		return rc;
	if (!is_always_block(f->o) && !f->o->no_sparse &&
	    sqw_content_is_zero(u->data, len))
		return give_zeros(f, u);
	hash = hash_alone(f, u->data, len);
	if (!f->o->no_fragments ? share_tail(f, len, hash) : may_share(f) &&
	    share_blocks(f, len, hash)) {
		count_duplicate(f);
		return 0;
	}
	f->d->in_B += len;
	if (!f->o->no_fragments)
		return put_tail(f, u, len, hash);
	if (may_share(f))
		rc = sqw_twins_add(&f->twins, len, hash, f->file.id);
	return rc != 0 ? rc : give_block(f, u);
}

/* Large files */

static void
close_spool(struct sqw_feed *f)
{
	if (f->spool >= 0)
		sys_close(f->spool);
	f->spool = -1;
}

/* Skips a hole in the current file, in the source or in the spool. */
static int64_t
skip_open(struct sqw_feed *f)
{
	uint64_t n;

	if (f->o->no_sparse)
		return 0;
	if (f->spool < 0)
		return f->source->skip == NULL ? 0 :
		    f->source->skip(f->source->arg);
	n = sqw_hole_blocks(hole_at(f->spool, &f->spool_st, f->spool_at),
	    f->left, f->o->block);
	f->spool_at += n;
	return (int64_t)n;
}

static uint32_t
blocks_of(const struct sqw_feed *f, uint64_t bytes)
{
	return (uint32_t)((bytes + f->o->block - 1) / f->o->block);
}

/* Hashes a hole that starts on a block boundary. */
static void
hash_hole(struct sqw_feed *f, uint64_t bytes)
{
	sqw_twins_hash_hole(&f->twins, bytes < f->o->block ? (size_t)bytes :
	    f->o->block, blocks_of(f, bytes));
}

/* What reading a file ahead shows. */
struct content {
	XXH128_hash_t blocks;		/* hash of the blocks */
	XXH128_hash_t tail;		/* of the tail, if that is in `room` */
	bool has_tail;
};

/*
 * Reads the whole file to hash it; a tail of zeros is a block.  A file that
 * cannot be read again is kept in the spool.  If the file has a tail, it is the
 * content of room afterwards.
 */
static int
hash_ahead(struct sqw_feed *f, uint8_t *room, struct content *c)
{
	int keep = -1, rc = 0;
	int64_t n, at;

	c->has_tail = false;
	if (f->source->rewind == NULL) {
		f->spool_at = 0;
		keep = sys_openat(f->o->tmpdir, ".",
		    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (keep < 0)
			return keep;
	}
	sqw_twins_begin(&f->twins);
	for (uint64_t left = f->file.size; left > 0; left -= (uint64_t)n) {
		n = skip_open(f);
		if (n > 0) {
			hash_hole(f, (uint64_t)n);
			at = keep < 0 ? 0 : sys_lseek(keep, (off_t)n, SEEK_CUR);
			rc = at < 0 ? (int)at : 0;
		} else if (n == 0) {
			n = left < f->o->block ? (int64_t)left : f->o->block;
			rc = f->source->read(f->source->arg, room, (size_t)n);
			c->has_tail = rc == 0 && left == f->tail &&
			    (f->o->no_sparse ||
			    !sqw_content_is_zero(room, (size_t)n));
			if (rc == 0 && !c->has_tail)
				sqw_twins_hash(&f->twins, room, (size_t)n);
			if (rc == 0 && keep >= 0)
				rc = fdio_write(keep, room, (size_t)n);
		} else {
			rc = (int)n;
		}
		if (rc != 0)
			goto out;
	}
	c->blocks = sqw_twins_end(&f->twins);
	f->first = f->twins.first;
	if (c->has_tail)
		c->tail = hash_alone(f, room, f->tail);
	if (keep >= 0) {
		/* the file may end in a hole */
		rc = sys_ftruncate(keep, (off_t)f->file.size);
		if (rc == 0)
			rc = sys_fstat(keep, &f->spool_st);
	}
out:
	f->spool = keep;	/* only now, so that it was not read from */
	return rc;
}

/*
 * Returns the key, with the hash of its first block, of a file with as many
 * blocks.
 */
static uint64_t
first_key(const struct sqw_feed *f)
{
	return SQW_TWINS_FIRST | (f->file.size - f->tail) / f->o->block;
}

/*
 * Returns the key of the blocks of the current file.  mksquashfs compares those
 * that end in a hole as long as a tail only with each other.
 */
static uint64_t
blocks_key(const struct sqw_feed *f, bool has_tail)
{
	uint64_t full = f->file.size - f->tail;

	if (f->tail == 0 || has_tail)
		return full;
	return SQW_TWINS_HOLLOW | (f->o->exact ? full : f->file.size);
}

/*
 * Returns whether mksquashfs would compare the current file, which has a tail,
 * with others.  It then stores the tail before the blocks, otherwise after
 * them.
 */
static bool
is_compared(const struct sqw_feed *f)
{
	return is_tail_seen(f, f->tail) || sqw_twins_find(&f->twins,
	    first_key(f), f->first) != NULL;
}

/*
 * Starts the current file, which is large, unless an earlier file has the same
 * content.  Returns 1 if u is a unit, 0 if not, or -errno.
 */
static int
begin_large(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	struct sqw_position *of = position_of(f);
	uint64_t size = f->file.size;
	struct content c = { .has_tail = false };
	bool shared = false;
	int rc, seen, given = 0;

	f->tail = f->o->tails && !f->o->no_fragments ?
	    (uint32_t)(size % f->o->block) : 0;
	seen = !may_share(f) ? 0 : sqw_twins_size_seen(&f->twins,
	    size - f->tail);
	if (seen < 0)
		return seen;
	if ((size - 1) / f->o->block >= units_left(f))
		return -EOVERFLOW;
	f->hashing = may_share(f);
	f->left = size;
	*of = (struct sqw_position){ .dense = f->file.dense };
	if (seen || (f->hashing && f->tail > 0 && is_tail_seen(f, f->tail))) {
		rc = hash_ahead(f, u->data, &c);
		if (rc != 0)
			return rc;
		if (f->tail == 0 || f->o->gensquashfs || is_compared(f)) {
			shared = share_blocks(f, blocks_key(f, c.has_tail),
			    c.blocks);
			/* gensquashfs always stores a tail after its blocks */
			if (f->o->gensquashfs && !shared)
				c.has_tail = false;
			if (c.has_tail && !share_tail(f, f->tail, c.tail)) {
				given = put_tail(f, u, f->tail, c.tail);
				f->d->in_B += f->tail;
			} else if (shared) {
				count_duplicate(f);
			}
			if (given < 0)
				return given;
			f->placed = c.has_tail && !shared;
			if (f->placed)
				f->left -= f->tail;
		}
		if (shared) {
			close_spool(f);
			return given;
		}
		rc = f->source->rewind == NULL ? 0 :
		    f->source->rewind(f->source->arg);
		if (rc != 0)
			return rc;
	}
	of->unit = (uint32_t)f->d->units;
	sqw_twins_begin(&f->twins);
	f->open = true;
	return given;
}

/* Reads the next len bytes of the open file. */
static int
read_piece(struct sqw_feed *f, uint8_t *data, uint32_t len)
{
	ssize_t n;

	if (f->spool < 0)
		return f->source->read(f->source->arg, data, len);
	n = fdio_pread(f->spool, data, len, (off_t)f->spool_at);
	f->spool_at += len;
	return n < 0 ? (int)n : (size_t)n < len ? -EIO : 0;
}

/*
 * Ends the open file, whose tail, if it has one, is in u.  Returns 1 if u is a
 * unit, 0 if not, or -errno.
 */
static int
end_large(struct sqw_feed *f, struct sqw_feed_unit *u, bool has_tail)
{
	XXH128_hash_t hash = sqw_twins_end(&f->twins);
	bool hollow = f->tail > 0 && !f->placed && !has_tail;
	uint64_t key = blocks_key(f, !hollow);
	int rc = 0;

	f->open = f->placed = false;
	close_spool(f);
	if (f->hashing)
		rc = sqw_twins_add(&f->twins, key, hash, f->file.id);
	if (rc == 0 && f->hashing && f->o->tails && !hollow)
		rc = sqw_twins_add(&f->twins, first_key(f), f->twins.first,
		    f->file.id);
	if (rc != 0 || !has_tail)
		return rc;
	hash = hash_alone(f, u->data, f->tail);
	if (share_tail(f, f->tail, hash))
		return 0;
	f->d->in_B += f->tail;
	return put_tail(f, u, f->tail, hash);
}

/*
 * Makes u the next block or hole of the open file.  Returns 1, 0 if the tail
 * was added to the fragment block, or -errno.
 */
static int
next_piece(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	int64_t hole = skip_open(f);
	uint64_t bytes = (uint64_t)hole;
	int rc = 0;

	if (hole < 0)
		return (int)hole;
	u->is_fragment = false;
	u->raw = f->file.raw;
	if (hole > 0) {
		if (bytes > f->left)	/* the tail has been stored */
			bytes = f->left;
		u->len = 0;
		u->count = blocks_of(f, bytes);
	} else {
		bytes = f->left < f->o->block ? f->left : f->o->block;
		u->len = (uint32_t)bytes;
		u->count = 1;
		rc = read_piece(f, u->data, u->len);
		if (rc != 0)
			return rc;
		if (f->left == f->tail && !f->placed && (f->o->no_sparse ||
		    !sqw_content_is_zero(u->data, u->len)))
			return end_large(f, u, true);
	}
	rc = new_units(f, SQUASHFS_NONE, u->count, &u->number);
	if (rc != 0)
		return rc;
	position_of(f)->blocks += u->count;
	if (f->hashing && hole > 0)
		hash_hole(f, bytes);
	else if (f->hashing)
		sqw_twins_hash(&f->twins, u->data, u->len);
	f->d->in_B += bytes;
	f->left -= bytes;
	if (f->left == 0)
		rc = end_large(f, u, false);
	return rc != 0 ? rc : 1;
}

/* Files that are in the image already */

/* Reads and hashes the blocks of an old file.  Returns 0 or -errno. */
static int
hash_older(struct sqw_feed *f, uint64_t bytes, uint8_t *room)
{
	const struct sqw_older *o = f->o->older;

	sqw_twins_begin(&f->twins);
	while (bytes > 0) {
		size_t n = bytes < f->o->block ? (size_t)bytes : f->o->block;
		int rc = o->read(o->arg, room, n);

		if (rc != 0)
			return rc;
		sqw_twins_hash(&f->twins, room, n);
		bytes -= n;
	}
	return 0;
}

/* Adds an old file to those that later ones are compared with. */
static int
learn(struct sqw_feed *f, const struct sqw_file *old, uint8_t *room)
{
	const struct sqw_older *o = f->o->older;
	const struct sqw_position *of = &f->d->of[old->id];
	uint32_t tail = f->o->no_fragments ? 0 : old->size < f->o->block ?
	    (uint32_t)old->size : f->o->tails ?
	    (uint32_t)(old->size % f->o->block) : 0;
	uint64_t full = old->size - tail;
	XXH128_hash_t hash;
	int rc = 0;

	/* one that was cut in another way has no equal */
	if (of->tail != (tail > 0) || of->blocks != blocks_of(f, full))
		return 0;
	if (full > 0) {
		if (hash_older(f, full, room) != 0)
			return 0;
		hash = sqw_twins_end(&f->twins);
		rc = sqw_twins_add(&f->twins, full, hash, old->id);
		if (rc == 0 && f->o->tails)
			rc = sqw_twins_add(&f->twins, SQW_TWINS_FIRST |
			    full / f->o->block, f->twins.first, old->id);
		if (rc == 0)
			rc = sqw_twins_size_seen(&f->twins, full);
	}
	if (rc < 0 || tail == 0 || o->read(o->arg, room, tail) != 0)
		return rc < 0 ? rc : 0;
	f->tails_seen[tail / 8] |= (uint8_t)(1 << tail % 8);
	hash = hash_alone(f, room, tail);
	return sqw_twins_add(&f->twins, tail, hash, old->id);
}

/* Learns all old files with the size of the current one. */
static int
learn_older(struct sqw_feed *f, uint8_t *room)
{
	const struct sqw_older *o = f->o->older;
	struct sqw_file old;
	int rc = 0;

	if (o == NULL || !may_share(f))
		return 0;
	while (rc == 0 && o->next(o->arg, f->file.size, &old) == 1)
		rc = learn(f, &old, room);
	return rc;
}

/* All files */

/* Starts the next file.  Returns 1 if u is a unit, 0 to continue, or -errno. */
static int
next_file(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	struct sqw_data *d = f->d;
	size_t before = d->ids;
	void *items = d->of;
	int rc = f->source->next(f->source->arg, &f->file);

	if (rc <= 0) {
		f->ended = rc == 0;
		return rc;
	}
	if (rc == 2)
		return give_unfilled(f, u);
	rc = array_reserve(&items, (size_t)f->file.id + 1, &d->ids,
	    sizeof(*d->of));
	d->of = items;
	if (d->ids > before)
		memset(d->of + before, 0, (d->ids - before) *
		    sizeof(*d->of));
	if (rc == 0)
		rc = learn_older(f, u->data);
	if (rc != 0)
		return rc;
	if (f->file.size >= (uint64_t)f->o->block + is_always_block(f->o))
		return begin_large(f, u);
	*position_of(f) = (struct sqw_position){ .dense = f->file.dense };
	return next_small(f, u);
}

int
sqw_feed_next(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	while (!f->ended) {
		int rc = f->open ? next_piece(f, u) : next_file(f, u);

		if (rc == -ECANCELED) {
			/* the source has abandoned the file */
			*position_of(f) = (struct sqw_position){ .unit = 0 };
			f->open = f->placed = false;
			close_spool(f);
		} else if (rc != 0) {
			return rc;
		}
	}
	return give_unfilled(f, u);
}

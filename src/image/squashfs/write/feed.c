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
	f->fragment = sys_malloc(sqw_pack_room(o));
	return f->fragment == NULL ? -ENOMEM : rc;
}

void
sqw_feed_close(struct sqw_feed *f)
{
	f->d->hash_ns += f->twins.busy_ns;
	if (f->spool >= 0)
		sys_close(f->spool);
	sqw_twins_close(&f->twins);
	sys_free(f->fragment);
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

/*
 * Makes the current file share the data of an earlier file with this hash;
 * returns false if there is none.
 */
static bool
share_data(struct sqw_feed *f, XXH128_hash_t hash)
{
	const struct sqw_file *file = &f->file;
	const struct sqw_twin *twin = f->o->no_duplicates ? NULL :
	    sqw_twins_find(&f->twins, file->size, hash);
	struct sqw_position *of = &f->d->of[file->id];

	if (twin == NULL)
		return false;
	*of = f->d->of[twin->id];
	if (twin->size != file->size)
		of->dense = file->dense;
	f->d->duplicates++;
	f->d->duplicate_B += file->size;
	return true;
}

/* Small files */

static void
give_fragment(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	uint8_t *full = f->fragment;

	f->fragment = u->data;
	*u = (struct sqw_feed_unit){ .data = full, .len = f->filled, .count = 1,
		.number = f->fragment_unit, .is_fragment = true };
	f->filled = 0;
}

/* Stores the content in u as a separate block. */
static int
give_block(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	int rc;

	u->len = (uint32_t)f->file.size;
	u->count = 1;
	u->is_fragment = false;
	rc = new_units(f, SQUASHFS_NONE, 1, &u->number);
	f->d->of[f->file.id] = (struct sqw_position){ .unit = u->number,
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
 * Reads the current file, which is small, and adds it to the fragment block.
 * If it does not fit, u becomes the full fragment block, and the file begins
 * the next one.  Returns 1 if u is a unit, 0 if not, or -errno.
 */
static int
next_small(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	size_t len = (size_t)f->file.size;
	XXH128_hash_t hash;
	bool full;
	int rc = f->source->read(f->source->arg, u->data, len);

	if (rc != 0)
		return rc;
	/* zeros become a hole */
	if (sqw_content_is_zero(u->data, len) && !is_always_block(f->o)) {
		f->d->in_B += len;
		return give_block(f, u);
	}
	sqw_twins_begin(&f->twins);
	sqw_twins_hash(&f->twins, u->data, len);
	hash = sqw_twins_end(&f->twins);
	if (!f->file.alone && share_data(f, hash))
		return 0;
	f->d->in_B += len;
	if (!f->file.alone && !f->o->no_duplicates) {
		rc = sqw_twins_add(&f->twins, f->file.size, hash, f->file.id);
		if (rc != 0)
			return rc;
	}
	if (f->o->no_fragments)
		return give_block(f, u);
	full = len > f->o->block - f->filled;
	if (full)
		give_fragment(f, u);
	else
		memcpy(f->fragment + f->filled, u->data, len);
	if (f->filled == 0)
		rc = new_units(f, f->d->fragments++, 1, &f->fragment_unit);
	f->d->of[f->file.id] = (struct sqw_position){ .unit = f->fragment_unit,
		.tail_at = f->filled, .tail = true };
	f->filled += (uint32_t)len;
	return rc != 0 ? rc : full;
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
	return (uint32_t)((bytes - 1) / f->o->block + 1);
}

/* Hashes a hole that starts on a block boundary. */
static void
hash_hole(struct sqw_feed *f, uint64_t bytes)
{
	sqw_twins_hash_hole(&f->twins, bytes < f->o->block ? (size_t)bytes :
	    f->o->block, blocks_of(f, bytes));
}

/*
 * Reads the whole file to hash it.  A file that cannot be read again is kept in
 * the spool.
 */
static int
hash_ahead(struct sqw_feed *f, uint8_t *room, XXH128_hash_t *hash)
{
	int keep = -1, rc = 0;
	int64_t n, at;

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
			if (rc == 0)
				sqw_twins_hash(&f->twins, room, (size_t)n);
			if (rc == 0 && keep >= 0)
				rc = fdio_write(keep, room, (size_t)n);
		} else {
			rc = (int)n;
		}
		if (rc != 0)
			goto out;
	}
	*hash = sqw_twins_end(&f->twins);
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
 * Starts the current file, which is large, unless an earlier file has the same
 * content.  room has space for one block.  Returns 0 or -errno.
 */
static int
begin_large(struct sqw_feed *f, uint8_t *room)
{
	struct sqw_position *d = &f->d->of[f->file.id];
	uint64_t size = f->file.size;
	XXH128_hash_t hash;
	int rc, seen = f->file.alone || f->o->no_duplicates ? 0 :
	    sqw_twins_size_seen(&f->twins, size);

	if (seen < 0)
		return seen;
	if ((size - 1) / f->o->block >= units_left(f))
		return -EOVERFLOW;
	f->hashing = !f->file.alone && !f->o->no_duplicates;
	if (seen) {
		rc = hash_ahead(f, room, &hash);
		if (rc == 0 && share_data(f, hash)) {
			close_spool(f);
			return 0;
		}
		if (rc == 0 && f->source->rewind != NULL)
			rc = f->source->rewind(f->source->arg);
		if (rc != 0)
			return rc;
	}
	*d = (struct sqw_position){ .unit = (uint32_t)f->d->units,
		.blocks = blocks_of(f, size),
		.dense = f->file.dense };
	sqw_twins_begin(&f->twins);
	f->left = size;
	f->open = true;
	return 0;
}

/* Makes u the next block or hole of the open file.  Returns 1 or -errno. */
static int
next_piece(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	int64_t hole = skip_open(f);
	uint64_t bytes = (uint64_t)hole;
	ssize_t n;
	int rc = 0;

	if (hole < 0)
		return (int)hole;
	u->is_fragment = false;
	if (hole > 0) {
		u->len = 0;
		u->count = blocks_of(f, bytes);
	} else {
		bytes = f->left < f->o->block ? f->left : f->o->block;
		u->len = (uint32_t)bytes;
		u->count = 1;
		if (f->spool < 0) {
			rc = f->source->read(f->source->arg, u->data, u->len);
		} else {
			n = fdio_pread(f->spool, u->data, u->len,
			    (off_t)f->spool_at);
			f->spool_at += u->len;
			rc = n < 0 ? (int)n : (size_t)n < u->len ? -EIO : 0;
		}
		if (rc != 0)
			return rc;
	}
	rc = new_units(f, SQUASHFS_NONE, u->count, &u->number);
	if (rc != 0)
		return rc;
	if (f->hashing && hole > 0)
		hash_hole(f, bytes);
	else if (f->hashing)
		sqw_twins_hash(&f->twins, u->data, u->len);
	f->d->in_B += bytes;
	f->left -= bytes;
	if (f->left > 0)
		return 1;
	f->open = false;
	close_spool(f);
	if (f->hashing)
		rc = sqw_twins_add(&f->twins, f->file.size,
		    sqw_twins_end(&f->twins), f->file.id);
	return rc != 0 ? rc : 1;
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
	if (rc == 2) {
		if (f->filled == 0)
			return 0;
		give_fragment(f, u);
		return 1;
	}
	rc = array_reserve(&items, (size_t)f->file.id + 1, &d->ids,
	    sizeof(*d->of));
	d->of = items;
	if (d->ids > before)
		memset(d->of + before, 0, (d->ids - before) *
		    sizeof(*d->of));
	if (rc != 0)
		return rc;
	return f->file.size < (uint64_t)f->o->block + is_always_block(f->o) ?
	    next_small(f, u) : begin_large(f, u->data);
}

int
sqw_feed_next(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	while (!f->ended) {
		int rc = f->open ? next_piece(f, u) : next_file(f, u);

		if (rc == -ECANCELED) {
			/* the source has abandoned the file */
			f->d->of[f->file.id] = (struct sqw_position){
				.unit = 0 };
			f->open = false;
			close_spool(f);
		} else if (rc != 0) {
			return rc;
		}
	}
	if (f->filled == 0)
		return 0;
	give_fragment(f, u);
	return 1;
}

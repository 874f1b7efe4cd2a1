/*
 * feed.c - cutting files into the units of an image, in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One thread does this, because the contents of a fragment block depend on all
 * earlier files, and whether a file is stored at all depends on earlier
 * duplicates.
 *
 * A large file is hashed while it is read.  Only if an earlier file has the
 * same size must duplicates be detected in advance: the file is then read
 * twice, or through an unlinked file if the source cannot be rewound.
 */
#include "image/sqbuild/feed.h"

#include "base/fdio.h"
#include "base/hole.h"
#include "base/sys.h"
#include "format/gzip/deflate_engine.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* What struct sqb_data takes for each unit. */
enum { UNIT_B = 2 * sizeof(uint32_t) + sizeof(uint64_t) };

int
feed_open(struct feed *f, const struct sqb_source *source,
    const struct sqb_data_options *o, struct sqb_data *d)
{
	int rc;

	*f = (struct feed){ .source = source, .o = o, .d = d, .spool = -1 };
	rc = twins_open(&f->twins);
	f->fragment = sys_malloc(feed_room(o));
	if (content_open(&f->content, o) != 0)
		rc = -ENOMEM;
	return f->fragment == NULL ? -ENOMEM : rc;
}

size_t
feed_room(const struct sqb_data_options *o)
{
	return deflate_engine_bound(o->block);
}

static void
close_spool(struct feed *f)
{
	if (f->spool >= 0)
		sys_close(f->spool);
	f->spool = -1;
}

void
feed_close(struct feed *f)
{
	f->d->hash_ns += f->content.busy_ns;
	close_spool(f);
	twins_close(&f->twins);
	sys_free(f->fragment);
	content_close(&f->content);
}

/* The number of units that the image and the memory limit leave room for. */
static size_t
units_left(const struct feed *f)
{
	size_t most = UINT32_MAX - 1;

	if (f->o->memory > 0 && f->o->memory / UNIT_B < most)
		most = (size_t)(f->o->memory / UNIT_B);
	return most > f->d->units ? most - f->d->units : 0;
}

/* Numbers the blocks of a hole, a block or a fragment block. */
static int
new_units(struct feed *f, uint32_t fragment, uint32_t count, uint32_t *unit)
{
	struct sqb_data *d = f->d;
	size_t cap = d->fragment_cap == 0 ? 1024 : d->fragment_cap;
	uint32_t *p;

	if (count > units_left(f))
		return -EOVERFLOW;
	while (cap < d->units + count)
		cap *= 2;
	if (cap > d->fragment_cap) {
		p = sys_realloc(d->fragment, cap * sizeof(*p));
		if (p == NULL)
			return -ENOMEM;
		d->fragment = p;
		d->fragment_cap = cap;
	}
	*unit = (uint32_t)d->units;
	for (; count > 0; count--)
		d->fragment[d->units++] = fragment;
	return 0;
}

/* Makes room for the data of this id. */
static int
reserve_id(struct sqb_data *d, uint32_t id)
{
	size_t n = d->ids == 0 ? 1024 : d->ids;
	struct sqw_data *p;

	if (id < d->ids)
		return 0;
	while (n <= id)
		n *= 2;
	p = sys_realloc(d->of, n * sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	memset(p + d->ids, 0, (n - d->ids) * sizeof(*p));
	d->of = p;
	d->ids = n;
	return 0;
}

/* Lets the current file share the data of an earlier one. */
static bool
share(struct feed *f, XXH128_hash_t hash)
{
	const struct sqb_file *file = &f->file;
	const struct twin *twin = f->o->no_duplicates ? NULL :
	    twins_find(&f->twins, content_size(f->o, file->size), hash);
	struct sqw_data *of = &f->d->of[file->id];

	if (twin == NULL)
		return false;
	*of = f->d->of[twin->id];
	if (twin->size != file->size)
		of->dense = file->dense;
	f->d->duplicates++;
	f->d->duplicate_B += file->size;
	return true;
}

static int
remember(struct feed *f, XXH128_hash_t hash)
{
	return twins_add(&f->twins, content_size(f->o, f->file.size),
	    &(struct twin){ .hash = hash, .size = f->file.size,
	    .id = f->file.id });
}

/* Large files */

/* Reads the next bytes of the current file, from the source or the spool. */
static int
read_open(struct feed *f, uint8_t *data, size_t len)
{
	ssize_t n;

	if (f->spool < 0)
		return f->source->read(f->source->arg, data, len);
	n = fdio_pread(f->spool, data, len, (off_t)f->spool_at);
	f->spool_at += len;
	return n < 0 ? (int)n : (size_t)n < len ? -EIO : 0;
}

/* Skips a hole of the current file, as the source does. */
static int64_t
skip_open(struct feed *f)
{
	uint64_t n;

	if (f->spool < 0)
		return f->source->skip == NULL ? 0 :
		    f->source->skip(f->source->arg);
	n = sqb_hole_blocks(hole_at(f->spool, &f->spool_st, f->spool_at),
	    f->left, f->o->block);
	f->spool_at += n;
	return (int64_t)n;
}

static uint32_t
blocks_of(const struct feed *f, uint64_t bytes)
{
	return (uint32_t)((bytes - 1) / f->o->block + 1);
}

/* Hashes a hole, which begins with a block. */
static void
hash_hole(struct feed *f, uint64_t bytes)
{
	content_add_hole(&f->content, bytes < f->o->block ? (size_t)bytes :
	    f->o->block, blocks_of(f, bytes));
}

static int
open_spool(struct feed *f)
{
	f->spool_at = 0;
	f->spool = sys_openat(f->o->tmpdir, ".",
	    O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return f->spool < 0 ? f->spool : 0;
}

/* Hashes the next block or hole, and keeps it unless keep is -1. */
static int64_t
hash_piece(struct feed *f, uint8_t *room, uint64_t left, int keep)
{
	int64_t n = skip_open(f), at;
	int rc;

	if (n < 0)
		return n;
	if (n > 0) {
		hash_hole(f, (uint64_t)n);
		at = keep < 0 ? 0 : sys_lseek(keep, (off_t)n, SEEK_CUR);
		return at < 0 ? at : n;
	}
	n = left < f->o->block ? (int64_t)left : f->o->block;
	rc = f->source->read(f->source->arg, room, (size_t)n);
	if (rc == 0)
		content_add(&f->content, room, (size_t)n);
	if (rc == 0 && keep >= 0)
		rc = fdio_write(keep, room, (size_t)n);
	return rc != 0 ? rc : n;
}

/* The file may end in a hole. */
static int
end_spool(struct feed *f, int keep)
{
	int rc = sys_ftruncate(keep, (off_t)f->file.size);

	return rc != 0 ? rc : sys_fstat(keep, &f->spool_st);
}

/*
 * Reads the whole file to hash it.  A file that cannot be read again is kept in
 * the spool.
 */
static int
hash_ahead(struct feed *f, uint8_t *room, XXH128_hash_t *hash)
{
	int64_t n = 0;
	int keep = -1, rc = 0;

	if (f->source->rewind == NULL) {
		rc = open_spool(f);
		keep = f->spool;
		f->spool = -1;	/* until it is complete */
	}
	content_begin(&f->content);
	for (uint64_t left = f->file.size; rc == 0 && left > 0;
	    left -= (uint64_t)n) {
		n = hash_piece(f, room, left, keep);
		rc = n < 0 ? (int)n : 0;
	}
	if (rc == 0 && keep >= 0)
		rc = end_spool(f, keep);
	f->spool = keep;
	*hash = content_end(&f->content);
	return rc;
}

/* Starts a large file, unless an earlier one has the same content. */
static int
begin_large(struct feed *f, uint8_t *room)
{
	struct sqw_data *d = &f->d->of[f->file.id];
	uint64_t size = f->file.size;
	XXH128_hash_t hash;
	int rc, seen = f->file.alone || f->o->no_duplicates ? 0 :
	    twins_size_seen(&f->twins, content_size(f->o, size));

	if (seen < 0)
		return seen;
	if ((size - 1) / f->o->block >= units_left(f))
		return -EOVERFLOW;
	f->hashing = !f->file.alone && !f->o->no_duplicates;
	if (seen) {
		rc = hash_ahead(f, room, &hash);
		if (rc == 0 && share(f, hash)) {
			close_spool(f);
			return 0;
		}
		if (rc == 0 && f->source->rewind != NULL)
			rc = f->source->rewind(f->source->arg);
		if (rc != 0)
			return rc;
	}
	*d = (struct sqw_data){ .unit = (uint32_t)f->d->units,
		.blocks = blocks_of(f, size),
		.dense = f->file.dense };
	content_begin(&f->content);
	f->left = size;
	f->open = true;
	return 0;
}

static int
end_large(struct feed *f)
{
	f->open = false;
	close_spool(f);
	return f->hashing ? remember(f, content_end(&f->content)) : 0;
}

/* Counts the bytes that u covers. */
static int
advance(struct feed *f, uint64_t bytes)
{
	int rc;

	f->d->in_B += bytes;
	f->left -= bytes;
	rc = f->left == 0 ? end_large(f) : 0;
	return rc != 0 ? rc : 1;
}

static int
next_hole(struct feed *f, struct feed_unit *u, uint64_t bytes)
{
	int rc;

	u->len = 0;
	u->count = blocks_of(f, bytes);
	rc = new_units(f, SQUASHFS_NONE, u->count, &u->number);
	if (rc != 0)
		return rc;
	if (f->hashing)
		hash_hole(f, bytes);
	return advance(f, bytes);
}

static int
next_block(struct feed *f, struct feed_unit *u)
{
	int64_t hole = skip_open(f);
	int rc;

	u->is_fragment = false;
	if (hole != 0)
		return hole < 0 ? (int)hole : next_hole(f, u, (uint64_t)hole);
	u->len = f->left < f->o->block ? (uint32_t)f->left : f->o->block;
	u->count = 1;
	rc = read_open(f, u->data, u->len);
	if (rc == 0)
		rc = new_units(f, SQUASHFS_NONE, 1, &u->number);
	if (rc != 0)
		return rc;
	if (f->hashing)
		content_add(&f->content, u->data, u->len);
	return advance(f, u->len);
}

/* Small files */

static void
give_fragment(struct feed *f, struct feed_unit *u)
{
	uint8_t *full = f->fragment;

	f->fragment = u->data;
	*u = (struct feed_unit){ .data = full, .len = f->filled, .count = 1,
		.number = f->fragment_unit, .is_fragment = true };
	f->filled = 0;
}

/* Stores the content in u as a separate block. */
static int
give_block(struct feed *f, struct feed_unit *u)
{
	int rc;

	u->len = (uint32_t)f->file.size;
	u->count = 1;
	u->is_fragment = false;
	rc = new_units(f, SQUASHFS_NONE, 1, &u->number);
	f->d->of[f->file.id] = (struct sqw_data){ .unit = u->number,
		.blocks = 1, .dense = f->file.dense };
	return rc != 0 ? rc : 1;
}

/*
 * Adds the content in u to the fragment block.  If it does not fit, u becomes
 * the full fragment block, the content begins the next one, and 1 is returned.
 * Otherwise returns 0 or -errno.
 */
static int
add_small(struct feed *f, struct feed_unit *u)
{
	uint32_t len = (uint32_t)f->file.size;
	bool full = len > f->o->block - f->filled;
	int rc = 0;

	if (full)
		give_fragment(f, u);
	else
		memcpy(f->fragment + f->filled, u->data, len);
	if (f->filled == 0)
		rc = new_units(f, f->d->fragments++, 1, &f->fragment_unit);
	f->d->of[f->file.id] = (struct sqw_data){ .unit = f->fragment_unit,
		.tail_at = f->filled, .tail = true };
	f->filled += len;
	return rc != 0 ? rc : full;
}

/*
 * Returns whether files of at most one block are compared as blocks, even
 * zeros.
 */
static bool
is_always_block(const struct sqb_data_options *o)
{
	return o->exact && o->no_fragments;
}

static int
take_small(struct feed *f, struct feed_unit *u)
{
	size_t len = (size_t)f->file.size;
	XXH128_hash_t hash;
	int rc = f->source->read(f->source->arg, u->data, len);

	if (rc != 0)
		return rc;
	/* zeros become a hole */
	if (content_is_zero(u->data, len) && !is_always_block(f->o)) {
		f->d->in_B += len;
		return give_block(f, u);
	}
	content_begin(&f->content);
	content_add(&f->content, u->data, len);
	hash = content_end(&f->content);
	if (!f->file.alone && share(f, hash))
		return 0;
	f->d->in_B += len;
	rc = f->file.alone || f->o->no_duplicates ? 0 : remember(f, hash);
	if (rc != 0)
		return rc;
	return f->o->no_fragments ? give_block(f, u) : add_small(f, u);
}

/* Starts the next file.  Returns 1 if u is a unit, 0 to continue, or -errno. */
static int
next_file(struct feed *f, struct feed_unit *u)
{
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
	rc = reserve_id(f->d, f->file.id);
	if (rc != 0)
		return rc;
	return f->file.size < (uint64_t)f->o->block + is_always_block(f->o) ?
	    take_small(f, u) : begin_large(f, u->data);
}

/* Drops the data of a file that the source has given up. */
static void
leave_out(struct feed *f)
{
	f->d->of[f->file.id] = (struct sqw_data){ .unit = 0 };
	f->open = false;
	close_spool(f);
}

int
feed_next(struct feed *f, struct feed_unit *u)
{
	int rc = 0;

	while (rc == 0 && !f->ended) {
		rc = f->open ? next_block(f, u) : next_file(f, u);
		if (rc == -ECANCELED) {
			leave_out(f);
			rc = 0;
		}
	}
	if (rc != 0 || f->filled == 0)
		return rc;
	give_fragment(f, u);
	return 1;
}

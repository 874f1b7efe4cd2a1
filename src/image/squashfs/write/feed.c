/*
 * feed.c - cutting files into an image's units, in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are cut by one thread, because the contents of a fragment block depend
 * on all earlier files, and a file is stored only if it has no earlier
 * duplicate.  Files larger than a block are handled in feed_large.c.
 */
#include "feed_impl.h"

#include "base/array.h"
#include "base/sys.h"
#include "format/gzip/deflate_engine.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <string.h>

/* The memory that struct sqw_data needs for each unit. */
enum { UNIT_B = 2 * sizeof(uint32_t) + sizeof(uint64_t) };

int
sqw_feed_open(struct sqw_feed *f, const struct sqw_source *source,
    const struct sqw_data_options *o, struct sqw_data *d)
{
	int rc;

	*f = (struct sqw_feed){ .source = source, .o = o, .d = d, .spool = -1 };
	rc = sqw_twins_open(&f->twins);
	f->fragment = sys_malloc(sqw_feed_room(o));
	if (sqw_content_open(&f->content, o) != 0)
		rc = -ENOMEM;
	return f->fragment == NULL ? -ENOMEM : rc;
}

size_t
sqw_feed_room(const struct sqw_data_options *o)
{
	return deflate_engine_bound(o->block);
}

void
sqw_feed_close(struct sqw_feed *f)
{
	f->d->hash_ns += f->content.busy_ns;
	sqw_feed_close_spool(f);
	sqw_twins_close(&f->twins);
	sys_free(f->fragment);
	sqw_content_close(&f->content);
}

size_t
sqw_feed_units_left(const struct sqw_feed *f)
{
	size_t most = UINT32_MAX - 1;

	if (f->o->memory > 0 && f->o->memory / UNIT_B < most)
		most = (size_t)(f->o->memory / UNIT_B);
	return most > f->d->units ? most - f->d->units : 0;
}

int
sqw_feed_new_units(struct sqw_feed *f, uint32_t fragment, uint32_t count,
    uint32_t *unit)
{
	struct sqw_data *d = f->d;
	void *items = d->fragment;
	int rc = count > sqw_feed_units_left(f) ? -EOVERFLOW :
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

/* Makes room for this id's data. */
static int
reserve_id(struct sqw_data *d, uint32_t id)
{
	size_t before = d->ids;
	void *items = d->of;
	int rc = array_reserve(&items, (size_t)id + 1, &d->ids,
	    sizeof(*d->of));

	d->of = items;
	if (d->ids > before)
		memset(d->of + before, 0, (d->ids - before) *
		    sizeof(*d->of));
	return rc;
}

bool
sqw_feed_share(struct sqw_feed *f, XXH128_hash_t hash)
{
	const struct sqw_file *file = &f->file;
	const struct sqw_twin *twin = f->o->no_duplicates ? NULL :
	    sqw_twins_find(&f->twins, sqw_content_size(f->o, file->size), hash);
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

int
sqw_feed_remember(struct sqw_feed *f, XXH128_hash_t hash)
{
	return sqw_twins_add(&f->twins, sqw_content_size(f->o, f->file.size),
	    &(struct sqw_twin){ .hash = hash, .size = f->file.size,
	    .id = f->file.id });
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
	rc = sqw_feed_new_units(f, SQUASHFS_NONE, 1, &u->number);
	f->d->of[f->file.id] = (struct sqw_position){ .unit = u->number,
		.blocks = 1, .dense = f->file.dense };
	return rc != 0 ? rc : 1;
}

/*
 * Adds the content in u to the fragment block.  If it does not fit, u becomes
 * the full fragment block, the content begins the next one, and 1 is returned.
 * Otherwise returns 0 or -errno.
 */
static int
add_small(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	uint32_t len = (uint32_t)f->file.size;
	bool full = len > f->o->block - f->filled;
	int rc = 0;

	if (full)
		give_fragment(f, u);
	else
		memcpy(f->fragment + f->filled, u->data, len);
	if (f->filled == 0)
		rc = sqw_feed_new_units(f, f->d->fragments++, 1,
		    &f->fragment_unit);
	f->d->of[f->file.id] = (struct sqw_position){ .unit = f->fragment_unit,
		.tail_at = f->filled, .tail = true };
	f->filled += len;
	return rc != 0 ? rc : full;
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

static int
take_small(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	size_t len = (size_t)f->file.size;
	XXH128_hash_t hash;
	int rc = f->source->read(f->source->arg, u->data, len);

	if (rc != 0)
		return rc;
	/* zeros become a hole */
	if (sqw_content_is_zero(u->data, len) && !is_always_block(f->o)) {
		f->d->in_B += len;
		return give_block(f, u);
	}
	sqw_content_begin(&f->content);
	sqw_content_add(&f->content, u->data, len);
	hash = sqw_content_end(&f->content);
	if (!f->file.alone && sqw_feed_share(f, hash))
		return 0;
	f->d->in_B += len;
	rc = f->file.alone || f->o->no_duplicates ? 0 :
		    sqw_feed_remember(f, hash);
	if (rc != 0)
		return rc;
	return f->o->no_fragments ? give_block(f, u) : add_small(f, u);
}

/* Starts the next file.  Returns 1 if u is a unit, 0 to continue, or -errno. */
static int
next_file(struct sqw_feed *f, struct sqw_feed_unit *u)
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
	    take_small(f, u) : sqw_feed_begin_large(f, u->data);
}

/* Discards the data of a file that the source has abandoned. */
static void
leave_out(struct sqw_feed *f)
{
	f->d->of[f->file.id] = (struct sqw_position){ .unit = 0 };
	f->open = false;
	sqw_feed_close_spool(f);
}

int
sqw_feed_next(struct sqw_feed *f, struct sqw_feed_unit *u)
{
	int rc = 0;

	while (rc == 0 && !f->ended) {
		rc = f->open ? sqw_feed_next_piece(f, u) : next_file(f, u);
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

/*
 * data.c - the data of a squashfs image: blocks and fragment blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The data is written by a pipeline whose reader is the feed.
 */
#include "image/squashfs/write/data.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/write/feed.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/pack.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 1 << 20 };	/* of data that is copied */

struct writing {
	const struct sqw_data_options *o;
	struct sqw_data *d;
	struct sqw_feed feed;
};

static int
next_unit(void *arg, struct input *in, struct slot *s)
{
	struct writing *w = arg;
	struct sqw_feed_unit u;
	int rc = buf_reserve(&s->in, sqw_pack_room(w->o));

	if (rc != 0)
		return rc;
	u.data = s->in.data;
	rc = sqw_feed_next(&w->feed, &u);
	s->in.data = u.data;
	if (rc < 0)
		return rc;
	if (rc == 0) {
		s->last = true;
		return 0;
	}
	s->in.len = u.len;
	squashfs_notes(s)->number = u.number;
	squashfs_notes(s)->count = u.count;
	squashfs_notes(s)->is_fragment = u.is_fragment;
	squashfs_notes(s)->raw = u.raw;
	in->bytes = w->d->in_B;
	return 0;
}

static int
open_packer(void *arg, void **ctx)
{
	const struct writing *w = arg;
	struct sqw_pack *k = NULL;
	int rc = sqw_pack_open(&k, w->o);

	*ctx = k;
	return rc;
}

static void
close_packer(void *ctx)
{
	sqw_pack_close(ctx);
}

static int
pack_next(void *arg, void *ctx, struct slot *s)
{
	(void)arg;
	return s->last ? 0 : sqw_pack_unit(ctx, s);
}

static int
place_unit(void *arg, struct slot *s, struct sink *out)
{
	struct writing *w = arg;
	struct sqw_data *d = w->d;
	const struct squashfs_notes *note = squashfs_notes(s);
	void *sizes = d->sizes, *starts = d->starts;
	size_t end = note->number + note->count, cap = d->cap;
	int rc;

	if (s->last)
		return 0;
	rc = array_reserve(&sizes, end, &cap, sizeof(*d->sizes));
	d->sizes = sizes;
	if (rc == 0)
		rc = array_reserve(&starts, end, &d->cap, sizeof(*d->starts));
	d->starts = starts;
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < note->count; i++) {
		d->sizes[note->number + i] = note->word;
		d->starts[note->number + i] = d->end;
	}
	d->end += s->out.len;
	d->blocks += note->count;
	d->copied += note->copied;
	if ((note->word & SQUASHFS_BLOCK_RAW) != 0) {
		d->raw_B += s->out.len;
		d->raw_blocks++;
	}
	return s->out.len == 0 ? 0 : sink_slot(out, s);
}

int
sqw_data_write(struct sqw_data *d, const struct sqw_source *source,
    const struct sqw_data_options *o, int fd, uint64_t at,
    struct progress *progress)
{
	static const struct pipeline_ops ops = {
		.fill = next_unit, .worker_open = open_packer,
		.worker_close = close_packer, .work = pack_next,
		.join = place_unit,
	};
	struct pipeline_params p = { .threads = o->threads,
		.slots = pipeline_slots(o->threads), .out_fd = fd,
		.progress = progress };
	struct writing *w = sys_calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return -ENOMEM;
	w->o = o;
	w->d = d;
	d->end = at;
	rc = sqw_feed_open(&w->feed, source, o, d);
	if (rc == 0)
		rc = pipeline_run(&ops, w, NULL, &p, &d->stats);
	sqw_feed_close(&w->feed);
	sys_free(w);
	return rc;
}

void
sqw_data_free(struct sqw_data *d)
{
	sys_free(d->sizes);
	sys_free(d->starts);
	sys_free(d->fragment);
	sys_free(d->of);
}

/* Swaps the first `split` of count items of size bytes with the rest. */
static int
rotate(void *items, size_t count, size_t split, size_t size)
{
	uint8_t *all = items, *first = sys_malloc((split + 1) * size);

	if (first == NULL)
		return -ENOMEM;
	memcpy(first, all, split * size);
	memmove(all, all + split * size, (count - split) * size);
	memcpy(all + (count - split) * size, first, split * size);
	sys_free(first);
	return 0;
}

int
sqw_data_append(struct sqw_data *d, const struct sqw_waiting *w, int fd)
{
	uint32_t later = (uint32_t)(d->units - w->units);
	uint8_t *piece = sys_malloc(PIECE);
	int rc = piece == NULL ? -ENOMEM : 0;

	for (uint64_t at = 0; rc == 0 && at < w->length;) {
		uint64_t left = w->length - at;
		size_t want = left < PIECE ? (size_t)left : PIECE;
		ssize_t n = fdio_pread(w->fd, piece, want, (off_t)at);

		rc = n < 0 ? (int)n : (size_t)n < want ? -EIO :
		    fdio_write(fd, piece, want);
		at += want;
	}
	sys_free(piece);
	if (rc != 0 || w->units == 0)
		return rc;
	for (size_t i = 0; i < w->units; i++)
		d->starts[i] += d->end;
	d->end += w->length;
	if (rotate(d->sizes, d->units, w->units, sizeof(*d->sizes)) != 0 ||
	    rotate(d->starts, d->units, w->units, sizeof(*d->starts)) != 0 ||
	    rotate(d->fragment, d->units, w->units,
	    sizeof(*d->fragment)) != 0)
		return -ENOMEM;

	/* fragment blocks are numbered in the order of their units */
	for (size_t i = 0; i < d->units; i++)
		if (d->fragment[i] != SQUASHFS_NONE)
			d->fragment[i] = d->fragment[i] < w->fragments ?
			    d->fragment[i] + d->fragments - w->fragments :
			    d->fragment[i] - w->fragments;
	for (size_t i = 0; i < d->ids; i++) {
		struct sqw_position *of = &d->of[i];

		if (of->blocks > 0)
			of->unit = of->unit < w->units ? of->unit + later :
			    of->unit - (uint32_t)w->units;
		if (of->tail)
			of->tail_unit = of->tail_unit < w->units ?
			    of->tail_unit + later :
			    of->tail_unit - (uint32_t)w->units;
	}
	return 0;
}

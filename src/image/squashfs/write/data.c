/*
 * data.c - the data of a squashfs image: blocks and fragment blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The data is written by a pipeline whose reader is the feed.
 */
#include "image/squashfs/write/data.h"

#include "base/array.h"
#include "base/sys.h"
#include "image/squashfs/write/feed.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/pack.h"

#include <errno.h>
#include <string.h>

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

/* Makes room for the sizes and starts of all units before this one. */
static int
reserve_units(struct sqw_data *d, size_t end)
{
	void *sizes = d->sizes, *starts = d->starts;
	size_t cap = d->cap;
	int rc = array_reserve(&sizes, end, &cap, sizeof(*d->sizes));

	d->sizes = sizes;
	if (rc == 0)
		rc = array_reserve(&starts, end, &d->cap, sizeof(*d->starts));
	d->starts = starts;
	return rc;
}

static int
place_unit(void *arg, struct slot *s, struct sink *out)
{
	struct writing *w = arg;
	struct sqw_data *d = w->d;
	const struct squashfs_notes *note = squashfs_notes(s);
	int rc;

	if (s->last)
		return 0;
	rc = reserve_units(d, note->number + note->count);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < note->count; i++) {
		d->sizes[note->number + i] = note->word;
		d->starts[note->number + i] = d->end;
	}
	d->end += s->out.len;
	d->blocks += note->count;
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

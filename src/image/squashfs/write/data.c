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

struct job {
	const struct sqb_data_options *o;
	struct sqb_data *d;
	struct feed feed;
	bool ended;			/* the feed has reached its end */
};

static int
fill(void *arg, struct input *in, struct slot *s)
{
	struct job *j = arg;
	struct feed_unit u;
	int rc = buf_reserve(&s->in, feed_room(j->o));

	if (rc != 0)
		return rc;
	u.data = s->in.data;
	rc = feed_next(&j->feed, &u);
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
	in->bytes = j->d->in_B;
	return 0;
}

static int
worker_open(void *arg, void **ctx)
{
	const struct job *j = arg;
	struct pack *k = NULL;
	int rc = pack_open(&k, j->o);

	*ctx = k;
	return rc;
}

static void
worker_close(void *ctx)
{
	pack_close(ctx);
}

static int
work(void *arg, void *ctx, struct slot *s)
{
	(void)arg;
	return s->last ? 0 : pack_unit(ctx, s);
}

/* Makes room for the sizes and starts of all units before this one. */
static int
reserve(struct sqb_data *d, size_t end)
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
join(void *arg, struct slot *s, struct sink *out)
{
	struct job *j = arg;
	struct sqb_data *d = j->d;
	const struct squashfs_notes *note = squashfs_notes(s);
	int rc;

	if (s->last)
		return 0;
	rc = reserve(d, note->number + note->count);
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

static const struct pipeline_ops ops = {
	.fill = fill, .worker_open = worker_open,
	.worker_close = worker_close, .work = work, .join = join,
};

static int
run(struct job *j, int fd, struct progress *progress)
{
	struct pipeline_params p = { .threads = j->o->threads,
		.slots = pipeline_slots(j->o->threads), .out_fd = fd,
		.progress = progress };

	return pipeline_run(&ops, j, NULL, &p, &j->d->stats);
}

int
sqb_data_write(struct sqb_data *d, const struct sqb_source *source,
    const struct sqb_data_options *o, int fd, uint64_t at,
    struct progress *progress)
{
	struct job *j = sys_calloc(1, sizeof(*j));
	int rc;

	if (j == NULL)
		return -ENOMEM;
	j->o = o;
	j->d = d;
	d->end = at;
	rc = feed_open(&j->feed, source, o, d);
	if (rc == 0)
		rc = run(j, fd, progress);
	feed_close(&j->feed);
	sys_free(j);
	return rc;
}

void
sqb_data_free(struct sqb_data *d)
{
	sys_free(d->sizes);
	sys_free(d->starts);
	sys_free(d->fragment);
	sys_free(d->of);
}

/*
 * repack.c - recompressing a squashfs image's blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pipeline has no reader thread: each worker reads the blocks that it
 * unpacks.
 */
#include "image/squashfs/write/repack.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/pack.h"

#include <errno.h>

struct repacking {
	struct sqw_repack *r;
	struct sqw_data *d;
	const struct sqw_data_options *o;
	size_t next;
	pthread_mutex_t lock;		/* protects the error */
};

struct repacker {
	struct sq_decoder *decoder;
	struct sqw_pack *pack;
};

static int
next_old(void *arg, struct input *in, struct slot *s)
{
	struct repacking *j = arg;

	s->last = j->next == j->r->count;
	if (s->last)
		return 0;
	squashfs_notes(s)->number = j->next;
	squashfs_notes(s)->copied = squashfs_notes(s)->raw = false;
	squashfs_notes(s)->is_fragment = j->r->blocks[j->next].is_fragment;
	j->d->in_B += j->r->blocks[j->next++].want;
	in->bytes = j->d->in_B;
	return 0;
}

static int
open_repacker(void *arg, void **ctx)
{
	struct repacking *j = arg;
	struct repacker *w = sys_calloc(1, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : sq_decoder_open(&w->decoder,
	    j->r->image);

	*ctx = w;
	return rc != 0 ? rc : sqw_pack_open(&w->pack, j->o);
}

static void
close_repacker(void *ctx)
{
	struct repacker *w = ctx;

	if (w == NULL)
		return;
	sq_decoder_close(w->decoder);
	sqw_pack_close(w->pack);
	sys_free(w);
}

/* Takes the stored form of a block as it is. */
static int
copy_block(const struct repacking *j, const struct sqw_old *b, struct slot *s)
{
	size_t len = b->word & (SQUASHFS_BLOCK_RAW - 1);
	int rc = buf_reserve(&s->out, sqw_pack_room(j->o));
	ssize_t n = rc != 0 ? rc : fdio_pread(j->r->fd, s->out.data, len,
	    (off_t)(j->r->offset + b->at));

	if (n < 0 || (size_t)n < len)
		return n < 0 ? (int)n : -EIO;
	s->out.len = len;
	squashfs_notes(s)->word = b->word;
	squashfs_notes(s)->copied = true;
	return 0;
}

static int
repack_block(void *arg, void *ctx, struct slot *s)
{
	struct repacking *j = arg;
	struct repacker *w = ctx;
	const struct sqw_old *b = &j->r->blocks[squashfs_notes(s)->number];
	const char *why;
	int64_t made;
	int rc;

	if (s->last)
		return 0;
	rc = buf_reserve(&s->in, sqw_pack_room(j->o));
	if (rc != 0)
		return rc;
	made = sq_unpack(w->decoder, b->at, b->word, b->want, s->in.data,
	    &why);
	if (made <= 0) {
		/* report only the damaged block that comes first */
		pthread_mutex_lock(&j->lock);
		if (j->r->why == NULL || b->at < j->r->bad_at) {
			j->r->bad_at = b->at;
			j->r->why = made < 0 ? why :
			    "the block decompresses to nothing";
		}
		pthread_mutex_unlock(&j->lock);
		return -EBADMSG;
	}
	s->in.len = (size_t)made;
	return j->r->fd < 0 ? sqw_pack_unit(w->pack, s) : copy_block(j, b, s);
}

static int
place_block(void *arg, struct slot *s, struct sink *out)
{
	struct repacking *j = arg;
	struct sqw_data *d = j->d;
	struct sqw_old *b = &j->r->blocks[squashfs_notes(s)->number];

	if (s->last)
		return 0;
	b->size = squashfs_notes(s)->word;
	b->start = d->end;
	d->end += s->out.len;
	d->blocks++;
	d->copied += squashfs_notes(s)->copied;
	d->fragments += b->is_fragment;
	if ((squashfs_notes(s)->word & SQUASHFS_BLOCK_RAW) != 0) {
		d->raw_B += s->out.len;
		d->raw_blocks++;
	}
	return s->out.len == 0 ? 0 : sink_slot(out, s);
}

int
sqw_repack(struct sqw_repack *r, struct sqw_data *d,
    const struct sqw_data_options *o, int fd, uint64_t at,
    struct progress *progress)
{
	static const struct pipeline_ops ops = {
		.fill = next_old, .worker_open = open_repacker,
		.worker_close = close_repacker, .work = repack_block,
		.join = place_block,
	};
	struct repacking j = { .r = r, .d = d, .o = o };
	struct pipeline_params p = { .threads = o->threads,
		.slots = pipeline_slots(o->threads), .out_fd = fd,
		.progress = progress };
	int rc;

	d->end = at;
	pthread_mutex_init(&j.lock, NULL);
	rc = pipeline_run(&ops, &j, NULL, &p, &d->stats);
	pthread_mutex_destroy(&j.lock);
	return rc;
}

/*
 * vfs_stream.c - reading a long range of a layer in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The range is cut into parts, which THREADS threads read in turn, so that the
 * link is busy while earlier parts are decoded, and the whole range is never in
 * memory.  Each thread holds one part until that has been used.
 */
#include "vfs_private.h"

#include "base/sys.h"

#include <errno.h>

enum { THREADS = 3, PART = 2 << 20 };

struct reader {
	struct vfs_stream *stream;
	pthread_t thread;
	struct layer_range part;
	int rc;
	bool filled;			/* contains a part not yet used */
};

struct vfs_stream {
	struct vfs_source *source;
	struct layer_range range;
	uint64_t at;			/* offset of the last part used */
	struct reader *current;		/* reader of that part, or NULL */

	pthread_mutex_t lock;		/* protects the fields below */
	pthread_cond_t changed;
	bool stop;
	struct reader readers[THREADS];
	unsigned running;
};

/* Returns the length of the part of the range that begins at offset. */
static uint64_t
length_at(const struct vfs_stream *st, uint64_t offset)
{
	uint64_t left = st->range.offset + st->range.length - offset;

	return left < PART ? left : PART;
}

/* Reads every THREADS-th part. */
static void *
read_parts(void *arg)
{
	struct reader *r = arg;
	struct vfs_stream *st = r->stream;
	uint64_t end = st->range.offset + st->range.length;

	pthread_mutex_lock(&st->lock);
	while (!st->stop && r->rc == 0 && r->part.offset < end) {
		r->part.length = length_at(st, r->part.offset);
		pthread_mutex_unlock(&st->lock);
		r->rc = vfs_source_read(st->source, &r->part, 1, HTTP_PREFETCH);
		pthread_mutex_lock(&st->lock);
		r->filled = true;
		pthread_cond_broadcast(&st->changed);
		while (r->filled && !st->stop)
			pthread_cond_wait(&st->changed, &st->lock);
		r->part.offset += (uint64_t)THREADS * PART;
	}
	pthread_mutex_unlock(&st->lock);
	return NULL;
}

int
vfs_stream_open(struct vfs_stream **out, struct vfs_source *s,
    const struct layer_range *r)
{
	struct vfs_stream *st = sys_calloc(1, sizeof(*st));
	int rc = 0;

	if (st == NULL)
		return -ENOMEM;
	st->source = s;
	st->range = *r;
	st->at = r->offset;
	pthread_mutex_init(&st->lock, NULL);
	pthread_cond_init(&st->changed, NULL);
	/* a short range needs fewer threads */
	for (unsigned i = 0; rc == 0 && i < THREADS && (i == 0 ||
	    (uint64_t)i * PART < r->length); i++) {
		struct reader *reader = &st->readers[i];

		reader->stream = st;
		reader->part.offset = r->offset + (uint64_t)i * PART;
		reader->part.buf = sys_malloc(length_at(st,
		    reader->part.offset));
		if (reader->part.buf == NULL || sys_thread(&reader->thread,
		    read_parts, reader) != 0) {
			sys_free(reader->part.buf);
			rc = -ENOMEM;
		} else {
			st->running++;
		}
	}
	if (rc != 0)
		vfs_stream_close(st, false);
	else
		*out = st;
	return rc;
}

void
vfs_stream_close(struct vfs_stream *st, bool wrong)
{
	pthread_mutex_lock(&st->lock);
	st->stop = true;
	pthread_cond_broadcast(&st->changed);
	pthread_mutex_unlock(&st->lock);
	for (unsigned i = 0; i < st->running; i++) {
		pthread_join(st->readers[i].thread, NULL);
		sys_free(st->readers[i].part.buf);
	}
	for (uint64_t at = 0; wrong && at < st->range.length; at += PART) {
		struct layer_range r = st->range;

		r.offset += at;
		r.length = length_at(st, r.offset);
		vfs_source_forget(st->source, &r);
	}
	pthread_cond_destroy(&st->changed);
	pthread_mutex_destroy(&st->lock);
	sys_free(st);
}

ssize_t
vfs_stream_next(struct vfs_stream *st, const uint8_t **data)
{
	struct reader *r;
	ssize_t n;

	pthread_mutex_lock(&st->lock);
	if (st->current != NULL) {
		st->current->filled = false;
		pthread_cond_broadcast(&st->changed);
	}
	st->current = NULL;
	if (st->at == st->range.offset + st->range.length) {
		pthread_mutex_unlock(&st->lock);
		return 0;
	}
	r = &st->readers[(st->at - st->range.offset) / PART % THREADS];
	while (!r->filled)
		pthread_cond_wait(&st->changed, &st->lock);
	*data = r->part.buf;
	n = r->rc != 0 ? r->rc : (ssize_t)r->part.length;
	if (r->rc == 0) {
		st->current = r;
		st->at += r->part.length;
	}
	pthread_mutex_unlock(&st->lock);
	return n;
}

/*
 * sq_stream.c - files, whose pieces are hashed in their order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whoever unpacks a block leaves its pieces to their streams.  A stream whose
 * next piece is there stands in a queue; who takes it from there hashes that
 * piece and puts it back if the one after has come.  So a large file keeps
 * one thread hashing and all others unpacking.
 *
 * Two streams are hashed in little more time than one.  So one alone is left
 * in the queue until there is another, or few buffers, or no other file;
 * and what the longer of two pieces has more than the other goes back, too.
 * A queue is that of the thread that brought the stream's first piece.
 */
#include "sq_walk.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>

enum {
	TAKE_MOST = 32,			/* streams taken at once */
	TAKE_B = 256 << 10		/* and bytes, if that is two */
};

/* What one thread has taken. */
struct hand {
	struct sq_stream *s[TAKE_MOST];
	size_t count, bytes;
};

static struct sq_file *
file_of(struct sq_walk *w, const struct sq_stream *s)
{
	return &w->image->file[s->file];
}

/* Blocks of which the image has nothing: they are zeros. */
static bool
is_hole(const struct sq_file *f, uint32_t k)
{
	return k < f->blocks && load_le32(f->sizes + 4 * (size_t)k) == 0;
}

/* Where the waiting block that is next stands; or NULL. */
static struct sq_buf **
find_next(struct sq_stream *s)
{
	for (struct sq_buf **p = &s->ready; *p != NULL; p = &(*p)->next)
		if ((*p)->block == s->next)
			return p;
	return NULL;
}

static bool
has_piece(struct sq_walk *w, struct sq_stream *s)
{
	const struct sq_file *f = file_of(w, s);

	if (s->left > 0)
		return true;
	if (s->next == f->blocks)
		return s->tail != NULL;
	return is_hole(f, s->next) || find_next(s) != NULL;
}

/* Giving: all under streams_lock */

static void
offer(struct sq_walk *w, struct sq_stream *s)
{
	if (s->busy || !has_piece(w, s))
		return;
	s->busy = true;
	s->queued = w->queues[s->owner].first;
	w->queues[s->owner].first = s;
	w->queues[s->owner].len++;
}

/* One that rests, or a new one, with its digest; NULL: no memory. */
static struct sq_stream *
new_stream(struct sq_walk *w)
{
	struct sq_stream *s = w->spare;

	if (s != NULL) {
		w->spare = s->queued;
		return s;
	}
	s = sys_calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	if (digest_new(&s->digest, w->o->digest) != 0) {
		sys_free(s);
		return NULL;
	}
	s->next_of_all = w->streams;
	w->streams = s;
	return s;
}

/* The stream of a file; NULL: there is none, and the walk ends. */
static struct sq_stream *
begin(struct sq_walk *w, unsigned me, uint32_t file, int64_t first_ns)
{
	struct sq_file *f = &w->image->file[file];
	struct sq_stream *s = f->stream;

	if (s != NULL)
		return s;
	s = new_stream(w);
	if (s == NULL) {
		sq_fail(w, -ENOMEM);
		return NULL;
	}
	s->file = file;
	s->next = 0;
	s->busy = s->ended = false;
	s->owner = me;
	s->first_ns = first_ns;
	s->err = digest_start(s->digest);
	f->stream = s;
	return s;
}

void
sq_stream_give(struct sq_walk *w, unsigned me, uint32_t file, uint32_t k,
    struct sq_buf *b, int64_t first_ns)
{
	struct sq_stream *s;

	pthread_mutex_lock(&w->streams_lock);
	s = begin(w, me, file, first_ns);
	if (s != NULL) {
		b->block = k;
		b->next = s->ready;
		s->ready = b;
		offer(w, s);
	}
	pthread_mutex_unlock(&w->streams_lock);
}

void
sq_stream_give_tails(struct sq_walk *w, unsigned me,
    const uint32_t *files, size_t count, struct sq_buf *b, int64_t first_ns)
{
	pthread_mutex_lock(&w->streams_lock);
	/* the queue gives back last what came first */
	for (size_t i = count; i-- > 0;) {
		struct sq_stream *s = begin(w, me, files[i], first_ns);

		if (s == NULL)
			break;
		s->tail = b;
		offer(w, s);
	}
	pthread_mutex_unlock(&w->streams_lock);
}

void
sq_stream_give_holes(struct sq_walk *w, unsigned me, uint32_t file)
{
	struct sq_stream *s;

	pthread_mutex_lock(&w->streams_lock);
	s = begin(w, me, file, -1);
	if (s != NULL)
		offer(w, s);
	pthread_mutex_unlock(&w->streams_lock);
}

/* Taking */

/* Puts the stream's next piece in hand, if it has none. */
static void
load(struct sq_walk *w, struct sq_stream *s)
{
	const struct sq_super *super = &w->image->super;
	const struct sq_file *f = file_of(w, s);
	size_t from = 0;

	if (s->left > 0)
		return;
	s->buf = NULL;
	if (s->next == f->blocks) {
		s->buf = s->tail;
		s->tail = NULL;
		s->ended = true;
		from = f->tail_at;
		s->left = sq_tail_len(super, f);
	} else if (is_hole(f, s->next)) {
		s->left = sq_block_len(super, f, s->next++);
	} else {
		struct sq_buf **p = find_next(s);

		s->buf = *p;
		*p = s->buf->next;
		s->left = sq_block_len(super, f, s->next++);
	}
	s->data = s->buf == NULL ? w->zeros : s->buf->data + from;
	if (s->err == 0 && s->buf != NULL)
		s->err = s->buf->err != 0 ? s->buf->err :
		    s->buf->len < from + s->left ? -EBADMSG : 0;
}

static struct sq_stream *
pop(struct sq_queue *q)
{
	struct sq_stream *s = q->first;

	q->first = s->queued;
	q->len--;
	return s;
}

/* From a queue, as long as it is worth while. */
static void
take_from(struct sq_walk *w, struct hand *h, struct sq_queue *q)
{
	unsigned lanes = digest_lanes(w->o->digest);

	while (q->len > 0 && h->count < TAKE_MOST &&
	    (h->count < lanes || h->bytes < TAKE_B)) {
		struct sq_stream *s = pop(q);

		load(w, s);
		h->bytes += s->left;
		h->s[h->count++] = s;
	}
}

static void
take(struct sq_walk *w, struct hand *h, unsigned me, bool all)
{
	unsigned threads = w->o->threads;

	h->count = h->bytes = 0;
	pthread_mutex_lock(&w->streams_lock);
	if (all || w->queues[me].len >= digest_lanes(w->o->digest))
		take_from(w, h, &w->queues[me]);
	for (unsigned i = 1; all && i < threads; i++)
		take_from(w, h, &w->queues[(me + i) % threads]);
	pthread_mutex_unlock(&w->streams_lock);
}

/* Hashing */

static void
hash(struct sq_walk *w, struct hand *h)
{
	struct digest_piece p[TAKE_MOST];
	struct sq_stream *of[TAKE_MOST];
	size_t n = 0, passed = h->bytes;
	int rc;

	for (size_t i = 0; i < h->count; i++) {
		struct sq_stream *s = h->s[i];

		if (s->err != 0) {
			s->left = 0;
			continue;
		}
		of[n] = s;
		p[n++] = (struct digest_piece){ s->digest, s->data, s->left };
	}
	rc = digest_add_some(p, n, n == 1);
	for (size_t i = 0; i < n; i++) {
		of[i]->err = rc;
		of[i]->data = p[i].data;
		of[i]->left = rc == 0 ? p[i].len : 0;
		passed -= of[i]->left;
	}
	if (w->o->progress != NULL)
		w->o->progress(w->o->arg, passed);
}

static bool
complete(struct sq_walk *w, const struct sq_stream *s)
{
	const struct sq_file *f = file_of(w, s);

	return s->left == 0 && s->next == f->blocks &&
	    (s->ended || sq_tail_len(&w->image->super, f) == 0);
}

/* Lets go of what is hashed, and tells of the files that end with it. */
static void
finish(struct sq_walk *w, struct hand *h, struct sq_teller *t)
{
	for (size_t i = 0; i < h->count; i++) {
		struct sq_stream *s = h->s[i];
		struct sq_outcome o = { .file = s->file, .err = s->err,
		    .first_ns = s->first_ns };

		if (s->left == 0 && s->buf != NULL)
			sq_buf_done(w, s->buf);
		if (!complete(w, s))
			continue;
		if (o.err == 0)
			o.err = digest_end(s->digest, o.digest);
		sq_rows_add(t, &o);
	}
}

/* Back to the queue, or, if it has ended, to rest. */
static void
put_back(struct sq_walk *w, struct hand *h)
{
	pthread_mutex_lock(&w->streams_lock);
	for (size_t i = 0; i < h->count; i++) {
		struct sq_stream *s = h->s[i];

		if (!complete(w, s)) {
			s->busy = false;
			offer(w, s);
		} else {
			s->queued = w->spare;
			w->spare = s;
		}
	}
	pthread_mutex_unlock(&w->streams_lock);
}

bool
sq_stream_hash(struct sq_teller *t, bool all)
{
	struct sq_walk *w = t->w;
	struct hand h;

	take(w, &h, t->me, all);
	if (h.count == 0)
		return false;
	hash(w, &h);
	finish(w, &h, t);
	put_back(w, &h);
	return true;
}

int
sq_stream_open(struct sq_walk *w)
{
	w->queues = sys_calloc(w->o->threads, sizeof(*w->queues));
	w->zeros = sys_calloc(1, w->image->super.block);
	return w->queues == NULL || w->zeros == NULL ? -ENOMEM : 0;
}

void
sq_stream_close(struct sq_walk *w)
{
	while (w->streams != NULL) {
		struct sq_stream *s = w->streams;

		w->streams = s->next_of_all;
		digest_free(s->digest);
		sys_free(s);
	}
	sys_free(w->queues);
	sys_free(w->zeros);
}

/*
 * stream.c - hashing the pieces of each file in order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread that unpacks a block passes its pieces to their streams.  A stream
 * whose next piece has arrived is put on a list of ready streams.  The thread
 * that takes the stream from the list hashes that piece, and puts the stream
 * back if the next piece has arrived.  So for a large file, one thread hashes
 * while all others unpack.
 *
 * Hashing several streams at a time is faster than hashing them one after the
 * other.  So streams are left on the list until there are as many as the digest
 * has lanes, or few buffers are free, or no other file is left; the rest of the
 * longest piece is also put back.  A stream is on the list of the thread that
 * passed its first piece.
 */
#include "stream.h"

#include "base/sys.h"

#include <errno.h>

enum {
	TAKE_MOST = 32,			/* maximum number of streams to take */
	TAKE_B = 256 << 10		/* maximum bytes once all lanes are
					 * used */
};

/* The streams that a thread has taken. */
struct hand {
	struct image_stream *s[TAKE_MOST];
	size_t count, bytes;
};

static struct image_file *
file_of(struct image_streams *w, const struct image_stream *s)
{
	return &w->image->file[s->file];
}

/* Returns whether the next blocks are not stored, and are thus zeros. */
static bool
is_hole(const struct image_streams *w, const struct image_file *f, uint32_t k)
{
	uint64_t at = f->start;

	return k < f->blocks &&
	    w->image->source->block(w->image, f, k, &at) == 0;
}

/* Returns the link to the next block in order if it is waiting, or NULL. */
static struct image_buffer **
find_next(struct image_stream *s)
{
	for (struct image_buffer **p = &s->ready; *p != NULL; p = &(*p)->next)
		if ((*p)->block == s->next)
			return p;
	return NULL;
}

/* Passing pieces to streams; all called with the lock held */

static void
offer_stream(struct image_streams *w, struct image_stream *s)
{
	const struct image_file *f = file_of(w, s);
	bool has_piece = s->left > 0;

	if (s->busy)
		return;
	if (!has_piece && s->next == f->blocks)
		has_piece = s->tail != NULL;
	else if (!has_piece)
		has_piece = is_hole(w, f, s->next) || find_next(s) != NULL;
	if (!has_piece)
		return;
	s->busy = true;
	s->queued = w->ready[s->owner].first;
	w->ready[s->owner].first = s;
	w->ready[s->owner].len++;
}

/*
 * Returns the stream of a file, which may be a spare one, or ends the walk and
 * returns NULL.
 */
static struct image_stream *
stream_of_file(struct image_streams *w, unsigned me, uint32_t file,
    int64_t first_ns)
{
	struct image_file *f = &w->image->file[file];
	struct image_stream *s = f->stream;

	if (s != NULL)
		return s;
	s = w->spare;
	if (s != NULL) {
		w->spare = s->queued;
	} else {
		s = sys_calloc(1, sizeof(*s));
		if (s == NULL || digest_new(&s->digest, w->o->digest) != 0) {
			sys_free(s);
			image_end(w->ending, -ENOMEM);
			return NULL;
		}
		s->next_of_all = w->all;
		w->all = s;
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
image_streams_give(struct image_streams *w, unsigned me, uint32_t file,
    uint32_t k, struct image_buffer *b, int64_t first_ns)
{
	struct image_stream *s;

	pthread_mutex_lock(&w->lock);
	s = stream_of_file(w, me, file, first_ns);
	if (s != NULL && b != NULL) {
		b->block = k;
		b->next = s->ready;
		s->ready = b;
	}
	if (s != NULL)
		offer_stream(w, s);
	pthread_mutex_unlock(&w->lock);
}

void
image_streams_give_tails(struct image_streams *w, unsigned me,
    const uint32_t *files, size_t count, struct image_buffer *b,
    int64_t first_ns)
{
	pthread_mutex_lock(&w->lock);
	/* the list is last in, first out */
	for (size_t i = count; i-- > 0;) {
		struct image_stream *s = stream_of_file(w, me, files[i],
		    first_ns);

		if (s == NULL)
			break;
		s->tail = b;
		offer_stream(w, s);
	}
	pthread_mutex_unlock(&w->lock);
}

/* Taking */

/* Makes the stream's next piece the current one, if it has none. */
static void
load_piece(struct image_streams *w, struct image_stream *s)
{
	const struct image *m = w->image;
	const struct image_file *f = file_of(w, s);
	size_t from = 0;

	if (s->left > 0)
		return;
	s->buf = NULL;
	if (s->next == f->blocks) {
		s->buf = s->tail;
		s->tail = NULL;
		s->ended = true;
		from = f->tail_at;
		s->left = image_tail_len(m, f);
	} else if (is_hole(w, f, s->next)) {
		s->left = image_block_len(m, f, s->next++);
	} else {
		struct image_buffer **p = find_next(s);

		s->buf = *p;
		*p = s->buf->next;
		s->left = image_block_len(m, f, s->next++);
	}
	s->data = s->buf == NULL ? w->zeros : s->buf->data + from;
	if (s->err == 0 && s->buf != NULL)
		s->err = s->buf->err != 0 ? s->buf->err :
		    s->buf->len < from + s->left ? -EBADMSG : 0;
}

/* Takes streams from a list, up to the limits above. */
static void
take_from(struct image_streams *w, struct hand *h, struct image_ready *q)
{
	unsigned lanes = digest_lanes(w->o->digest);

	while (q->len > 0 && h->count < TAKE_MOST &&
	    (h->count < lanes || h->bytes < TAKE_B)) {
		struct image_stream *s = q->first;

		q->first = s->queued;
		q->len--;
		load_piece(w, s);
		h->bytes += s->left;
		h->s[h->count++] = s;
	}
}

/* Hashing */

static bool
is_hashed(struct image_streams *w, const struct image_stream *s)
{
	const struct image_file *f = file_of(w, s);

	return s->left == 0 && s->next == f->blocks &&
	    (s->ended || image_tail_len(w->image, f) == 0);
}

bool
image_streams_hash(struct image_streams *w, unsigned me, bool all,
    image_finished_fn *finished, void *arg)
{
	unsigned threads = w->o->threads;
	struct digest_piece p[TAKE_MOST];
	struct image_stream *of[TAKE_MOST];
	struct hand h;
	size_t n = 0, passed;
	int rc;

	h.count = h.bytes = 0;
	pthread_mutex_lock(&w->lock);
	if (all || w->ready[me].len >= digest_lanes(w->o->digest))
		take_from(w, &h, &w->ready[me]);
	for (unsigned i = 1; all && i < threads; i++)
		take_from(w, &h, &w->ready[(me + i) % threads]);
	pthread_mutex_unlock(&w->lock);
	if (h.count == 0)
		return false;
	passed = h.bytes;
	for (size_t i = 0; i < h.count; i++) {
		struct image_stream *s = h.s[i];

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
	/* release the hashed pieces, and report the files that they complete */
	for (size_t i = 0; i < h.count; i++) {
		struct image_stream *s = h.s[i];
		struct image_outcome o = { .file = s->file, .err = s->err,
		    .first_ns = s->first_ns };

		if (s->left == 0 && s->buf != NULL)
			image_buffer_done(w->buffers, s->buf);
		if (!is_hashed(w, s))
			continue;
		if (o.err == 0)
			o.err = digest_end(s->digest, o.digest);
		finished(arg, &o);
	}
	/* a stream whose file has ended is spare */
	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < h.count; i++) {
		struct image_stream *s = h.s[i];

		if (!is_hashed(w, s)) {
			s->busy = false;
			offer_stream(w, s);
		} else {
			s->queued = w->spare;
			w->spare = s;
		}
	}
	pthread_mutex_unlock(&w->lock);
	return true;
}

int
image_streams_open(struct image_streams *w, struct image *m,
    struct image_buffers *b, struct image_ending *e,
    const struct walk_options *o)
{
	*w = (struct image_streams){ .image = m, .buffers = b, .ending = e,
	    .o = o };
	image_lock_init(&w->lock);
	w->ready = sys_calloc(o->threads, sizeof(*w->ready));
	w->zeros = sys_calloc(1, m->block_B);
	return w->ready == NULL || w->zeros == NULL ? -ENOMEM : 0;
}

void
image_streams_close(struct image_streams *w)
{
	while (w->all != NULL) {
		struct image_stream *s = w->all;

		w->all = s->next_of_all;
		digest_free(s->digest);
		sys_free(s);
	}
	sys_free(w->ready);
	sys_free(w->zeros);
	pthread_mutex_destroy(&w->lock);
}

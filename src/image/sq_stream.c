/*
 * sq_stream.c - a file's pieces, hashed in their order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Whoever brings the piece that is next hashes it, and then those that have
 * come meanwhile; whoever brings another leaves it there and goes on.  So a
 * large file keeps one thread hashing and all others unpacking.
 */
#include "sq_walk.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>

static struct sq_file *
file_of(struct sq_walk *w, const struct sq_stream *s)
{
	return &w->image->file[s->file];
}

/* Under streams_lock.  With a digest that rests, or a new one. */
static void
begin(struct sq_walk *w, struct sq_stream *s, uint32_t file)
{
	s->file = file;
	if (w->spare_count > 0)
		s->digest = w->spare[--w->spare_count];
	else
		s->err = digest_new(&s->digest, w->o->digest);
	if (s->err == 0)
		s->err = digest_start(s->digest);
}

static void
add(struct sq_walk *w, struct sq_stream *s, const uint8_t *p, size_t len)
{
	if (s->err == 0)
		s->err = digest_add(s->digest, p, len);
	if (w->o->progress != NULL)
		w->o->progress(w->o->arg, len);
}

/* Blocks of which the image has nothing: they are zeros. */
static bool
is_hole(const struct sq_file *f, uint32_t k)
{
	return k < f->blocks && load_le32(f->sizes + 4 * (size_t)k) == 0;
}

/* The waiting piece that is next, taken out; or NULL. */
static struct sq_buf *
take_ready(struct sq_stream *s)
{
	for (struct sq_buf **p = &s->ready; *p != NULL; p = &(*p)->next)
		if ((*p)->block == s->next) {
			struct sq_buf *b = *p;

			*p = b->next;
			return b;
		}
	return NULL;
}

enum step { NOTHING, HOLE, BLOCK, TAIL };

/* Under streams_lock: what can be hashed now. */
static enum step
next_step(struct sq_walk *w, struct sq_stream *s, struct sq_buf **b)
{
	const struct sq_file *f = file_of(w, s);

	*b = NULL;
	if (s->next == f->blocks) {
		*b = s->tail;
		s->tail = NULL;
		return *b != NULL ? TAIL : NOTHING;
	}
	if (is_hole(f, s->next))
		return HOLE;
	*b = take_ready(s);
	return *b != NULL ? BLOCK : NOTHING;
}

static void
do_step(struct sq_walk *w, struct sq_stream *s, enum step step,
    struct sq_buf *b)
{
	const struct sq_file *f = file_of(w, s);
	const struct sq_super *super = &w->image->super;
	size_t tail = sq_tail_len(super, f);

	if (step == HOLE) {
		/* there may be any number of them in a small image */
		if (!sq_ended(w))
			add(w, s, w->zeros, sq_block_len(super, f, s->next));
		return;
	}
	if (s->err == 0)
		s->err = b->err;
	if (s->err == 0 && step == BLOCK)
		add(w, s, b->data, b->len);
	else if (s->err == 0 && b->len < f->tail_at + tail)
		s->err = -EBADMSG;
	else if (s->err == 0)
		add(w, s, b->data + f->tail_at, tail);
	sq_buf_done(w, b);
}

static bool
complete(struct sq_walk *w, const struct sq_stream *s)
{
	const struct sq_file *f = file_of(w, s);

	return s->next == f->blocks &&
	    (s->ended || sq_tail_len(&w->image->super, f) == 0);
}

/* Its row; the digest rests until another file begins. */
static void
finish(struct sq_walk *w, struct sq_stream *s)
{
	struct sq_outcome o = { .file = s->file, .err = s->err,
	    .first_ns = s->first_ns };

	if (o.err == 0)
		o.err = digest_end(s->digest, o.digest);
	sq_rows_tell(w, &o, 1);
	pthread_mutex_lock(&w->streams_lock);
	if (s->digest != NULL)
		w->spare[w->spare_count++] = s->digest;
	s->digest = NULL;
	pthread_mutex_unlock(&w->streams_lock);
}

/* Under streams_lock, which is let go: hashes as long as there is a piece. */
static void
run(struct sq_walk *w, struct sq_stream *s)
{
	bool done = false;

	if (s->busy) {
		pthread_mutex_unlock(&w->streams_lock);
		return;
	}
	s->busy = true;
	while (!done) {
		struct sq_buf *b;
		enum step step = next_step(w, s, &b);

		if (step == NOTHING)
			break;
		pthread_mutex_unlock(&w->streams_lock);
		do_step(w, s, step, b);
		pthread_mutex_lock(&w->streams_lock);
		if (step == TAIL)
			s->ended = true;
		else
			s->next++;
		done = complete(w, s);
	}
	s->busy = done;
	pthread_mutex_unlock(&w->streams_lock);
	if (done)
		finish(w, s);
}

void
sq_stream_give(struct sq_walk *w, uint32_t file, uint32_t k,
    struct sq_buf *b, int64_t first_ns)
{
	struct sq_stream *s = &w->streams[w->image->file[file].stream];

	pthread_mutex_lock(&w->streams_lock);
	if (s->file == 0) {
		begin(w, s, file);
		s->first_ns = first_ns;
	}
	if (k == SQ_UNIT_FRAGMENT) {
		s->tail = b;
	} else if (b != NULL) {
		b->block = k;
		b->next = s->ready;
		s->ready = b;
	}
	run(w, s);
}

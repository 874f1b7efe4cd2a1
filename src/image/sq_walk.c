/*
 * sq_walk.c - every file of an image, by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread takes a buffer, then the next unit: a data block or a fragment
 * block.  In the other order the one who has the block that all wait for
 * might find no buffer left.  It reads and unpacks the block; the files that
 * are wholly in it are hashed on the spot, of others it is a piece.
 */
#include "sq_walk.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	POOL_B = 16 << 20,		/* of all buffers together, or so */
	POOL_MOST = 64,
	AHEAD_B = 8 << 20,		/* read ahead, in steps */
	STEP_B = 2 << 20,
	BATCH = 64			/* rows told at once */
};

/* Of one thread. */
struct worker {
	struct sq_walk *w;
	struct sq_codec *codec;
	struct digest *digest;
	uint8_t *packed;
	uint64_t stored_B;
	struct sq_outcome out[BATCH];
	size_t outs;
};

void
sq_fail(struct sq_walk *w, int err)
{
	int none = 0;

	atomic_compare_exchange_strong(&w->err, &none, err);
}

bool
sq_ended(struct sq_walk *w)
{
	if (w->o->cancel != NULL && atomic_load(w->o->cancel))
		sq_fail(w, -ECANCELED);
	return atomic_load(&w->err) != 0;
}

/* Buffers */

static int
pool_open(struct sq_pool *p, size_t block, unsigned threads)
{
	size_t count = POOL_B / block;

	if (count > POOL_MOST)
		count = POOL_MOST;
	if (count < 2 * (size_t)threads + 2)
		count = 2 * (size_t)threads + 2;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->freed, NULL);
	p->all = sys_calloc(count, sizeof(*p->all));
	if (p->all == NULL)
		return -ENOMEM;
	for (; p->count < count; p->count++) {
		struct sq_buf *b = &p->all[p->count];

		b->data = sys_malloc(block);
		if (b->data == NULL)
			return -ENOMEM;
		b->next = p->free;
		p->free = b;
	}
	return 0;
}

static void
pool_close(struct sq_pool *p)
{
	for (unsigned i = 0; i < p->count; i++)
		sys_free(p->all[i].data);
	sys_free(p->all);
	pthread_cond_destroy(&p->freed);
	pthread_mutex_destroy(&p->lock);
}

static struct sq_buf *
pool_take(struct sq_pool *p)
{
	struct sq_buf *b;

	pthread_mutex_lock(&p->lock);
	while (p->free == NULL)
		pthread_cond_wait(&p->freed, &p->lock);
	b = p->free;
	p->free = b->next;
	b->users = 1;
	b->len = 0;
	b->err = 0;
	pthread_mutex_unlock(&p->lock);
	return b;
}

void
sq_buf_use(struct sq_walk *w, struct sq_buf *b)
{
	pthread_mutex_lock(&w->pool.lock);
	b->users++;
	pthread_mutex_unlock(&w->pool.lock);
}

void
sq_buf_done(struct sq_walk *w, struct sq_buf *b)
{
	pthread_mutex_lock(&w->pool.lock);
	if (--b->users == 0) {
		b->next = w->pool.free;
		w->pool.free = b;
		pthread_cond_signal(&w->pool.freed);
	}
	pthread_mutex_unlock(&w->pool.lock);
}

/* Blocks */

/* Asks the kernel for what comes next, a step at a time. */
static void
read_ahead(struct sq_walk *w, uint64_t at)
{
	const struct sq_super *s = &w->image->super;
	unsigned long long from = atomic_load(&w->advised);
	uint64_t to = at + AHEAD_B;

	if (to < from + STEP_B || !atomic_compare_exchange_strong(&w->advised,
	    &from, to))
		return;
	if (from < at)
		from = at;
	if (from < s->length)
		posix_fadvise(s->fd, (off_t)(s->offset + from),
		    (off_t)(to - from), POSIX_FADV_WILLNEED);
}

/*
 * The block at a place of the image, of which its size word tells; want: its
 * unpacked bytes, 0 if that is not known.  NULL, or what is wrong with it.
 */
static const char *
read_block(struct worker *k, uint64_t at, uint32_t word, size_t want,
    struct sq_buf *b)
{
	const struct sq_super *s = &k->w->image->super;
	size_t n = word & (SQ_STORED - 1);
	size_t cap = want != 0 ? want : s->block;
	bool stored = (word & SQ_STORED) != 0;
	int64_t made = (int64_t)n;

	b->err = -EBADMSG;
	if (n == 0 || n > s->block || word >= 2 * SQ_STORED ||
	    (stored && n > cap))
		return "its size is none";
	read_ahead(k->w, at);
	b->err = sq_read(s, at, stored ? b->data : k->packed, n);
	if (b->err != 0)
		return b->err == -ENODATA ? "the image ends before it" :
		    "it cannot be read";
	k->stored_B += n;
	if (!stored)
		made = sq_codec_unpack(k->codec, k->packed, n, b->data, cap);
	if (made == -ENOMEM)
		sq_fail(k->w, -ENOMEM);
	b->err = made < 0 ? (int)made : -EBADMSG;
	if (made < 0)
		return "it cannot be unpacked";
	if (want != 0 && (size_t)made != want)
		return "it is too short";
	b->err = 0;
	b->len = (size_t)made;
	return NULL;
}

/* Rows */

static void
tell(struct worker *k)
{
	if (k->outs > 0)
		sq_rows_tell(k->w, k->out, k->outs);
	k->outs = 0;
}

/* A file that is in one piece: at p, or lost. */
static void
hash_whole(struct worker *k, uint32_t file, const uint8_t *p, size_t len,
    int err, int64_t first_ns)
{
	struct sq_outcome *o = &k->out[k->outs++];

	o->file = file;
	o->err = err;
	o->first_ns = first_ns;
	if (err == 0)
		o->err = digest_once(k->digest, p, len, o->digest);
	if (k->w->o->progress != NULL)
		k->w->o->progress(k->w->o->arg, len);
	if (k->outs == BATCH)
		tell(k);
}

/* Units */

static void
do_block(struct worker *k, const struct sq_unit *u, struct sq_buf *b)
{
	struct sq_walk *w = k->w;
	const struct sq_file *f = &w->image->file[u->index];
	size_t want = sq_block_len(&w->image->super, f, u->block);
	uint64_t t0 = sys_now_ns();
	const char *bad = read_block(k, u->at,
	    load_le32(f->sizes + 4 * (size_t)u->block), want, b);
	int64_t took = (int64_t)(sys_now_ns() - t0);

	if (bad != NULL)
		sq_rows_damage(w, u->index, u->at, bad);
	if (f->stream != 0) {
		sq_stream_give(w, u->index, u->block, b, took);
		return;
	}
	hash_whole(k, u->index, b->data, want, b->err, took);
	sq_buf_done(w, b);
}

static void
do_fragment(struct worker *k, const struct sq_unit *u, struct sq_buf *b)
{
	struct sq_walk *w = k->w;
	const struct sq_super *s = &w->image->super;
	uint64_t t0 = sys_now_ns();
	const char *bad = read_block(k, u->at,
	    w->image->fragments[u->index].size, 0, b);
	int64_t took = (int64_t)(sys_now_ns() - t0);

	for (size_t i = w->plan.from[u->index];
	    i < w->plan.from[u->index + (size_t)1]; i++) {
		uint32_t file = w->plan.tails[i];
		const struct sq_file *f = &w->image->file[file];
		size_t len = sq_tail_len(s, f);
		const char *why = bad == NULL && b->len < f->tail_at + len ?
		    "it ends before the file does" : bad;

		if (why != NULL)
			sq_rows_damage(w, file, u->at, why);
		if (f->stream != 0) {
			sq_buf_use(w, b);
			sq_stream_give(w, file, SQ_UNIT_FRAGMENT, b, took);
		} else {
			hash_whole(k, file, b->data + f->tail_at, len,
			    why == NULL ? 0 : b->err != 0 ? b->err : -EBADMSG,
			    took);
		}
	}
	sq_buf_done(w, b);
}

static void
do_unit(struct worker *k, const struct sq_unit *u, struct sq_buf *b)
{
	if (u->block == SQ_UNIT_FRAGMENT) {
		do_fragment(k, u, b);
	} else if (u->block == SQ_UNIT_HOLES) {
		sq_buf_done(k->w, b);
		sq_stream_give(k->w, u->index, u->block, NULL, -1);
	} else {
		do_block(k, u, b);
	}
}

static int
worker_open(struct worker *k, struct sq_walk *w)
{
	int rc;

	*k = (struct worker){ .w = w };
	rc = sq_codec_open(&k->codec, w->image->super.compressor);
	if (rc == 0)
		rc = digest_new(&k->digest, w->o->digest);
	if (rc == 0)
		k->packed = sys_malloc(w->image->super.block);
	return rc == 0 && k->packed == NULL ? -ENOMEM : rc;
}

static void
worker_close(struct worker *k)
{
	sq_codec_close(k->codec);
	digest_free(k->digest);
	sys_free(k->packed);
}

static void
work(void *arg, unsigned i)
{
	struct sq_walk *w = arg;
	struct worker k;
	int rc = worker_open(&k, w);

	(void)i;
	if (rc != 0)
		sq_fail(w, rc);
	while (!sq_ended(w)) {
		struct sq_buf *b = pool_take(&w->pool);
		size_t at = atomic_fetch_add(&w->ticket, 1);

		if (at >= w->plan.count) {
			sq_buf_done(w, b);
			break;
		}
		do_unit(&k, &w->plan.units[at], b);
	}
	tell(&k);
	pthread_mutex_lock(&w->lock);
	w->r->stored_B += k.stored_B;
	pthread_mutex_unlock(&w->lock);
	worker_close(&k);
}

/* The whole */

static int
walk_open(struct sq_walk *w)
{
	int rc = sq_plan_make(&w->plan, w->image);

	if (rc != 0)
		return rc;
	w->streams = sys_calloc(w->plan.streams, sizeof(*w->streams));
	w->spare = sys_calloc(w->plan.streams, sizeof(*w->spare));
	w->zeros = sys_calloc(1, w->image->super.block);
	if (w->streams == NULL || w->spare == NULL || w->zeros == NULL)
		return -ENOMEM;
	return pool_open(&w->pool, w->image->super.block, w->o->threads);
}

static void
walk_close(struct sq_walk *w)
{
	for (uint32_t i = 0; w->streams != NULL && i < w->plan.streams; i++)
		digest_free(w->streams[i].digest);
	for (size_t i = 0; i < w->spare_count; i++)
		digest_free(w->spare[i]);
	if (w->pool.count > 0)
		pool_close(&w->pool);
	sys_free(w->streams);
	sys_free(w->spare);
	sys_free(w->zeros);
	sys_free(w->path);
	sys_free(w->other);
	sq_plan_free(&w->plan);
	pthread_mutex_destroy(&w->streams_lock);
	pthread_mutex_destroy(&w->lock);
}

static int
walk_files(struct sq_walk *w)
{
	const struct walk_options *o = w->o;
	int rc;

	w->path = sys_malloc(SQ_PATH_MAX);
	w->other = sys_malloc(SQ_PATH_MAX);
	if (w->path == NULL || w->other == NULL)
		return -ENOMEM;
	rc = sq_rows_select(w);
	if (rc == 0)
		rc = walk_open(w);
	if (rc != 0)
		return rc;
	if (o->plan != NULL)
		o->plan(o->arg, w->plan.files, w->plan.bytes);
	rc = sq_rows_rest(w);
	if (rc == 0)
		sq_parallel(o->threads, work, w);
	return rc != 0 ? rc : atomic_load(&w->err);
}

static int
walk_image(int fd, uint64_t offset, const struct walk_options *o,
    struct walk_result *r, const char **why)
{
	struct sq_image m;
	struct sq_walk w = { .image = &m, .o = o, .r = r };
	int rc;

	*r = (struct walk_result){ 0 };
	*why = NULL;
	pthread_mutex_init(&w.lock, NULL);
	pthread_mutex_init(&w.streams_lock, NULL);
	rc = sq_image_open(&m, fd, offset, o->threads, why);
	if (rc == 0)
		rc = sq_tree_read(&m, why);
	if (rc == 0)
		rc = walk_files(&w);
	walk_close(&w);
	sq_image_close(&m);
	return rc;
}

const struct walk_source walk_squashfs = { .name = "squashfs",
    .probe = sq_probe, .walk = walk_image };

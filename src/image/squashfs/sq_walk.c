/*
 * sq_walk.c - every file of an image, by several threads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A thread takes a buffer, then the next unit: a data block or a fragment
 * block.  In the other order the one who has the block that all wait for
 * might find no buffer left.  It reads and unpacks the block, leaves it to
 * the files that have a part in it, and hashes what can be hashed.
 */
#include "sq_walk.h"

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* Of one thread. */
struct worker {
	struct sq_walk *w;
	struct sq_codec *codec;
	unsigned me;
	struct sq_teller *rows;
	uint8_t *packed;
	uint64_t stored_B;
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
		return "its stored size is 0, or larger than a block";
	b->err = sq_read(s, at, stored ? b->data : k->packed, n);
	if (b->err != 0)
		return b->err == -ENODATA ? "the file ends before it does" :
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
		return "it unpacks to less than the file needs";
	b->err = 0;
	b->len = (size_t)made;
	return NULL;
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
	sq_stream_give(w, k->me, u->index, u->block, b, took);
}

/* Tells of each file that is not all there. */
static void
check_tails(struct sq_walk *w, const struct sq_unit *u, const struct sq_buf *b,
    const uint32_t *files, size_t count, const char *bad)
{
	for (size_t i = 0; i < count; i++) {
		const struct sq_file *f = &w->image->file[files[i]];
		const char *why = bad == NULL && b->len < f->tail_at +
		    sq_tail_len(&w->image->super, f) ?
		    "it ends before the file does" : bad;

		if (why != NULL)
			sq_rows_damage(w, files[i], u->at, why);
	}
}

static void
do_fragment(struct worker *k, const struct sq_unit *u, struct sq_buf *b)
{
	struct sq_walk *w = k->w;
	const size_t *from = &w->plan.from[u->index];
	const uint32_t *files = &w->plan.tails[from[0]];
	size_t count = from[1] - from[0];
	uint64_t t0 = sys_now_ns();
	const char *bad = read_block(k, u->at,
	    w->image->fragments[u->index].size, 0, b);
	int64_t took = (int64_t)(sys_now_ns() - t0);

	check_tails(w, u, b, files, count, bad);
	sq_buf_use(b, (unsigned)count - 1);
	sq_stream_give_tails(w, k->me, files, count, b, took);
}

static void
do_unit(struct worker *k, const struct sq_unit *u, struct sq_buf *b)
{
	if (u->block == SQ_UNIT_FRAGMENT) {
		do_fragment(k, u, b);
	} else if (u->block == SQ_UNIT_HOLES) {
		sq_buf_done(k->w, b);
		sq_stream_give_holes(k->w, k->me, u->index);
	} else {
		do_block(k, u, b);
	}
}

static int
worker_open(struct worker *k, struct sq_walk *w, unsigned me)
{
	int rc;

	*k = (struct worker){ .w = w, .me = me };
	rc = sq_codec_open(&k->codec, w->image->super.compressor);
	if (rc != 0)
		return rc;
	k->packed = sys_malloc(w->image->super.block);
	k->rows = sys_malloc(sizeof(*k->rows));
	if (k->packed == NULL || k->rows == NULL)
		return -ENOMEM;
	k->rows->w = w;
	k->rows->me = me;
	k->rows->count = 0;
	return 0;
}

static void
worker_close(struct worker *k)
{
	sq_codec_close(k->codec);
	sys_free(k->rows);
	sys_free(k->packed);
}

/* If there is none left, hashing gives one back. */
static struct sq_buf *
take_buffer(struct worker *k)
{
	struct sq_buf *b = sq_buf_take(k->w, k->me);

	while (b == NULL && !sq_ended(k->w))
		b = sq_stream_hash(k->rows, true) ?
		    sq_buf_take(k->w, k->me) : sq_buf_wait(k->w, k->me);
	return b;
}

/* False: there is no more, or the walk has ended. */
static bool
work_unit(struct worker *k)
{
	struct sq_buf *b = take_buffer(k);
	const struct sq_unit *u;
	bool alone;

	if (b == NULL)
		return false;
	u = sq_deal_take(k->w, k->me, &alone);
	if (u == NULL) {
		sq_buf_done(k->w, b);
		return false;
	}
	do_unit(k, u, b);
	while (!sq_ended(k->w) &&
	    sq_stream_hash(k->rows, alone || sq_buf_few(k->w)))
		continue;
	return !sq_ended(k->w);
}

static void
work(void *arg, unsigned i)
{
	struct sq_walk *w = arg;
	struct worker k;
	int rc = worker_open(&k, w, i);

	if (rc != 0)
		sq_fail(w, rc);
	while (rc == 0 && work_unit(&k))
		continue;
	while (!sq_ended(w) && sq_stream_hash(k.rows, true))
		continue;
	sq_buf_wake(w);
	if (rc == 0)
		sq_rows_flush(k.rows);
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

	if (rc == 0)
		rc = sq_deal_open(w);
	if (rc == 0)
		rc = sq_stream_open(w);
	return rc != 0 ? rc : sq_pool_open(&w->pool, w->image->super.block,
	    w->o->threads);
}

static void
walk_close(struct sq_walk *w)
{
	sq_stream_close(w);
	sq_deal_close(w);
	if (w->pool.all != NULL)
		sq_pool_close(&w->pool);
	sys_free(w->path);
	sys_free(w->other);
	sq_plan_free(&w->plan);
	pthread_mutex_destroy(&w->deal.lock);
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
		parallel_run(o->threads, work, w);
	return rc != 0 ? rc : atomic_load(&w->err);
}

/* They are held so shortly that it is cheaper to look again than to sleep. */
static void
init_locks(struct sq_walk *w)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
#ifdef __GLIBC__
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ADAPTIVE_NP);
#endif
	pthread_mutex_init(&w->lock, &a);
	pthread_mutex_init(&w->streams_lock, &a);
	pthread_mutex_init(&w->deal.lock, &a);
	pthread_mutexattr_destroy(&a);
}

static int
tell_table(void *arg, uint64_t at, const char *reason)
{
	struct sq_walk *w = arg;

	sq_rows_table(w, at, reason);
	return atomic_load(&w->err);
}

static int
check(struct sq_walk *w)
{
	struct sq_codec *c;
	int rc = sq_codec_open(&c, w->image->super.compressor);

	if (rc != 0)
		return rc;
	rc = sq_check(&w->image->super, c, tell_table, w);
	sq_codec_close(c);
	return rc;
}

static int
walk_image(int fd, uint64_t offset, const struct walk_options *o,
    struct walk_result *r, const char **why)
{
	struct sq_memory memory = { .left = o->memory_left };
	struct sq_image m = { .super.memory =
	    memory.left == NULL ? NULL : &memory };
	struct walk_options mine = *o;
	struct sq_walk w = { .image = &m, .o = &mine, .r = r };
	int rc;

	*r = (struct walk_result){ 0 };
	*why = NULL;
	init_locks(&w);
	rc = sq_image_open(&m, fd, offset, o->threads, why);
	if (rc == 0)
		rc = check(&w);
	if (rc == 0)
		rc = sq_tree_read(&m, why);
	if (rc == 0) {
		mine.threads = sq_pool_threads(&m.super, o->threads);
		rc = walk_files(&w);
	}
	if (rc == -EDQUOT)
		*why = "its tables, names and rows take more memory than is "
		    "allowed";
	walk_close(&w);
	sq_image_close(&m);
	sq_give(&m.super, memory.taken);
	return rc;
}

const struct walk_source walk_squashfs = { .name = "squashfs",
    .probe = sq_probe, .find = sq_find, .walk = walk_image };

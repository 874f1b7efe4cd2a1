/*
 * sq_walk.c - every file of a squashfs image, read and hashed in parallel
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A ticket is a run of blocks of one file, or a fragment; tickets are given
 * out in the order of the image.  A thread takes a buffer first and then a
 * ticket.  (The other way round, the one with the next block of a file could
 * wait for a buffer that only this block would free.)
 *
 * Files that lie whole in a fragment or in one ticket are hashed by whoever
 * unpacked them, straight out of the buffer.  Any other has a chain: each
 * thread adds its buffer, and the one that finds nobody at work hashes all
 * that is in turn, while the others go on unpacking.  What a chain waits for
 * has an earlier ticket, hence a buffer, so the pool cannot run dry for good.
 */
#include "sq_walk.h"

#include "bytes.h"
#include "sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
	BUF_MIN = 128 << 10,
	POOL_B = 24 << 20,
	AHEAD_B = 8 << 20,
	THREADS_MAX = 256,
};

/* What one ticket is for. */
struct unit {
	struct sq_data *d;		/* NULL: of a fragment */
	uint32_t fragment;
	uint32_t first, count;		/* blocks */
	uint64_t offset;
	uint32_t len;			/* in the image */
	uint64_t ahead;			/* to be read ahead, or 0 */
};

struct worker {
	struct sq_walk *w;
	struct sq_rows rows;
	struct digest *digest;
	void *codec;
	uint8_t *in;
	uint32_t done;			/* data to be told of, or nil */
	uint64_t read_B, stored_B;
};

void
sq_walk_fail(struct sq_walk *w, int rc)
{
	int none = 0;

	atomic_compare_exchange_strong(&w->err, &none, rc);
	w->stop = true;
}

/* Unpacked bytes of block i. */
static uint32_t
block_len(const struct sq_walk *w, const struct sq_data *d, uint32_t i)
{
	uint64_t left = d->size - ((uint64_t)i << w->q->super.block_log);

	return left < w->q->super.block_B ? (uint32_t)left :
	    w->q->super.block_B;
}

static uint32_t
packed_len(uint32_t word)
{
	return word & (SQUASHFS_BLOCK_RAW - 1);
}

static bool
good_word(const struct sq_walk *w, uint32_t word)
{
	return packed_len(word) <= w->q->super.block_B && word >> 25 == 0;
}

/* As many blocks from w->block on as fill a buffer. */
static void
take_blocks(struct sq_walk *w, struct sq_data *d, struct unit *u)
{
	uint64_t out = 0;

	*u = (struct unit){ .d = d, .first = w->block, .offset = w->at };
	while (w->block < d->block_count) {
		uint32_t word = load_le32(d->blocks + 4 * (size_t)w->block);
		bool good = good_word(w, word);

		out += block_len(w, d, w->block);
		if (u->count > 0 && (out > w->buf_B || !good))
			break;
		w->block++;
		w->at += packed_len(word);
		u->count++;
		u->len += packed_len(word);
		/* such a one is alone, since its bytes have no room */
		if (!good)
			break;
	}
	if (w->block == d->block_count) {
		w->block = 0;
		w->item++;
	}
}

/* The next ticket, under the lock.  False: there is none. */
static bool
next_unit(struct sq_walk *w, struct unit *u)
{
	const struct sq_item *item = &w->tree.items[w->item];

	if (w->item == w->tree.item_count)
		return false;
	if (item->is_fragment) {
		*u = (struct unit){ .fragment = item->index };
		w->item++;
		return true;
	}
	if (w->block == 0)
		w->at = w->tree.datas[item->index].start;
	take_blocks(w, &w->tree.datas[item->index], u);
	if (u->offset + AHEAD_B > w->advised && u->offset < w->q->length) {
		u->ahead = u->offset + AHEAD_B;
		w->advised = u->ahead + AHEAD_B;
	}
	return true;
}

static const char *
read_reason(int rc)
{
	return rc == -EBADMSG ? "a block is beyond the end of the image" :
	    "a block cannot be read";
}

/*
 * One block into dst, of which the bytes lie at src, or at offset if that is
 * NULL.  The unpacked length, or -errno with *reason.
 */
static ssize_t
get_block(struct worker *k, uint32_t word, uint64_t offset,
    const uint8_t *src, uint8_t *dst, size_t cap, const char **reason)
{
	struct sq_walk *w = k->w;
	uint32_t len = packed_len(word);
	bool raw = (word & SQUASHFS_BLOCK_RAW) != 0;
	ssize_t n;
	int rc;

	*reason = "the length of a block is impossible";
	if (!good_word(w, word) || (raw && len > cap))
		return -EBADMSG;
	if (src == NULL) {
		src = raw ? dst : k->in;
		k->stored_B += len;
		rc = sq_read(w->q, raw ? dst : k->in, len, offset);
		*reason = read_reason(rc);
		if (rc != 0)
			return rc;
	}
	if (raw) {
		if (src != dst)
			memcpy(dst, src, len);
		return len;
	}
	*reason = "a block is damaged";
	n = w->q->codec->unpack(k->codec, src, len, dst, cap);
	if (n == -ENOMEM)
		sq_walk_fail(w, -ENOMEM);
	return n;
}

/* All blocks of a unit, one behind the other. */
static void
get_blocks(struct worker *k, const struct unit *u, struct sq_buf *b)
{
	struct sq_data *d = u->d;
	uint32_t at = 0;
	bool whole = u->count > 1 &&
	    sq_read(k->w->q, k->in, u->len, u->offset) == 0;

	if (whole)
		k->stored_B += u->len;
	b->len = 0;
	for (uint32_t i = u->first; i < u->first + u->count; i++) {
		uint32_t word = load_le32(d->blocks + 4 * (size_t)i);
		uint32_t want = block_len(k->w, d, i);
		uint8_t *dst = b->data + b->len;
		const char *reason;
		ssize_t n;

		if (word == 0)
			memset(dst, 0, want);
		else {
			n = get_block(k, word, u->offset + at,
			    whole ? k->in + at : NULL, dst, want, &reason);
			if (n >= 0 && n != want)
				reason = "a block is shorter than its place";
			if (n != want)
				sq_rows_bad(&k->rows, d, u->offset + at,
				    n < 0 ? (int)n : -EBADMSG, reason);
		}
		at += packed_len(word);
		b->len += want;
	}
}

static void
add_done(struct worker *k, struct sq_data *d)
{
	d->next_done = k->done;
	k->done = (uint32_t)(d - k->w->tree.datas);
}

static void
hash_whole(struct worker *k, struct sq_data *d, const uint8_t *p, size_t len)
{
	if (d->err == 0 && digest_once(k->digest, p, len, d->digest) != 0)
		d->err = -EIO;
	add_done(k, d);
}

static void
drop(struct sq_walk *w, struct sq_buf *b)
{
	if (b != NULL && --b->users == 0)
		sq_pool_put(&w->pool, b);
}

/* The chain of d, under the lock; NULL: no memory. */
static struct sq_chain *
chain_of(struct sq_walk *w, struct sq_data *d)
{
	struct sq_chain *c = d->chain;

	if (c != NULL)
		return c;
	c = w->chains;
	if (c != NULL)
		w->chains = c->free;
	else {
		c = sys_calloc(1, sizeof(*c));
		if (c == NULL)
			return NULL;
		if (digest_new(&c->digest, w->o->digest) != 0) {
			sys_free(c);
			return NULL;
		}
	}
	*c = (struct sq_chain){ .digest = c->digest };
	c->tail_known = d->fragment == SQUASHFS_NONE;
	d->chain = c;
	return c;
}

/* By its owner, without the lock. */
static void
hash_part(struct sq_data *d, bool first, const uint8_t *p, size_t len)
{
	int rc = 0;

	if (d->err != 0)
		return;
	if (first)
		rc = digest_start(d->chain->digest);
	if (rc == 0)
		rc = digest_add(d->chain->digest, p, len);
	if (rc != 0)
		d->err = rc;
}

/* By its owner, without the lock: all blocks are hashed. */
static void
finish_chain(struct worker *k, struct sq_data *d)
{
	struct sq_walk *w = k->w;
	struct sq_chain *c = d->chain;

	if (c->tail != NULL)
		hash_part(d, false, c->tail->data + d->fragment_offset,
		    sq_data_tail(w->q, d));
	if (d->err == 0 && digest_end(c->digest, d->digest) != 0)
		d->err = -EIO;
	add_done(k, d);
	pthread_mutex_lock(&w->lock);
	drop(w, c->tail);
	d->chain = NULL;
	c->free = w->chains;
	w->chains = c;
	pthread_mutex_unlock(&w->lock);
}

/* Hashes what is in turn, unless somebody does.  Gives up the lock. */
static void
run_chain(struct worker *k, struct sq_data *d)
{
	struct sq_walk *w = k->w;
	struct sq_chain *c = d->chain;
	struct sq_buf *b;
	bool end;

	if (c->busy) {
		pthread_mutex_unlock(&w->lock);
		return;
	}
	c->busy = true;
	while ((b = c->pending) != NULL && b->first == c->next) {
		c->pending = b->next;
		pthread_mutex_unlock(&w->lock);
		hash_part(d, b->first == 0, b->data, b->len);
		pthread_mutex_lock(&w->lock);
		c->next += b->count;
		drop(w, b);
	}
	end = c->next == d->block_count && c->tail_known;
	c->busy = end;
	pthread_mutex_unlock(&w->lock);
	if (end)
		finish_chain(k, d);
}

static void
add_to_chain(struct worker *k, const struct unit *u, struct sq_buf *b)
{
	struct sq_walk *w = k->w;
	struct sq_chain *c;
	struct sq_buf **p;

	b->first = u->first;
	b->count = u->count;
	pthread_mutex_lock(&w->lock);
	c = chain_of(w, u->d);
	if (c == NULL) {
		drop(w, b);
		pthread_mutex_unlock(&w->lock);
		sq_walk_fail(w, -ENOMEM);
		return;
	}
	for (p = &c->pending; *p != NULL && (*p)->first < b->first;)
		p = &(*p)->next;
	b->next = *p;
	*p = b;
	run_chain(k, u->d);
}

static void
put_back(struct sq_walk *w, struct sq_buf *b)
{
	pthread_mutex_lock(&w->lock);
	drop(w, b);
	pthread_mutex_unlock(&w->lock);
}

static void
do_blocks(struct worker *k, const struct unit *u, struct sq_buf *b)
{
	struct sq_data *d = u->d;
	uint64_t asked = sys_now_ns();

	get_blocks(k, u, b);
	if (u->first == 0 && d->block_count > 0)
		d->first_ns = (int64_t)(sys_now_ns() - asked);
	k->read_B += b->len;
	if (k->w->o->progress != NULL)
		k->w->o->progress(k->w->o->arg, b->len);
	if (u->count == d->block_count && d->fragment == SQUASHFS_NONE) {
		hash_whole(k, d, b->data, b->len);
		put_back(k->w, b);
	} else
		add_to_chain(k, u, b);
}

/* The tail of a file that has blocks, too; b is NULL if it is bad. */
static void
add_tail(struct worker *k, struct sq_data *d, struct sq_buf *b)
{
	struct sq_walk *w = k->w;
	struct sq_chain *c;

	pthread_mutex_lock(&w->lock);
	c = chain_of(w, d);
	if (c == NULL) {
		pthread_mutex_unlock(&w->lock);
		sq_walk_fail(w, -ENOMEM);
		return;
	}
	c->tail = b;
	c->tail_known = true;
	if (b != NULL)
		b->users++;
	run_chain(k, d);
}

static ssize_t
get_fragment(struct worker *k, const struct unit *u, struct sq_buf *b,
    uint64_t *start, const char **reason)
{
	uint32_t word;

	*start = k->w->q->super.fragment_start;
	*reason = "the entry of a fragment cannot be read";
	if (squashfs_fragment(k->w->q, u->fragment, start, &word) != 0)
		return -EBADMSG;
	return get_block(k, word, *start, NULL, b->data,
	    k->w->q->super.block_B, reason);
}

static void
do_fragment(struct worker *k, const struct unit *u, struct sq_buf *b)
{
	struct sq_tree *t = &k->w->tree;
	uint64_t asked = sys_now_ns(), start, bytes = 0;
	const char *reason;
	ssize_t n = get_fragment(k, u, b, &start, &reason);
	int64_t took = (int64_t)(sys_now_ns() - asked);
	uint32_t next;

	for (uint32_t i = t->fragments[u->fragment]; i != SQ_NIL; i = next) {
		struct sq_data *d = &t->datas[i];
		uint32_t tail = sq_data_tail(k->w->q, d);
		bool bad = n < 0 ||
		    (uint64_t)d->fragment_offset + tail > (uint64_t)n;

		next = d->next;
		bytes += tail;
		if (bad)
			sq_rows_bad(&k->rows, d, start,
			    n < 0 ? (int)n : -EBADMSG, n < 0 ? reason :
			    "a fragment is shorter than what is to be in it");
		if (d->block_count > 0)
			add_tail(k, d, bad ? NULL : b);
		else {
			d->first_ns = took;
			hash_whole(k, d, b->data + (bad ? 0 :
			    d->fragment_offset), tail);
		}
	}
	k->read_B += bytes;
	if (k->w->o->progress != NULL)
		k->w->o->progress(k->w->o->arg, bytes);
	put_back(k->w, b);
}

static void
tell_done(struct worker *k)
{
	if (k->done == SQ_NIL)
		return;
	pthread_mutex_lock(&k->w->rows);
	for (; k->done != SQ_NIL;) {
		const struct sq_data *d = &k->w->tree.datas[k->done];

		sq_rows_data(&k->rows, d);
		k->done = d->next_done;
	}
	pthread_mutex_unlock(&k->w->rows);
}

/* A buffer and then a ticket.  NULL: there is no more to do. */
static struct sq_buf *
get_work(struct sq_walk *w, struct unit *u)
{
	struct sq_buf *b;

	if (w->o->cancel != NULL && *w->o->cancel)
		sq_walk_fail(w, -ECANCELED);
	pthread_mutex_lock(&w->lock);
	b = w->item == w->tree.item_count ? NULL :
	    sq_pool_get(&w->pool, &w->lock, &w->stop);
	if (b != NULL) {
		b->users = 1;
		if (!next_unit(w, u)) {
			drop(w, b);
			b = NULL;
		}
	} else if (w->item < w->tree.item_count)
		/* no memory, if it is not the end anyway */
		sq_walk_fail(w, -ENOMEM);
	/* those that wait for a buffer are to see why there is none */
	if (b == NULL)
		pthread_cond_broadcast(&w->pool.some);
	pthread_mutex_unlock(&w->lock);
	return b;
}

static void
work(struct worker *k)
{
	struct sq_walk *w = k->w;
	struct unit u;
	struct sq_buf *b;

	while ((b = get_work(w, &u)) != NULL) {
		if (u.ahead != 0)
			posix_fadvise(w->q->fd,
			    (off_t)(w->q->offset + u.ahead), AHEAD_B,
			    POSIX_FADV_WILLNEED);
		if (u.d != NULL)
			do_blocks(k, &u, b);
		else
			do_fragment(k, &u, b);
		tell_done(k);
	}
}

static int
worker_open(struct worker *k, struct sq_walk *w)
{
	int rc;

	*k = (struct worker){ .w = w, .rows = { .w = w }, .done = SQ_NIL };
	k->in = sys_malloc(w->buf_B);
	if (k->in == NULL)
		return -ENOMEM;
	rc = digest_new(&k->digest, w->o->digest);
	if (rc != 0)
		sys_free(k->in);
	else if ((rc = w->q->codec->open(&k->codec)) != 0) {
		digest_free(k->digest);
		sys_free(k->in);
	}
	return rc;
}

static void
worker_close(struct worker *k)
{
	struct walk_result *r = k->w->r;

	pthread_mutex_lock(&k->w->rows);
	r->read_B += k->read_B;
	r->stored_B += k->stored_B;
	pthread_mutex_unlock(&k->w->rows);
	k->w->q->codec->close(k->codec);
	digest_free(k->digest);
	sq_rows_free(&k->rows);
	sys_free(k->in);
}

/* The first, which is not a thread of its own, also tells of all the rest. */
static int
run_worker(struct sq_walk *w, bool first)
{
	struct worker k;
	int rc = worker_open(&k, w);

	if (rc != 0) {
		sq_walk_fail(w, rc);
		return rc;
	}
	if (first)
		sq_rows_rest(&k.rows);
	work(&k);
	worker_close(&k);
	return 0;
}

static void *
thread_main(void *arg)
{
	run_worker(arg, false);
	return NULL;
}

/* A thread that does not start is done without. */
static int
run_workers(struct sq_walk *w)
{
	pthread_t ids[THREADS_MAX];
	unsigned n = 0;

	while (n + 1 < w->o->threads && n < THREADS_MAX &&
	    sys_thread(&ids[n], thread_main, w) == 0)
		n++;
	run_worker(w, true);
	while (n > 0)
		pthread_join(ids[--n], NULL);
	return w->err;
}

static void
free_chain(struct sq_chain *c)
{
	while (c->pending != NULL) {
		struct sq_buf *b = c->pending;

		c->pending = b->next;
		sys_free(b);
	}
	digest_free(c->digest);
	sys_free(c);
}

/* Also what a walk that ended early left behind. */
static void
close_walk(struct sq_walk *w)
{
	for (size_t i = 0; i < w->tree.data_count; i++) {
		struct sq_chain *c = w->tree.datas[i].chain;

		if (c == NULL)
			continue;
		drop(w, c->tail);
		free_chain(c);
	}
	while (w->chains != NULL) {
		struct sq_chain *c = w->chains;

		w->chains = c->free;
		free_chain(c);
	}
	sq_pool_free(&w->pool);
	sq_tree_free(&w->tree);
	pthread_cond_destroy(&w->pool.some);
	pthread_mutex_destroy(&w->lock);
	pthread_mutex_destroy(&w->rows);
}

static void
table_damage(void *arg, uint64_t offset, const char *reason)
{
	sq_rows_damage(arg, offset, NULL, reason);
}

static void
set_pool(struct sq_walk *w)
{
	size_t left, least = 2 * (size_t)w->o->threads + 2;

	w->buf_B = w->q->super.block_B;
	if (w->buf_B < BUF_MIN)
		w->buf_B = BUF_MIN;
	left = POOL_B / w->buf_B;
	w->pool.size = w->buf_B;
	w->pool.left = (unsigned)(left > least ? left : least);
}

static int
walk_image(struct sq_walk *w, const char **why)
{
	int rc = squashfs_load(w->q, w->o->threads, table_damage, w, why);

	if (rc == 0)
		rc = sq_tree_read(&w->tree, w->q, sq_rows_damage, w);
	if (rc == 0)
		rc = sq_rows_select(w);
	if (rc == 0)
		rc = sq_plan_make(&w->tree, w->q);
	if (rc != 0)
		return rc;
	w->r->dirs = w->tree.dir_count;
	if (w->o->plan != NULL)
		w->o->plan(w->o->arg,
		    w->tree.data_count + w->tree.links_to_data,
		    w->tree.bytes);
	set_pool(w);
	rc = run_workers(w);
	w->r->stored_B += w->q->read_B;
	return rc;
}

static int
walk(int fd, uint64_t offset, const struct walk_options *o,
    struct walk_result *r, const char **why)
{
	struct sq_walk w = { .o = o, .r = r };
	int rc;

	memset(r, 0, sizeof(*r));
	rc = squashfs_open(&w.q, fd, offset, why);
	if (rc != 0)
		return rc;
	pthread_mutex_init(&w.lock, NULL);
	pthread_mutex_init(&w.rows, NULL);
	pthread_cond_init(&w.pool.some, NULL);
	rc = walk_image(&w, why);
	close_walk(&w);
	squashfs_close(w.q);
	return rc;
}

static int
probe(int fd, uint64_t offset)
{
	uint8_t p[4];
	ssize_t n;

	if (offset > INT64_MAX)
		return 0;
	n = sys_pread(fd, p, sizeof(p), (off_t)offset);
	if (n < 0)
		return (int)n;
	return n == (ssize_t)sizeof(p) && memcmp(p, "hsqs", 4) == 0;
}

const struct walk_source walk_squashfs = { "squashfs", probe, walk };

/*
 * sqfs_units.c - the space used by an image's data blocks and fragments
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are cut into units by sqpack's feed, which is called by the thread that
 * holds the lock.  That thread then releases the lock and compresses the unit
 * with all algorithms.  Therefore the result does not depend on the number of
 * threads, and each thread needs memory for only two blocks.
 */
#include "base/array.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "image/sqbuild/feed.h"
#include "image/squashfs/format.h"
#include "sqfs_source.h"

#include <errno.h>
#include <string.h>

struct units {
	const struct fs_job *job;
	struct sqfs_units *made;
	pthread_mutex_t lock;		/* protects everything below */
	struct sqfs_source source;
	struct sqb_source files;
	struct sqb_data_options options;
	struct feed feed;
	size_t room;			/* capacity of sizes, in units */
	size_t order_room;
	int err;
};

struct worker {
	struct units *all;
	struct packer *packers[FS_ALGORITHMS];
	struct feed_unit unit;
	uint32_t sizes[FS_ALGORITHMS];	/* of the unit */
};

static void
pack(struct worker *w)
{
	const struct feed_unit *u = &w->unit;
	bool hole = u->len == 0 || (!u->is_fragment &&
	    content_is_zero(u->data, u->len));

	for (unsigned i = 0; i < w->all->job->count; i++) {
		size_t n = hole || w->packers[i] == NULL ? 0 :
		    packer_pack(w->packers[i], u->data, u->len,
		    w->all->options.block);

		w->sizes[i] = hole ? 0 : n == 0 || n >= u->len ?
		    u->len | SQUASHFS_BLOCK_RAW : (uint32_t)n;
	}
}

/*
 * Claims the next unit and appends its blocks to order; called with the lock
 * held.
 */
static int
take(struct worker *w)
{
	struct units *all = w->all;
	struct sqfs_units *made = all->made;
	void *order = made->order;
	int rc = all->err != 0 ? all->err : feed_next(&all->feed, &w->unit);
	uint32_t i = 0;

	if (rc <= 0)
		return rc;
	for (rc = 0; rc == 0 && i < w->unit.count; i++) {
		rc = array_grow(&order, made->count, &all->order_room,
		    sizeof(*made->order));
		made->order = order;
		if (rc == 0)
			made->order[made->count++] = w->unit.number + i;
	}
	return rc != 0 ? rc : 1;
}

/* Stores the sizes of the unit; called with the lock held. */
static int
keep(struct worker *w)
{
	struct units *all = w->all;
	size_t count = all->job->count, room = all->room;
	size_t end = (size_t)w->unit.number + w->unit.count;
	uint32_t *p = all->made->sizes;

	while (room < end)
		room = room == 0 ? 1024 : 2 * room;
	if (room != all->room) {
		p = sys_realloc(p, (room * count + 1) * sizeof(*p));
		if (p == NULL)
			return -ENOMEM;
		all->made->sizes = p;
		all->room = room;
	}
	for (size_t i = w->unit.number; i < end; i++)
		memcpy(p + i * count, w->sizes, count * sizeof(*p));
	return 0;
}

static void
work(void *arg, unsigned i)
{
	struct worker *w = (struct worker *)arg + i;
	struct units *all = w->all;
	int rc;

	pthread_mutex_lock(&all->lock);
	while ((rc = take(w)) > 0) {
		pthread_mutex_unlock(&all->lock);
		pack(w);
		pthread_mutex_lock(&all->lock);
		rc = keep(w);
		if (rc != 0)
			break;
	}
	if (rc != 0 && all->err == 0)
		all->err = rc;
	pthread_mutex_unlock(&all->lock);
}

static int
open_worker(struct worker *w, struct units *all)
{
	int rc = 0;

	w->all = all;
	w->unit.data = sys_malloc(feed_room(&all->options));
	for (unsigned i = 0; rc == 0 && i < all->job->count; i++)
		rc = packer_open(&w->packers[i], &all->job->algorithms[i],
		    all->options.block);
	return w->unit.data == NULL ? -ENOMEM : rc;
}

static void
close_worker(struct worker *w)
{
	for (unsigned i = 0; i < FS_ALGORITHMS; i++)
		packer_close(w->packers[i]);
	sys_free(w->unit.data);
}

static int
run(struct units *all)
{
	unsigned threads = all->job->threads, opened = 0;
	struct worker *w = sys_calloc(threads, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : 0;

	while (rc == 0 && opened < threads)
		rc = open_worker(&w[opened++], all);
	if (rc == 0)
		rc = parallel_run_all(threads, work, w);
	while (opened > 0)
		close_worker(&w[--opened]);
	sys_free(w);
	return all->err != 0 ? all->err : rc;
}

/* Records the position of each file's data in its node. */
static void
give_data(const struct sqfs_units *u, struct sqw_tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (sqw_has_data(t, i))
			t->nodes[i].data = u->data.of[t->nodes[i].id];
}

int
sqfs_units_make(struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job, bool as_sqpack)
{
	struct units all = { .job = job, .made = u,
		.options = { .block = job->params->block,
		.threads = job->threads, .tmpdir = -1 } };
	int rc;

	*u = (struct sqfs_units){ .count = 0 };
	sqfs_source_open(&all.source, t, job, as_sqpack);
	all.files = sqfs_source_files(&all.source);
	rc = feed_open(&all.feed, &all.files, &all.options, &u->data);
	if (rc == 0) {
		pthread_mutex_init(&all.lock, NULL);
		rc = run(&all);
		pthread_mutex_destroy(&all.lock);
	}
	feed_close(&all.feed);
	sqfs_source_close(&all.source);
	if (rc == 0)
		give_data(u, &t->tree);
	return rc;
}

void
sqfs_units_free(struct sqfs_units *u)
{
	sqb_data_free(&u->data);
	sys_free(u->sizes);
	sys_free(u->order);
}

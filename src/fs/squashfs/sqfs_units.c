/*
 * sqfs_units.c - what files take in a squashfs image: blocks and fragments
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are read in order, by whichever thread holds the lock; when a unit is
 * full, that thread lets go of the lock and compresses it with all algorithms.
 * So the answer does not depend on how many there are, and memory is two
 * blocks a thread.
 */
#include "base/parallel.h"
#include "base/sys.h"
#include "image/squashfs/format.h"
#include "sqfs_feed.h"

#include <errno.h>
#include <string.h>

struct units {
	pthread_mutex_t lock;		/* of the feed */
	struct sqfs_feed feed;
};

struct worker {
	struct units *all;
	struct packer *packers[FS_ALGORITHMS];
	struct sqfs_unit unit;
};

static bool
is_zero(const uint8_t *p, uint32_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

static void
pack(struct worker *w)
{
	const struct sqfs_feed *f = &w->all->feed;
	const struct sqfs_unit *u = &w->unit;
	unsigned count = f->job->count;
	uint32_t *sizes = f->units->sizes + u->number * count;
	bool hole = f->units->fragment[u->number] == 0 &&
	    is_zero(u->data, u->len);

	for (unsigned i = 0; i < count; i++) {
		size_t n = hole || w->packers[i] == NULL ? 0 :
		    packer_pack(w->packers[i], u->data, u->len, f->block);

		sizes[i] = hole ? 0 : n == 0 || n >= u->len ?
		    u->len | SQUASHFS_BLOCK_RAW : (uint32_t)n;
	}
}

static void
work(void *arg, unsigned i)
{
	struct worker *w = (struct worker *)arg + i;
	bool found;

	do {
		pthread_mutex_lock(&w->all->lock);
		found = sqfs_feed_next(&w->all->feed, &w->unit);
		pthread_mutex_unlock(&w->all->lock);
		if (found)
			pack(w);
	} while (found);
}

static int
open_worker(struct worker *w, struct units *all)
{
	const struct sqfs_feed *f = &all->feed;
	int rc = 0;

	w->all = all;
	w->unit.data = sys_malloc(f->block);
	for (unsigned i = 0; rc == 0 && i < f->job->count; i++)
		rc = packer_open(&w->packers[i], &f->job->algorithms[i],
		    f->block);
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
	unsigned threads = all->feed.job->threads, opened = 0;
	struct worker *w = sys_calloc(threads, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : 0;

	while (rc == 0 && opened < threads)
		rc = open_worker(&w[opened++], all);
	if (rc == 0)
		rc = parallel_run_all(threads, work, w);
	if (all->feed.err == 0)
		all->feed.err = rc;
	while (opened > 0)
		close_worker(&w[--opened]);
	sys_free(w);
	return all->feed.err;
}

int
sqfs_units_make(struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job)
{
	struct units all;
	int rc;

	*u = (struct sqfs_units){ .count = 0 };
	rc = sqfs_feed_open(&all.feed, u, t, job);
	if (rc == 0) {
		pthread_mutex_init(&all.lock, NULL);
		rc = run(&all);
		pthread_mutex_destroy(&all.lock);
	}
	sqfs_feed_close(&all.feed);
	return rc;
}

void
sqfs_units_free(struct sqfs_units *u)
{
	sys_free(u->sizes);
	sys_free(u->fragment);
}

/*
 * sqfs_units.c - the space used by an image's data blocks and fragments
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are cut into units by sqpack's feed, which is called by the thread that
 * holds the lock.  That thread then releases the lock and compresses the unit
 * with all algorithms.  Therefore the result does not depend on the number of
 * threads, and each thread needs memory for only two blocks.
 *
 * The sizes of a hole's blocks stay as allocated, zero, because there may be
 * millions of them: memory that is not written to is never provided.
 */
#include "base/array.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "image/squashfs/write/feed.h"
#include "image/squashfs/write/pack.h"
#include "image/squashfs/format.h"
#include "sqfs_source.h"

#include <errno.h>
#include <string.h>

struct units {
	const struct fs_job *job;
	struct sqfs_units *made;
	pthread_mutex_t lock;		/* protects everything below */
	struct sqfs_source source;
	struct sqw_source files;
	struct sqw_data_options options;
	struct sqw_feed feed;
	size_t room;			/* capacity of sizes, in units */
	size_t run_room;
	int err;
};

struct worker {
	struct units *all;
	struct packer *packers[FS_ALGORITHMS];
	struct sqw_feed_unit unit;
	uint32_t sizes[FS_ALGORITHMS];	/* of the unit */
};

static void
pack_unit(struct worker *w)
{
	const struct sqw_feed_unit *u = &w->unit;
	bool hole = u->len == 0 || (!u->is_fragment &&
	    sqw_content_is_zero(u->data, u->len));

	for (unsigned i = 0; i < w->all->job->count; i++) {
		size_t n = hole || w->packers[i] == NULL ? 0 :
		    packer_pack(w->packers[i], u->data, u->len,
		    w->all->options.block);

		w->sizes[i] = hole ? 0 : n == 0 || n >= u->len ?
		    u->len | SQUASHFS_BLOCK_RAW : (uint32_t)n;
	}
}

/* Claims the next unit and records it as a run; called with the lock held. */
static int
claim_unit(struct worker *w)
{
	struct units *all = w->all;
	struct sqfs_units *made = all->made;
	void *runs = made->runs;
	int rc = all->err != 0 ? all->err : sqw_feed_next(&all->feed, &w->unit);

	if (rc <= 0)
		return rc;
	rc = array_grow(&runs, made->run_count, &all->run_room,
	    sizeof(*made->runs));
	made->runs = runs;
	if (rc != 0)
		return rc;
	made->runs[made->run_count++] = (struct sqfs_run){ w->unit.number,
	    w->unit.count };
	made->count += w->unit.count;
	return 1;
}

static void
measure_units(void *arg, unsigned i)
{
	struct worker *w = (struct worker *)arg + i;
	struct units *all = w->all;
	size_t count = all->job->count;
	int rc;

	pthread_mutex_lock(&all->lock);
	while ((rc = claim_unit(w)) > 0) {
		const struct sqw_feed_unit *u = &w->unit;

		pthread_mutex_unlock(&all->lock);
		pack_unit(w);
		pthread_mutex_lock(&all->lock);
		if ((size_t)u->number + u->count > all->room) {
			rc = -EOVERFLOW;
			break;
		}
		if (u->len > 0)
			memcpy(all->made->sizes + u->number * count, w->sizes,
			    count * sizeof(*w->sizes));
	}
	if (rc != 0 && all->err == 0)
		all->err = rc;
	pthread_mutex_unlock(&all->lock);
}

int
sqfs_units_make(struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job, bool as_sqpack)
{
	struct units all = { .job = job, .made = u,
		.options = { .block = job->params->block,
		.threads = job->threads, .tmpdir = -1 } };
	struct worker *w = NULL;
	unsigned opened = 0;
	uint64_t most = 0;
	int rc;

	*u = (struct sqfs_units){ .count = 0 };
	pthread_mutex_init(&all.lock, NULL);
	sqfs_source_open(&all.source, t, job, as_sqpack);
	all.files = sqfs_source_files(&all.source);
	rc = sqw_feed_open(&all.feed, &all.files, &all.options, &u->data);
	if (rc != 0)
		goto out;
	/* the sizes of as many units as the files can have */
	for (size_t i = 0; i < t->tree.count && most < UINT32_MAX; i++)
		if (sqw_has_data(&t->tree, i))
			most += (uint64_t)sqfs_item(t, i)->st.st_size /
			    all.options.block + 1;
	all.room = most < UINT32_MAX ? (size_t)most : UINT32_MAX;
	u->sizes = sys_calloc(all.room * job->count + 1, sizeof(*u->sizes));
	w = sys_calloc(job->threads, sizeof(*w));
	if (u->sizes == NULL || w == NULL)
		rc = -ENOMEM;
	while (rc == 0 && opened < job->threads) {
		struct worker *next = &w[opened++];

		next->all = &all;
		next->unit.data = sys_malloc(sqw_pack_room(&all.options));
		if (next->unit.data == NULL)
			rc = -ENOMEM;
		for (unsigned i = 0; rc == 0 && i < job->count; i++)
			rc = packer_open(&next->packers[i],
			    &job->algorithms[i], all.options.block);
	}
	if (rc == 0)
		rc = parallel_run_all(job->threads, measure_units, w);
	if (all.err != 0)
		rc = all.err;
	while (opened > 0) {
		opened--;
		for (unsigned i = 0; i < FS_ALGORITHMS; i++)
			packer_close(w[opened].packers[i]);
		sys_free(w[opened].unit.data);
	}
	sys_free(w);
	/* record the position of each file's data in its node */
	for (size_t i = 0; rc == 0 && i < t->tree.count; i++)
		if (sqw_has_data(&t->tree, i))
			t->tree.nodes[i].data =
			    u->data.of[t->tree.nodes[i].id];
out:
	sqw_feed_close(&all.feed);
	sqfs_source_close(&all.source);
	pthread_mutex_destroy(&all.lock);
	return rc;
}

void
sqfs_units_free(struct sqfs_units *u)
{
	sqw_data_free(&u->data);
	sys_free(u->sizes);
	sys_free(u->runs);
}

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
 *
 * Unreadable data is reported and treated as zeros.
 */
#include "base/array.h"
#include "base/fdio.h"
#include "base/hole.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "image/squashfs/write/feed.h"
#include "image/squashfs/write/pack.h"
#include "image/squashfs/format.h"
#include "sqfs.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <string.h>

/* The listed files as the source of an image. */
struct file_source {
	const struct fs_job *job;
	const struct sqfs_tree *tree;
	bool as_sqpack;
	size_t next;			/* node */
	const struct fs_item *item;	/* the current file */
	struct stat st;			/* of it, as in the list */
	struct fs_path path;
	int fd;
	uint64_t offset, ticked;
	bool told;			/* its error has been reported */
};

static void
report_file(struct file_source *s, int err)
{
	if (!s->told)
		s->job->on_error(s->job->arg,
		    (size_t)(s->item - s->job->list->items), err);
	s->told = true;
}

static int
next_file(void *arg, struct sqw_file *f)
{
	struct file_source *s = arg;
	const struct sqw_tree *t = &s->tree->tree;
	const struct fs_list *l = s->job->list;
	const char *path;

	while (s->next < t->count && !sqw_has_data(t, s->next))
		s->next++;
	if (s->next == t->count)
		return 0;
	if (s->fd >= 0)
		sys_close(s->fd);
	s->item = sqfs_item(s->tree, s->next);
	s->offset = s->ticked = 0;
	s->told = false;
	s->st = fs_item_stat(s->item);
	path = fs_list_path(l, (size_t)(s->item - l->items), &s->path);
	s->fd = path == NULL ? -ENOMEM :
	    tree_open(l->roots[s->item->root], path, 0);
	if (s->fd < 0)
		report_file(s, s->fd);
	/* mksquashfs stores holes only in files that are sparse on disk */
	*f = (struct sqw_file){ .id = t->nodes[s->next].id,
		.size = s->item->size,
		.dense = !s->as_sqpack && s->item->dense };
	s->next++;
	return 1;
}

/* Counts bytes only once, even if they are read twice. */
static void
count_progress(struct file_source *s)
{
	if (s->offset <= s->ticked)
		return;
	s->job->on_progress(s->job->arg, s->offset - s->ticked);
	s->ticked = s->offset;
}

static int
read_file(void *arg, void *buf, size_t len)
{
	struct file_source *s = arg;
	uint8_t *data = buf;
	ssize_t n = 0;

	if (s->fd >= 0) {
		n = fdio_pread(s->fd, data, len, (off_t)s->offset);
		if (n < 0)
			report_file(s, (int)n);
		else if ((size_t)n < len)
			report_file(s, -EAGAIN);
		n = n < 0 ? 0 : n;
	}
	memset(data + n, 0, len - (size_t)n);
	s->offset += len;
	count_progress(s);
	return 0;
}

static int64_t
skip_file_hole(void *arg)
{
	struct file_source *s = arg;
	uint64_t n = s->fd < 0 ? 0 : sqw_hole_blocks(hole_at(s->fd, &s->st,
	    s->offset), s->item->size - s->offset, s->job->params->block);

	s->offset += n;
	count_progress(s);
	return (int64_t)n;
}

static int
rewind_file(void *arg)
{
	struct file_source *s = arg;

	s->offset = 0;
	return 0;
}

struct units {
	const struct fs_job *job;
	struct sqfs_units *made;
	pthread_mutex_t lock;		/* protects everything below */
	struct file_source source;
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
measure_units(void *arg, unsigned i)
{
	struct worker *w = (struct worker *)arg + i;
	struct units *all = w->all;
	struct sqfs_units *made = all->made;
	const struct sqw_feed_unit *u = &w->unit;
	size_t count = all->job->count;
	int rc = 0;

	pthread_mutex_lock(&all->lock);
	while (all->err == 0 &&
	    (rc = sqw_feed_next(&all->feed, &w->unit)) > 0) {
		void *runs = made->runs;
		bool hole;

		/* record the unit as a run */
		rc = array_grow(&runs, made->run_count, &all->run_room,
		    sizeof(*made->runs));
		made->runs = runs;
		if (rc != 0)
			break;
		made->runs[made->run_count++] = (struct sqfs_run){ u->number,
		    u->count };
		made->count += u->count;
		pthread_mutex_unlock(&all->lock);
		hole = u->len == 0 || (!u->is_fragment &&
		    sqw_content_is_zero(u->data, u->len));
		for (size_t k = 0; k < count; k++) {
			size_t n = hole || w->packers[k] == NULL ? 0 :
			    packer_pack(w->packers[k], u->data, u->len,
			    all->options.block);

			w->sizes[k] = (uint32_t)n;
			if (hole)
				w->sizes[k] = 0;
			else if (n == 0 || n >= u->len)
				w->sizes[k] = u->len | SQUASHFS_BLOCK_RAW;
		}
		pthread_mutex_lock(&all->lock);
		if ((size_t)u->number + u->count > all->room) {
			rc = -EOVERFLOW;
			break;
		}
		if (u->len > 0)
			memcpy(made->sizes + u->number * count, w->sizes,
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
	all.source = (struct file_source){ .job = job, .tree = t, .fd = -1,
		.as_sqpack = as_sqpack };
	all.files = (struct sqw_source){ .next = next_file, .read = read_file,
		.skip = skip_file_hole, .rewind = rewind_file,
		.arg = &all.source };
	rc = sqw_feed_open(&all.feed, &all.files, &all.options, &u->data);
	if (rc != 0)
		goto out;
	/* the sizes of as many units as the files can have */
	for (size_t i = 0; i < t->tree.count && most < UINT32_MAX; i++)
		if (sqw_has_data(&t->tree, i))
			most += sqfs_item(t, i)->size / all.options.block + 1;
	all.room = most < UINT32_MAX ? (size_t)most : UINT32_MAX;
	u->sizes = sys_calloc(all.room * job->count + 1, sizeof(*u->sizes));
	w = sys_calloc(job->threads, sizeof(*w));
	if (u->sizes == NULL || w == NULL)
		rc = -ENOMEM;
	while (rc == 0 && opened < job->threads) {
		struct worker *next = &w[opened++];

		next->all = &all;
		next->unit.data = sys_malloc(sqw_pack_room(&all.options));
		rc = next->unit.data == NULL ? -ENOMEM :
		    fs_packers_open(next->packers, job, all.options.block);
	}
	if (rc == 0)
		rc = parallel_run_all(job->threads, measure_units, w);
	if (all.err != 0)
		rc = all.err;
	while (opened > 0) {
		opened--;
		fs_packers_close(w[opened].packers);
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
	if (all.source.fd >= 0)
		sys_close(all.source.fd);
	sys_free(all.source.path.s);
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

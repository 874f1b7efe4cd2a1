/*
 * sqfs_units.c - what files take in a squashfs image: blocks and fragments
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What goes into a fragment block hangs on all files before it, so files are
 * read in order, by whichever thread holds the lock; when a unit is full,
 * that thread lets go of the lock and compresses it with all algorithms.  So
 * the answer does not depend on how many there are, and memory is two blocks
 * a thread.
 */
#include "sqfs.h"

#include "../walk_tree.h"
#include "fdio.h"
#include "sqfs_twins.h"
#include "sys.h"

#include <errno.h>
#include <string.h>

enum { HOLE };		/* the first unit: the block of any small file of zeros */

struct feed {
	pthread_mutex_t lock;
	const struct fs_job *job;
	struct sqfs_tree *tree;
	struct sqfs_units *units;
	uint32_t block;
	struct sqfs_twins twins;
	size_t node;			/* the next to be begun */
	size_t open;			/* the large one in hand, or 0 */
	int fd;
	uint64_t offset;
	bool told;			/* of trouble with it */
	uint8_t *fragment;		/* that is being filled */
	size_t fragment_unit;		/* its number */
	uint32_t filled, fragments;
	int err;
};

struct worker {
	struct feed *feed;
	pthread_t thread;
	struct packer *packers[FS_ALGORITHMS];
	uint8_t *data;
	uint32_t len;
};

static uint64_t
size_of(const struct feed *f, size_t node)
{
	return (uint64_t)f->tree->nodes[node].item->st.st_size;
}

/* Reading, with the lock held */

static void
tell(struct feed *f, size_t node, int err)
{
	if (!f->told)
		f->job->trouble(f->job->arg, (size_t)(
		    f->tree->nodes[node].item - f->job->list->items), err);
	f->told = true;
}

static void
open_file(struct feed *f, size_t node)
{
	const struct fs_item *it = f->tree->nodes[node].item;

	f->told = false;
	f->fd = tree_open(f->job->list->roots[it->root], it->path, 0);
	if (f->fd < 0)
		tell(f, node, f->fd);
}

static void
shut_file(struct feed *f)
{
	if (f->fd >= 0)
		sys_close(f->fd);
	f->fd = -1;
}

/* What cannot be had is zeros. */
static void
read_file(struct feed *f, size_t node, uint64_t offset, uint8_t *data,
    uint32_t len)
{
	ssize_t n = f->fd < 0 ? 0 : fdio_pread(f->fd, data, len,
	    (off_t)offset);

	if (n < 0)
		tell(f, node, (int)n);
	else if ((size_t)n < len && f->fd >= 0)
		tell(f, node, -EAGAIN);
	n = n < 0 ? 0 : n;
	memset(data + n, 0, len - (size_t)n);
}

static uint32_t
left_of(const struct feed *f, size_t node, uint64_t offset)
{
	uint64_t left = size_of(f, node) - offset;

	return left < f->block ? (uint32_t)left : f->block;
}

/* The twin of a large file, by reading it once more; or 0. */
static size_t
twin_of_large(struct feed *f, size_t node, uint8_t *data)
{
	XXH3_state_t *x;
	XXH128_hash_t hash;

	if (sqfs_twins_alone(&f->twins, size_of(f, node)))
		return 0;
	x = XXH3_createState();
	if (x == NULL) {
		f->err = -ENOMEM;
		return 0;
	}
	XXH3_128bits_reset(x);
	for (uint64_t at = 0; at < size_of(f, node); at += f->block) {
		uint32_t n = left_of(f, node, at);

		read_file(f, node, at, data, n);
		XXH3_128bits_update(x, data, n);
	}
	hash = XXH3_128bits_digest(x);
	XXH3_freeState(x);
	return sqfs_twins_find(&f->twins, hash, f->tree, node);
}

/* Units, with the lock held */

static bool
is_zero(const uint8_t *p, uint32_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

static size_t
new_unit(struct feed *f, uint32_t fragment)
{
	size_t unit = f->units->count++;

	f->units->fragment[unit] = fragment;
	return unit;
}

/* Begins a large file, unless its content was there before. */
static void
begin_large(struct feed *f, struct worker *w, size_t node)
{
	struct sqfs_data *d = &f->tree->nodes[node].data;
	size_t twin;

	open_file(f, node);
	twin = twin_of_large(f, node, w->data);
	if (twin != 0) {
		*d = f->tree->nodes[twin].data;
		f->job->tick(f->job->arg, size_of(f, node));
		shut_file(f);
		return;
	}
	d->unit = f->units->count;
	d->blocks = (uint32_t)((size_of(f, node) + f->block - 1) / f->block);
	f->open = node;
	f->offset = 0;
}

/* The next block of the large file in hand. */
static size_t
next_block(struct feed *f, struct worker *w)
{
	w->len = left_of(f, f->open, f->offset);
	read_file(f, f->open, f->offset, w->data, w->len);
	f->job->tick(f->job->arg, w->len);
	f->offset += w->len;
	if (f->offset == size_of(f, f->open)) {
		shut_file(f);
		f->open = 0;
	}
	f->units->bytes += w->len;
	return new_unit(f, 0);
}

static size_t
give_fragment(struct feed *f, struct worker *w)
{
	uint8_t *full = f->fragment;

	f->fragment = w->data;
	w->data = full;
	w->len = f->filled;
	f->filled = 0;
	f->units->bytes += w->len;
	return f->fragment_unit;
}

/*
 * A small file to the fragment.  If it does not fit, the fragment is given to
 * w, true is said and the file begins the next one.
 */
static bool
add_small(struct feed *f, struct worker *w, size_t node, size_t *unit)
{
	struct sqfs_data *d = &f->tree->nodes[node].data;
	uint32_t len = (uint32_t)size_of(f, node);
	bool full = false;
	size_t twin;

	open_file(f, node);
	read_file(f, node, 0, w->data, len);
	shut_file(f);
	f->job->tick(f->job->arg, len);
	if (is_zero(w->data, len)) {
		*d = (struct sqfs_data){ .unit = HOLE, .blocks = 1 };
		f->units->bytes += len;
		return false;
	}
	twin = sqfs_twins_find(&f->twins, XXH3_128bits(w->data, len), f->tree,
	    node);
	if (twin != 0) {
		*d = f->tree->nodes[twin].data;
		return false;
	}
	if (len > f->block - f->filled) {
		*unit = give_fragment(f, w);
		full = true;
	} else {
		memcpy(f->fragment + f->filled, w->data, len);
	}
	if (f->filled == 0)
		f->fragment_unit = new_unit(f, ++f->fragments);
	*d = (struct sqfs_data){ .unit = f->fragment_unit,
	    .tail_at = f->filled, .tail = true };
	f->filled += len;
	return full;
}

/* Fills w->data with the next unit; false at the end. */
static bool
next_unit(struct feed *f, struct worker *w, size_t *unit)
{
	while (f->err == 0) {
		size_t node = f->node;

		if (f->open != 0) {
			*unit = next_block(f, w);
			return true;
		}
		if (node == f->tree->count) {
			if (f->filled == 0)
				return false;
			*unit = give_fragment(f, w);
			return true;
		}
		f->node++;
		if (!sqfs_has_data(f->tree, node))
			continue;
		if (size_of(f, node) >= f->block)
			begin_large(f, w, node);
		else if (add_small(f, w, node, unit))
			return true;
	}
	return false;
}

/* Compressing */

static void
pack(struct worker *w, size_t unit)
{
	const struct feed *f = w->feed;
	unsigned count = f->job->count;
	uint32_t *sizes = f->units->sizes + unit * count;
	bool hole = f->units->fragment[unit] == 0 && is_zero(w->data, w->len);

	for (unsigned i = 0; i < count; i++) {
		size_t n = hole || w->packers[i] == NULL ? 0 :
		    packer_pack(w->packers[i], w->data, w->len, f->block);

		sizes[i] = hole ? 0 : n == 0 || n >= w->len ?
		    w->len | SQFS_RAW : (uint32_t)n;
	}
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct feed *f = w->feed;
	size_t unit;
	bool found;

	do {
		pthread_mutex_lock(&f->lock);
		found = f->err == 0 && next_unit(f, w, &unit);
		pthread_mutex_unlock(&f->lock);
		if (found)
			pack(w, unit);
	} while (found);
	return NULL;
}

/* Both ends of it */

static int
open_worker(struct worker *w, struct feed *f)
{
	int rc = 0;

	w->feed = f;
	w->data = sys_malloc(f->block);
	for (unsigned i = 0; rc == 0 && i < f->job->count; i++)
		rc = packer_open(&w->packers[i], &f->job->algorithms[i],
		    f->block);
	return w->data == NULL ? -ENOMEM : rc;
}

static void
close_worker(struct worker *w)
{
	for (unsigned i = 0; i < FS_ALGORITHMS; i++)
		packer_close(w->packers[i]);
	sys_free(w->data);
}

static int
run(struct feed *f)
{
	unsigned threads = f->job->threads, opened = 0, started = 0;
	struct worker *w = sys_calloc(threads, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : 0;

	while (rc == 0 && opened < threads)
		rc = open_worker(&w[opened++], f);
	while (rc == 0 && started < threads) {
		rc = sys_thread(&w[started].thread, work, &w[started]);
		started += rc == 0;
	}
	pthread_mutex_lock(&f->lock);
	f->err = f->err != 0 ? f->err : rc;
	pthread_mutex_unlock(&f->lock);
	while (started > 0)
		pthread_join(w[--started].thread, NULL);
	while (opened > 0)
		close_worker(&w[--opened]);
	sys_free(w);
	return f->err;
}

/*
 * Units there can be at most: two fragment blocks behind each other hold more
 * than one's bytes.
 */
static uint64_t
most_units(const struct feed *f)
{
	uint64_t small = 0, most = HOLE + 1;

	for (size_t i = 0; i < f->tree->count; i++) {
		if (!sqfs_has_data(f->tree, i))
			continue;
		if (size_of(f, i) < f->block)
			small += size_of(f, i);
		else
			most += (size_of(f, i) + f->block - 1) / f->block;
	}
	return most + 2 * (small / f->block + 1);
}

static int
make_room(struct feed *f)
{
	uint64_t most = most_units(f);

	f->units->count = HOLE + 1;
	f->fragment = sys_malloc(f->block);
	if (most <= SIZE_MAX / FS_ALGORITHMS / sizeof(uint32_t)) {
		f->units->sizes = sys_calloc(most * f->job->count + 1,
		    sizeof(*f->units->sizes));
		f->units->fragment = sys_calloc(most,
		    sizeof(*f->units->fragment));
	}
	if (f->fragment == NULL || f->units->sizes == NULL ||
	    f->units->fragment == NULL)
		return -ENOMEM;
	return sqfs_twins_open(&f->twins, f->tree, f->block);
}

int
sqfs_units_make(struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job)
{
	struct feed f = { .job = job, .tree = t, .units = u,
	    .block = job->params->block, .fd = -1 };
	int rc;

	*u = (struct sqfs_units){ .count = 0 };
	pthread_mutex_init(&f.lock, NULL);
	rc = make_room(&f);
	if (rc == 0)
		rc = run(&f);
	shut_file(&f);
	u->fragments = f.fragments;
	pthread_mutex_destroy(&f.lock);
	sys_free(f.fragment);
	sqfs_twins_close(&f.twins);
	return rc;
}

void
sqfs_units_free(struct sqfs_units *u)
{
	sys_free(u->sizes);
	sys_free(u->fragment);
}

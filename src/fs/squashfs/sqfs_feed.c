/*
 * sqfs_feed.c - cutting files into blocks and fragment blocks, in order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs_feed.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "fs/fs_hole.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <string.h>

/* The first unit: the block of any small file of zeros. */
enum { HOLE };

static uint64_t
size_of(const struct sqfs_feed *f, size_t node)
{
	return (uint64_t)sqfs_item(f->tree, node)->st.st_size;
}

static void
tell(struct sqfs_feed *f, size_t node, int err)
{
	if (!f->told)
		f->job->trouble(f->job->arg, (size_t)(
		    sqfs_item(f->tree, node) - f->job->list->items), err);
	f->told = true;
}

static void
open_file(struct sqfs_feed *f, size_t node)
{
	const struct fs_item *it = sqfs_item(f->tree, node);

	f->told = false;
	f->fd = tree_open(f->job->list->roots[it->root], it->path, 0);
	if (f->fd < 0)
		tell(f, node, f->fd);
}

static void
shut_file(struct sqfs_feed *f)
{
	if (f->fd >= 0)
		sys_close(f->fd);
	f->fd = -1;
}

/* Unreadable data counts as zeros. */
static void
read_file(struct sqfs_feed *f, size_t node, uint64_t offset, uint8_t *data,
    uint32_t len)
{
	ssize_t n;

	if (f->fd >= 0 && fs_is_hole(f->fd, &sqfs_item(f->tree, node)->st,
	    offset, len)) {
		memset(data, 0, len);
		return;
	}
	n = f->fd < 0 ? 0 : fdio_pread(f->fd, data, len, (off_t)offset);
	if (n < 0)
		tell(f, node, (int)n);
	else if ((size_t)n < len && f->fd >= 0)
		tell(f, node, -EAGAIN);
	n = n < 0 ? 0 : n;
	memset(data + n, 0, len - (size_t)n);
}

static uint32_t
left_of(const struct sqfs_feed *f, size_t node, uint64_t offset)
{
	uint64_t left = size_of(f, node) - offset;

	return left < f->block ? (uint32_t)left : f->block;
}

/* The duplicate of a large file, found by reading it once more; or 0. */
static size_t
twin_of_large(struct sqfs_feed *f, size_t node, uint8_t *data)
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

/* Units */

static bool
is_zero(const uint8_t *p, uint32_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

static size_t
new_unit(struct sqfs_feed *f, uint32_t fragment)
{
	size_t unit = f->units->count++;

	f->units->fragment[unit] = fragment;
	return unit;
}

/* Begins a large file, unless the same content was there before. */
static void
begin_large(struct sqfs_feed *f, uint8_t *room, size_t node)
{
	struct sqw_data *d = &f->tree->tree.nodes[node].data;
	size_t twin;

	open_file(f, node);
	twin = twin_of_large(f, node, room);
	if (twin != 0) {
		*d = f->tree->tree.nodes[twin].data;
		f->job->tick(f->job->arg, size_of(f, node));
		shut_file(f);
		return;
	}
	d->unit = (uint32_t)f->units->count;
	d->blocks = (uint32_t)((size_of(f, node) + f->block - 1) / f->block);
	f->open = node;
	f->offset = 0;
}

/* The next block of the current large file. */
static void
next_block(struct sqfs_feed *f, struct sqfs_unit *n)
{
	n->len = left_of(f, f->open, f->offset);
	n->number = new_unit(f, 0);
	read_file(f, f->open, f->offset, n->data, n->len);
	f->job->tick(f->job->arg, n->len);
	f->offset += n->len;
	if (f->offset == size_of(f, f->open)) {
		shut_file(f);
		f->open = 0;
	}
	f->units->bytes += n->len;
}

static void
give_fragment(struct sqfs_feed *f, struct sqfs_unit *n)
{
	uint8_t *full = f->fragment;

	f->fragment = n->data;
	*n = (struct sqfs_unit){ full, f->filled, f->fragment_unit };
	f->filled = 0;
	f->units->bytes += n->len;
}

/* Reads a small file; true: it is neither zeros nor a duplicate. */
static bool
is_new(struct sqfs_feed *f, uint8_t *data, size_t node)
{
	struct sqw_data *d = &f->tree->tree.nodes[node].data;
	uint32_t len = (uint32_t)size_of(f, node);
	size_t twin;

	open_file(f, node);
	read_file(f, node, 0, data, len);
	shut_file(f);
	f->job->tick(f->job->arg, len);
	if (is_zero(data, len)) {
		*d = (struct sqw_data){ .unit = HOLE, .blocks = 1 };
		f->units->bytes += len;
		return false;
	}
	twin = sqfs_twins_find(&f->twins, XXH3_128bits(data, len), f->tree,
	    node);
	if (twin != 0)
		*d = f->tree->tree.nodes[twin].data;
	return twin == 0;
}

/*
 * Adds a small file to the fragment block.  If it does not fit, n becomes the
 * full fragment block, the result is true and the file begins the next one.
 */
static bool
add_small(struct sqfs_feed *f, struct sqfs_unit *n, size_t node)
{
	uint32_t len = (uint32_t)size_of(f, node);
	bool full;

	if (!is_new(f, n->data, node))
		return false;
	full = len > f->block - f->filled;
	if (full)
		give_fragment(f, n);
	else
		memcpy(f->fragment + f->filled, n->data, len);
	if (f->filled == 0)
		f->fragment_unit = new_unit(f, ++f->units->fragments);
	f->tree->tree.nodes[node].data = (struct sqw_data){
	    .unit = (uint32_t)f->fragment_unit, .tail_at = f->filled, .tail = true };
	f->filled += len;
	return full;
}

/* Begins the next file; true: n is a unit. */
static bool
next_file(struct sqfs_feed *f, struct sqfs_unit *n)
{
	size_t node = f->node++;

	if (!sqw_has_data(&f->tree->tree, node))
		return false;
	if (size_of(f, node) < f->block)
		return add_small(f, n, node);
	begin_large(f, n->data, node);
	return false;
}

bool
sqfs_feed_next(struct sqfs_feed *f, struct sqfs_unit *n)
{
	while (f->err == 0) {
		if (f->open != 0) {
			next_block(f, n);
			return true;
		}
		if (f->node == f->tree->tree.count) {
			if (f->filled == 0)
				return false;
			give_fragment(f, n);
			return true;
		}
		if (next_file(f, n))
			return true;
	}
	return false;
}

/*
 * The maximum number of units: two consecutive fragment blocks hold more than
 * one block's bytes.
 */
static uint64_t
most_units(const struct sqfs_feed *f)
{
	uint64_t small = 0, most = HOLE + 1;

	for (size_t i = 0; i < f->tree->tree.count; i++) {
		if (!sqw_has_data(&f->tree->tree, i))
			continue;
		if (size_of(f, i) < f->block)
			small += size_of(f, i);
		else
			most += (size_of(f, i) + f->block - 1) / f->block;
	}
	return most + 2 * (small / f->block + 1);
}

static int
make_room(struct sqfs_feed *f)
{
	uint64_t most = most_units(f);

	f->units->count = HOLE + 1;
	f->fragment = sys_malloc(f->block);
	if (most <= UINT32_MAX) {
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
sqfs_feed_open(struct sqfs_feed *f, struct sqfs_units *u, struct sqfs_tree *t,
    const struct fs_job *job)
{
	*f = (struct sqfs_feed){ .job = job, .tree = t, .units = u,
	    .block = job->params->block, .fd = -1 };
	return make_room(f);
}

void
sqfs_feed_close(struct sqfs_feed *f)
{
	shut_file(f);
	sys_free(f->fragment);
	sqfs_twins_close(&f->twins);
}

/*
 * sqpack_again.c - a squashfs image as the source of an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tree is taken over with all that inodes say.  Data is compressed anew
 * block by block, each once, in the order in which the old image has it: so
 * files that shared blocks still do, and the blocks of a file, which have to
 * follow each other, still do.
 *
 * Units (image/sqbuild/data.h): the fragment blocks by their number, then of
 * each file its blocks and, if it has blocks and a tail, one of no bytes that
 * stands for its fragment block.
 */
#include "sqpack_read.h"

#include "base/array.h"
#include "base/sys.h"
#include "image/sqbuild/repack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct again {
	struct sqpack *p;
	struct sqpack_image i;
	uint32_t *ids;			/* of each number */
	struct sqb_old *old;		/* blocks, in order, each once */
	size_t count, cap;
	size_t units;
};

static int
refuse(struct again *a, const char *path, const char *why)
{
	progress_erase(&a->p->progress);
	msg_error(&a->p->msg, "%s: %s%s%s", a->p->o.source, path,
	    *path == '\0' ? "" : ": ", why);
	return -EBADMSG;
}

static int
no_memory(struct again *a)
{
	msg_error(&a->p->msg, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

/* The tree */

static int
add_xattr(void *arg, const char *name, const void *value, size_t len)
{
	struct again *a = arg;

	return sqb_xattrs_add(a->p->xattrs, name, value, len);
}

static int
add_xattrs(struct again *a, const struct sqr_entry *e, uint32_t *index)
{
	int rc;

	*index = SQUASHFS_NONE;
	if (a->p->xattrs == NULL || e->xattr == SQUASHFS_NONE)
		return 0;
	rc = sqb_xattrs_begin(a->p->xattrs);
	if (rc == 0)
		rc = sqr_xattrs(a->i.m, e->xattr, add_xattr, a);
	return rc != 0 ? rc : sqb_xattrs_end(a->p->xattrs, index);
}

static int
add_name(struct again *a, size_t n, const struct sqr_entry *e)
{
	struct sqw_attr attr = { .mode = e->mode, .uid = e->uid,
		.gid = e->gid, .rdev = e->rdev,
		.size = S_ISREG(e->mode) || S_ISLNK(e->mode) ? e->size : 0 };
	const char *path = sqpack_image_path(&a->i, n);
	char *target = NULL;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	if (e->why != NULL)
		return refuse(a, path, e->why);
	if (e->mode == 0 || !e->has_owner)
		return refuse(a, path, "its owner cannot be read");
	if (S_ISLNK(e->mode)) {
		if (memchr(e->target, '\0', (size_t)e->size) != NULL)
			return refuse(a, path, "its target holds a NUL");
		target = sys_malloc((size_t)e->size + 1);
		if (target == NULL)
			return no_memory(a);
		memcpy(target, e->target, (size_t)e->size);
		target[e->size] = '\0';
		attr.target = target;
	}
	sqpack_adjust(a->p, &attr, e->mtime);
	rc = add_xattrs(a, e, &attr.xattr);
	if (rc == 0)
		rc = sqw_tree_add(&a->p->tree, path, &attr, &a->ids[n]);
	sys_free(target);
	if (rc == -EBADMSG)
		return refuse(a, path, "its extended attributes cannot be "
		    "read");
	return rc != 0 ? refuse(a, path, strerror(-rc)) : 0;
}

/* Two entries of one name would become one. */
static int
check_twice(struct again *a, const struct sqr_entry *e,
    const struct sqr_entry *last)
{
	if (last->name_len != e->name_len ||
	    last->parent != e->parent ||
	    memcmp(last->name, e->name, e->name_len) != 0)
		return 0;
	return refuse(a, "", "a directory has two entries of one name");
}

static int
fill_tree(struct again *a)
{
	size_t count = sqr_count(a->i.m);
	struct sqr_entry e;
	int rc = 0;

	a->ids = sys_malloc(count * sizeof(*a->ids));
	if (a->ids == NULL)
		return no_memory(a);
	for (size_t n = 0; rc == 0 && n < count; n++) {
		struct sqr_entry next = { .name_len = 0 };

		sqr_get(a->i.m, n, &e);
		if (sqr_end(a->i.m, n) < count) {
			sqr_get(a->i.m, sqr_end(a->i.m, n), &next);
			rc = check_twice(a, &next, &e);
		}
		if (rc == 0)
			rc = add_name(a, n, &e);
		if (rc == 0 && e.first != n)
			sqw_tree_link(&a->p->tree, a->ids[n],
			    a->ids[e.first]);
	}
	if (rc == 0 && sqw_tree_finish(&a->p->tree) != 0)
		return no_memory(a);
	return rc;
}

/* Blocks */

static int
add_block(struct again *a, struct sqb_old b)
{
	void *items = a->old;
	int rc = array_grow(&items, a->count, &a->cap, sizeof(*a->old));

	a->old = items;
	if (rc == 0)
		a->old[a->count++] = b;
	a->p->total_B += b.want;
	return rc;
}

static bool
has_data(const struct again *a, size_t n, struct sqr_entry *e)
{
	sqr_get(a->i.m, n, e);
	return S_ISREG(e->mode) && e->size > 0 && e->first == n;
}

static int
list_blocks(struct again *a)
{
	const struct sqr_image *m = a->i.m;
	struct sqr_entry e;
	int rc = 0;

	for (uint32_t k = 0; rc == 0 && k < sqr_facts(m)->fragments; k++) {
		struct sqb_old b = { .is_fragment = true };

		sqr_fragment(m, k, &b.at, &b.word);
		rc = add_block(a, b);
	}
	for (size_t n = 1; rc == 0 && n < sqr_count(m); n++) {
		uint64_t at;

		if (!has_data(a, n, &e))
			continue;
		at = e.start;
		a->units += e.blocks + (e.blocks > 0 &&
		    sqr_tail_len(m, &e) > 0);
		for (uint32_t k = 0; rc == 0 && k < e.blocks; k++) {
			uint32_t word = sqr_word(&e, k);

			if (word != 0)
				rc = add_block(a, (struct sqb_old){ .at = at,
				    .word = word,
				    .want = sqr_block_len(m, &e, k) });
			at += sqr_word_len(word);
		}
	}
	return rc != 0 ? no_memory(a) : 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct sqb_old *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Each block once; the same place is the same block, and none overlap. */
static int
order_blocks(struct again *a)
{
	size_t kept = 0;

	if (a->count > 0)
		qsort(a->old, a->count, sizeof(*a->old), by_place);
	for (size_t i = 0; i < a->count; i++) {
		const struct sqb_old *b = &a->old[i];
		const struct sqb_old *last = kept == 0 ? NULL :
		    &a->old[kept - 1];

		if (last != NULL && last->at == b->at) {
			if (last->word != b->word || last->want != b->want ||
			    last->is_fragment != b->is_fragment)
				return refuse(a, "", "a block is two "
				    "different ones");
			continue;
		}
		if (last != NULL && b->at - last->at <
		    sqr_word_len(last->word))
			return refuse(a, "", "blocks overlap");
		a->old[kept++] = *b;
	}
	a->count = kept;
	return 0;
}

static const struct sqb_old *
find_block(const struct again *a, uint64_t at)
{
	struct sqb_old key = { .at = at };

	return bsearch(&key, a->old, a->count, sizeof(*a->old), by_place);
}

/* What the new image is told of a file's data: its units from `unit` on. */
static void
give_file(struct again *a, size_t n, const struct sqr_entry *e,
    uint32_t *unit)
{
	struct sqb_data *d = &a->p->data;
	bool tail = sqr_tail_len(a->i.m, e) > 0;
	uint64_t at = e->start, start = 0;
	uint32_t first = *unit;

	d->of[a->ids[n]] = (struct sqw_data){ .unit = first,
		.blocks = e->blocks, .tail_at = e->tail_at, .tail = tail };
	for (uint32_t k = 0; k < e->blocks; k++, (*unit)++) {
		uint32_t word = sqr_word(e, k);
		const struct sqb_old *b = word == 0 ? NULL :
		    find_block(a, at);

		d->fragment[*unit] = SQUASHFS_NONE;
		d->sizes[*unit] = b == NULL ? 0 : b->size;
		d->starts[*unit] = b == NULL ? 0 : b->start;
		if (start == 0 && b != NULL)
			start = b->start;
		at += sqr_word_len(word);
	}
	if (e->blocks > 0)
		d->starts[first] = start;
	if (tail && e->blocks == 0) {
		d->of[a->ids[n]].unit = e->fragment;
	} else if (tail) {
		d->fragment[*unit] = e->fragment;
		d->sizes[*unit] = 0;
		d->starts[(*unit)++] = 0;
	}
}

static int
give_data(struct again *a)
{
	struct sqb_data *d = &a->p->data;
	uint32_t fragments = sqr_facts(a->i.m)->fragments, unit = 0, word;
	size_t units = a->units + fragments;
	struct sqr_entry e;

	if (units >= UINT32_MAX)
		return refuse(a, "", "it has too many blocks");
	d->ids = a->p->tree.count;
	d->of = sys_calloc(d->ids, sizeof(*d->of));
	d->sizes = sys_malloc((units + 1) * sizeof(*d->sizes));
	d->starts = sys_malloc((units + 1) * sizeof(*d->starts));
	d->fragment = sys_malloc((units + 1) * sizeof(*d->fragment));
	if (d->of == NULL || d->sizes == NULL || d->starts == NULL ||
	    d->fragment == NULL)
		return no_memory(a);
	d->units = units;
	for (; unit < fragments; unit++) {
		const struct sqb_old *b;
		uint64_t at;

		sqr_fragment(a->i.m, unit, &at, &word);
		b = find_block(a, at);
		d->fragment[unit] = unit;
		d->sizes[unit] = b->size;
		d->starts[unit] = b->start;
	}
	for (size_t n = 1; n < sqr_count(a->i.m); n++)
		if (has_data(a, n, &e))
			give_file(a, n, &e, &unit);
	return 0;
}

static int
again_write(void *state, int fd, uint64_t at)
{
	struct again *a = state;
	struct sqb_repack r = { .image = a->i.m, .blocks = a->old,
		.count = a->count };
	char why[256];
	int rc = sqb_repack(&r, &a->p->data, &a->p->o.data, fd, at,
	    &a->p->progress);

	if (r.why != NULL) {
		snprintf(why, sizeof(why), "offset %llu: %s",
		    (unsigned long long)r.bad_at, r.why);
		return refuse(a, "", why);
	}
	return rc != 0 ? rc : give_data(a);
}

/* What the old image says is kept. */
static int
take_facts(struct again *a)
{
	const struct sqr_facts *f = sqr_facts(a->i.m);
	struct sqpack_options *o = &a->p->o;
	char why[128];

	if (o->has_block && o->data.block != f->block) {
		snprintf(why, sizeof(why), "its block size is %u, and stays "
		    "that", f->block);
		return refuse(a, "", why);
	}
	if (o->exclude_count > 0 || o->data.no_fragments ||
	    o->data.no_duplicates)
		return refuse(a, "", "an image keeps its tree and blocks: no "
		    "--exclude, --no-fragments or --no-duplicates");
	o->data.block = f->block;
	o->data.no_fragments = (f->flags & SQUASHFS_NO_FRAGMENTS) != 0;
	o->data.no_duplicates = (f->flags & SQUASHFS_DEDUPLICATED) == 0;
	o->no_export = o->no_export || !f->exports;
	return 0;
}

static int
again_open(struct sqpack *p, void **state, struct sqb_source *files)
{
	struct again *a = sys_calloc(1, sizeof(*a));
	int rc;

	(void)files;
	*state = a;
	if (a == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	a->p = p;
	rc = sqpack_image_open(&a->i, p);
	if (rc == 0 && a->i.refused)
		rc = -EBADMSG;
	if (rc == 0)
		rc = take_facts(a);
	if (rc == 0)
		rc = fill_tree(a);
	if (rc == 0)
		rc = list_blocks(a);
	if (rc == 0)
		rc = order_blocks(a);
	/* the image's time, not that of its newest inode */
	if (rc == 0)
		p->newest = sqr_facts(a->i.m)->mtime;
	return rc;
}

static int
again_finish(void *state)
{
	(void)state;
	return 0;
}

static void
again_close(void *state)
{
	struct again *a = state;

	if (a == NULL)
		return;
	sqpack_image_close(&a->i);
	sys_free(a->ids);
	sys_free(a->old);
	sys_free(a);
}

const struct sqpack_source sqpack_again = {
	.open = again_open, .write = again_write, .finish = again_finish,
	.close = again_close
};

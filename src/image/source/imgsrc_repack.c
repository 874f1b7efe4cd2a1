/*
 * imgsrc_repack.c - a squashfs image as the source of another image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tree is copied with all contents of its inodes.  Each data block is
 * recompressed once, in the order of the old image.  Files that shared blocks
 * still do so, and the blocks of a file remain contiguous.
 *
 * Units (image/squashfs/write/data.h) are the fragment blocks by number, then
 * the blocks of each file.  A file with blocks and a tail also has an empty
 * unit, which represents its fragment block.
 */
#include "imgsrc_repack.h"

#include "base/strbuf.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int
imgsrc_repack_refuse(struct imgsrc_repack *r, const char *path,
    const char *why)
{
	return imgsrc_fail(r->to, -EBADMSG, "%s: %s%s%s", r->to->o.path, path,
	    *path == '\0' ? "" : ": ", why);
}

const char *
imgsrc_repack_path(struct imgsrc_repack *r, size_t number)
{
	const char *path = sq_file_path(&r->f, number);

	return path == NULL ? "" : path;
}

/* Extended attributes, whose sets are added in order */

static int
by_old(const void *a, const void *b)
{
	const struct imgsrc_repack_set *x = a, *y = b;

	if (x->old != y->old)
		return x->old < y->old ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Collects the sets in use, without duplicates. */
static int
list_sets(struct imgsrc_repack *r)
{
	size_t count = sq_count(r->m), kept = 0;
	struct sq_entry e;

	r->sets = sys_malloc(count * sizeof(*r->sets));
	if (r->sets == NULL)
		return imgsrc_no_memory(r->to);
	for (size_t n = 0; n < count; n++) {
		sq_get(r->m, n, &e);
		if (e.xattr != SQUASHFS_NONE)
			r->sets[r->set_count++] = (struct imgsrc_repack_set){
				.old = e.xattr, .name = n };
	}
	if (r->set_count > 0)
		qsort(r->sets, r->set_count, sizeof(*r->sets), by_old);
	for (size_t i = 0; i < r->set_count; i++)
		if (kept == 0 || r->sets[kept - 1].old != r->sets[i].old)
			r->sets[kept++] = r->sets[i];
	r->set_count = kept;
	return 0;
}

static int
add_old_xattr(void *arg, const char *name, const void *value, size_t len)
{
	struct imgsrc_repack *r = arg;

	return sqt_xattrs_add(r->to->xattrs, name, value, len);
}

static int
add_set(struct imgsrc_repack *r, struct imgsrc_repack_set *s)
{
	int rc = sqt_xattrs_begin(r->to->xattrs);

	if (rc == 0)
		rc = sq_xattrs(r->m, s->old, add_old_xattr, r);
	if (rc == 0)
		rc = sqt_xattrs_end(r->to->xattrs, &s->made);
	return rc == 0 ? 0 : imgsrc_repack_refuse(r,
	    imgsrc_repack_path(r, s->name), rc == -EBADMSG ?
	    "the extended attributes cannot be read" : strerror(-rc));
}

static int
add_sets(struct imgsrc_repack *r)
{
	int rc = r->to->xattrs == NULL ? 0 : list_sets(r);

	for (size_t i = 0; rc == 0 && i < r->set_count; i++)
		rc = add_set(r, &r->sets[i]);
	return rc;
}

/* Returns the new index of a set; SQUASHFS_NONE remains SQUASHFS_NONE. */
static uint32_t
set_of(const struct imgsrc_repack *r, uint32_t old)
{
	size_t lo = 0, hi = r->set_count;

	if (old == SQUASHFS_NONE || hi == 0)
		return SQUASHFS_NONE;
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->sets[mid].old <= old)
			lo = mid;
		else
			hi = mid;
	}
	return r->sets[lo].made;
}

/* Names */

static int
add_old_name(struct imgsrc_repack *r, size_t n, const struct sq_entry *e)
{
	struct sqw_attr attr = { .mode = e->mode, .uid = e->uid,
		.gid = e->gid, .rdev = e->rdev, .xattr = set_of(r, e->xattr),
		.size = S_ISREG(e->mode) || S_ISLNK(e->mode) ? e->size : 0 };
	const char *path = sq_file_path(&r->f, n);
	char *target = NULL;
	int rc;

	if (path == NULL)
		return imgsrc_no_memory(r->to);
	if (e->mode == 0 || !e->has_owner)
		return imgsrc_repack_refuse(r, path,
		    "the owner cannot be read");
	if (S_ISLNK(e->mode)) {
		target = strcopy_part(e->target, (size_t)e->size);
		if (target == NULL)
			return imgsrc_no_memory(r->to);
		attr.target = target;
	}
	imgsrc_adjust(r->to, &attr, e->mtime);
	rc = sqw_tree_add(&r->to->tree, path, &attr, &r->ids[n]);
	sys_free(target);
	return rc != 0 ? imgsrc_repack_refuse(r, path, strerror(-rc)) : 0;
}

static int
fill_tree(struct imgsrc_repack *r)
{
	size_t count = sq_count(r->m);
	struct sq_entry e;
	int rc;

	r->ids = sys_malloc(count * sizeof(*r->ids));
	if (r->ids == NULL)
		return imgsrc_no_memory(r->to);
	for (size_t n = 0; n < count; n++) {
		sq_get(r->m, n, &e);
		rc = add_old_name(r, n, &e);
		if (rc != 0)
			return rc;
		if (e.first != n)
			sqw_tree_link(&r->to->tree, r->ids[n], r->ids[e.first]);
	}
	return sqw_tree_finish(&r->to->tree) == 0 ? 0 :
	    imgsrc_no_memory(r->to);
}

static void
report_damage(void *arg, const char *place, const char *why)
{
	struct imgsrc_image *to = arg;

	imgsrc_tell(to, IMGSRC_ERROR, "%s: %s: %s", to->o.path, place, why);
}

int
imgsrc_repack_open_tree(struct imgsrc_repack *r, struct imgsrc_image *to)
{
	struct sq_file_options o = { .path = to->o.path,
		.has_offset = to->o.has_offset, .offset = to->o.offset,
		.threads = to->pack.threads, .memory = to->pack.memory,
		.report = report_damage, .arg = to };
	const char *why;
	int rc;

	r->to = to;
	rc = sq_file_open(&r->f, &o, &why);
	r->m = r->f.image;
	if (rc != 0)
		return imgsrc_fail(to, rc, "%s: %s", to->o.path, why);
	if (r->f.refused) {
		to->told = true;
		return -EBADMSG;
	}
	rc = imgsrc_repack_count(r);
	if (rc == 0)
		rc = add_sets(r);
	if (rc == 0)
		rc = fill_tree(r);
	/* use the time of the old image, not of its newest inode */
	to->newest = sq_facts(r->m)->mtime;
	return rc;
}

void
imgsrc_repack_close_tree(struct imgsrc_repack *r)
{
	sq_file_close(&r->f);
	sys_free(r->ids);
	sys_free(r->sets);
}

/* Data */

static int
repack_write(void *state, int fd, uint64_t at)
{
	struct imgsrc_repack *r = state;
	struct imgsrc_image *to = r->to;
	struct sqw_repack run = { .image = r->m, .blocks = r->old,
		.count = r->count };
	char why[256];
	int rc = sqw_repack(&run, &to->data, &to->pack, fd, at,
	    &to->progress);

	if (run.why != NULL) {
		snprintf(why, sizeof(why), "offset %llu: %s",
		    (unsigned long long)run.bad_at, run.why);
		return imgsrc_repack_refuse(r, "", why);
	}
	return rc != 0 ? rc : imgsrc_repack_give(r);
}

/* Uses the values of the old image. */
static int
use_facts(struct imgsrc_repack *r)
{
	const struct sq_facts *f = sq_facts(r->m);
	struct imgsrc_image *to = r->to;
	char why[128];

	if (to->o.has_block && to->pack.block != f->block) {
		snprintf(why, sizeof(why), "the block size is %u and cannot be "
		    "changed", f->block);
		return imgsrc_repack_refuse(r, "", why);
	}
	if (to->o.exclude_count > 0 || to->pack.no_fragments ||
	    to->pack.no_duplicates)
		return imgsrc_repack_refuse(r, "", "an image keeps its tree "
		    "and blocks: --exclude, --no-fragments and "
		    "--no-duplicates cannot be used");
	to->pack.block = f->block;
	to->pack.no_fragments = (f->flags & SQUASHFS_NO_FRAGMENTS) != 0;
	to->pack.no_duplicates = (f->flags & SQUASHFS_DEDUPLICATED) == 0;
	to->tables.no_export = to->tables.no_export || !f->exports;
	return 0;
}

static int
repack_open(struct imgsrc_image *to, void **state, struct sqw_source *files)
{
	struct imgsrc_repack *r = sys_calloc(1, sizeof(*r));
	int rc;

	(void)files;
	*state = r;
	if (r == NULL)
		return imgsrc_no_memory(to);
	rc = imgsrc_repack_open_tree(r, to);
	if (rc == 0)
		rc = use_facts(r);
	return rc != 0 ? rc : imgsrc_repack_list(r);
}

static void
repack_close(void *state)
{
	struct imgsrc_repack *r = state;

	if (r == NULL)
		return;
	imgsrc_repack_close_tree(r);
	sys_free(r->old);
	sys_free(r);
}

const struct imgsrc_source imgsrc_repack = {
	.open = repack_open, .write = repack_write, .close = repack_close
};

/*
 * sqpack_repack.c - a squashfs image as the source of another image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tree is copied with all contents of its inodes.  Each data block is
 * recompressed once, in the order of the old image.  Files that shared blocks
 * still do so, and the blocks of a file remain contiguous.
 *
 * Units (image/squashfs/write/data.h) are the fragment blocks by number, then the
 * blocks of each file.  A file with blocks and a tail also has an empty unit,
 * which represents its fragment block.
 */
#include "sqpack_repack.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int
repack_refuse(struct repack *r, const char *path, const char *why)
{
	progress_erase(&r->p->progress);
	msg_error(&r->p->msg, "%s: %s%s%s", r->p->o.source, path,
	    *path == '\0' ? "" : ": ", why);
	return -EBADMSG;
}

int
repack_no_memory(struct repack *r)
{
	msg_error(&r->p->msg, "%s", strerror(ENOMEM));
	return -ENOMEM;
}

static int
add_name(struct repack *r, size_t n, const struct sq_entry *e)
{
	struct sqw_attr attr = { .mode = e->mode, .uid = e->uid,
		.gid = e->gid, .rdev = e->rdev,
		.size = S_ISREG(e->mode) || S_ISLNK(e->mode) ? e->size : 0 };
	const char *path = sqpack_image_path(&r->i, n);
	char *target = NULL;
	int rc;

	if (path == NULL)
		return -ENOMEM;
	if (e->mode == 0 || !e->has_owner)
		return repack_refuse(r, path, "the owner cannot be read");
	if (S_ISLNK(e->mode)) {
		target = sys_malloc((size_t)e->size + 1);
		if (target == NULL)
			return repack_no_memory(r);
		memcpy(target, e->target, (size_t)e->size);
		target[e->size] = '\0';
		attr.target = target;
	}
	sqpack_adjust(r->p, &attr, e->mtime);
	attr.xattr = repack_set(r, e->xattr);
	rc = sqw_tree_add(&r->p->tree, path, &attr, &r->ids[n]);
	sys_free(target);
	return rc != 0 ? repack_refuse(r, path, strerror(-rc)) : 0;
}

static int
fill_tree(struct repack *r)
{
	size_t count = sq_count(r->i.m);
	struct sq_entry e;
	int rc = 0;

	r->ids = sys_malloc(count * sizeof(*r->ids));
	if (r->ids == NULL)
		return repack_no_memory(r);
	for (size_t n = 0; rc == 0 && n < count; n++) {
		sq_get(r->i.m, n, &e);
		rc = add_name(r, n, &e);
		if (rc == 0 && e.first != n)
			sqw_tree_link(&r->p->tree, r->ids[n],
			    r->ids[e.first]);
	}
	if (rc == 0 && sqw_tree_finish(&r->p->tree) != 0)
		return repack_no_memory(r);
	return rc;
}

static int
repack_write(void *state, int fd, uint64_t at)
{
	struct repack *r = state;
	struct sqw_repack run = { .image = r->i.m, .blocks = r->old,
		.count = r->count };
	char why[256];
	int rc = sqw_repack(&run, &r->p->data, &r->p->o.data, fd, at,
	    &r->p->progress);

	if (run.why != NULL) {
		snprintf(why, sizeof(why), "offset %llu: %s",
		    (unsigned long long)run.bad_at, run.why);
		return repack_refuse(r, "", why);
	}
	rc = sqpack_fail(r->p, r->p->o.output, rc);
	return rc != 0 ? rc : repack_give(r);
}

/* Uses the values of the old image. */
static int
take_facts(struct repack *r)
{
	const struct sq_facts *f = sq_facts(r->i.m);
	struct sqpack_options *o = &r->p->o;
	char why[128];

	if (o->has_block && o->data.block != f->block) {
		snprintf(why, sizeof(why), "the block size is %u and cannot be "
		    "changed", f->block);
		return repack_refuse(r, "", why);
	}
	if (o->exclude_count > 0 || o->data.no_fragments ||
	    o->data.no_duplicates)
		return repack_refuse(r, "", "an image keeps its tree and "
		    "blocks: --exclude, --no-fragments and --no-duplicates "
		    "cannot be used");
	o->data.block = f->block;
	o->data.no_fragments = (f->flags & SQUASHFS_NO_FRAGMENTS) != 0;
	o->data.no_duplicates = (f->flags & SQUASHFS_DEDUPLICATED) == 0;
	o->no_export = o->no_export || !f->exports;
	return 0;
}

int
repack_open_tree(struct repack *r, struct sqpack *p)
{
	int rc;

	r->p = p;
	rc = sqpack_image_open(&r->i, p);
	if (rc == 0 && r->i.refused)
		rc = -EBADMSG;
	if (rc == 0)
		rc = repack_count(r);
	if (rc == 0)
		rc = repack_take_xattrs(r);
	if (rc == 0)
		rc = fill_tree(r);
	/* use the time of the old image, not of its newest inode */
	if (rc == 0)
		p->newest = sq_facts(r->i.m)->mtime;
	return rc;
}

static int
repack_open(struct sqpack *p, void **state, struct sqw_source *files)
{
	struct repack *r = sys_calloc(1, sizeof(*r));
	int rc;

	(void)files;
	*state = r;
	if (r == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	rc = repack_open_tree(r, p);
	if (rc == 0)
		rc = take_facts(r);
	return rc != 0 ? rc : repack_list(r);
}

static int
repack_finish(void *state)
{
	(void)state;
	return 0;
}

void
repack_close_tree(struct repack *r)
{
	sqpack_image_close(&r->i);
	sys_free(r->ids);
	sys_free(r->sets);
}

static void
repack_close(void *state)
{
	struct repack *r = state;

	if (r == NULL)
		return;
	repack_close_tree(r);
	sys_free(r->old);
	sys_free(r);
}

const struct sqpack_source sqpack_repack = {
	.open = repack_open, .write = repack_write, .finish = repack_finish,
	.close = repack_close
};

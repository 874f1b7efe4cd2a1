/*
 * layermount_store_place.c - the meaning of inode numbers in a store
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The inode number of a file in a layer has the number of the layer in its
 * upper half.  For names of the store itself the upper half is 0, and the lower
 * half combines the number of an image or layer with the type of name.  The
 * root is 1.
 */
#include "layermount_store_place.h"

#include <errno.h>

static struct vfs_store *
store_of(fuse_req_t req)
{
	struct layermount *m = fuse_req_userdata(req);

	return m->store;
}

/* Numbers */

fuse_ino_t
place_number(enum place_kind kind, uint64_t of)
{
	return of * PLACE_KINDS + kind;
}

static bool
find_in_tree(struct place *p, fuse_ino_t ino)
{
	p->in_tree = true;
	p->layer = vfs_store_hold(p->store, ino >> 32);
	p->inode = (uint32_t)ino - FUSE_ROOT_ID;
	return p->layer != NULL && p->inode < merge_count(
	    p->layer->stack.tree);
}

static bool
find_name(struct place *p, fuse_ino_t ino)
{
	p->kind = (enum place_kind)(ino % PLACE_KINDS);
	p->number = ino / PLACE_KINDS;
	switch (p->kind) {
	case PLACE_ROOT:
		return p->number == 0;
	case PLACE_IMAGE:
		p->image = vfs_store_image(p->store, p->number);
		return p->image != NULL;
	case PLACE_LAYER: case PLACE_INFO: case PLACE_BLOB:
		p->layer = vfs_store_hold(p->store, p->number);
		return p->layer != NULL;
	default:
		return false;
	}
}

bool
place_find(fuse_req_t req, fuse_ino_t ino, struct place *p)
{
	*p = (struct place){ .store = store_of(req) };
	if (ino >> 32 != 0 ? find_in_tree(p, ino) : find_name(p, ino))
		return true;
	place_leave(p);
	fuse_reply_err(req, ESTALE);
	return false;
}

void
place_leave(struct place *p)
{
	if (p->layer != NULL)
		vfs_store_let_go(p->store, p->layer);
	p->layer = NULL;
}

void
place_forget(struct vfs_store *s, fuse_ino_t ino, uint64_t count)
{
	if (ino >> 32 != 0)
		vfs_store_forget(s, ino >> 32, (int64_t)((uint32_t)ino -
		    FUSE_ROOT_ID), count);
	else if (ino % PLACE_KINDS == PLACE_LAYER || ino % PLACE_KINDS ==
	    PLACE_INFO || ino % PLACE_KINDS == PLACE_BLOB)
		vfs_store_forget(s, ino / PLACE_KINDS, MERGE_NONE, count);
}

void
place_stat(const struct place *p, fuse_ino_t ino, struct stat *st)
{
	bool file = p->kind == PLACE_INFO || p->kind == PLACE_BLOB;

	*st = (struct stat){ .st_ino = ino, .st_nlink = file ? 1 : 2,
		.st_mode = file ? S_IFREG | 0444 : S_IFDIR | 0755 };
	if (p->kind == PLACE_INFO)
		st->st_size = (off_t)p->layer->info_length;
	else if (p->kind == PLACE_BLOB)
		st->st_size = (off_t)p->layer->size;
	st->st_blocks = st->st_size / 512 + (st->st_size % 512 != 0);
}

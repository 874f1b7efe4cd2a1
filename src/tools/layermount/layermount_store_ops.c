/*
 * layermount_store_ops.c - the operations of an additional layer store
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The kernel's number of a file in a layer has the layer's number in its upper
 * half.  In that of the store's own names it is 0, and the lower half is the
 * number of an image or layer and what the name is of it; the root is 1.
 * Missing names are never cached: a layer may be readable next time.
 */
#include "layermount_store.h"

#include "layermount_tree.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum kind { ROOT = 1, IMAGE, LAYER, INFO, BLOB, KINDS = 8 };

/* What a number stands for; layer and image are NULL if it has none. */
struct place {
	struct store *store;
	enum kind kind;			/* if not in a tree */
	uint64_t number;
	struct store_image *image;
	struct store_layer *layer;
	bool in_tree;
	uint32_t inode;			/* of the tree */
};

static struct store *
store_of(fuse_req_t req)
{
	struct layermount *m = fuse_req_userdata(req);

	return m->store;
}

/* Numbers */

static fuse_ino_t
number_of(enum kind kind, uint64_t of)
{
	return of * KINDS + kind;
}

static bool
find_in_tree(struct place *p, fuse_ino_t ino)
{
	p->in_tree = true;
	p->layer = store_layer(p->store, ino >> 32);
	p->inode = (uint32_t)ino - FUSE_ROOT_ID;
	return p->layer != NULL && p->inode < merge_count(
	    p->layer->stack.tree);
}

static bool
find_own(struct place *p, fuse_ino_t ino)
{
	p->kind = (enum kind)(ino % KINDS);
	p->number = ino / KINDS;
	switch (p->kind) {
	case ROOT:
		return p->number == 0;
	case IMAGE:
		p->image = store_image(p->store, p->number);
		return p->image != NULL;
	case LAYER: case INFO: case BLOB:
		p->layer = store_layer(p->store, p->number);
		return p->layer != NULL;
	default:
		return false;
	}
}

/* Finds what a number stands for, or replies and returns false. */
static bool
find(fuse_req_t req, fuse_ino_t ino, struct place *p)
{
	*p = (struct place){ .store = store_of(req) };
	if (ino >> 32 != 0 ? find_in_tree(p, ino) : find_own(p, ino))
		return true;
	fuse_reply_err(req, ESTALE);
	return false;
}

/* Attributes and names */

static void
stat_own(const struct place *p, fuse_ino_t ino, struct stat *st)
{
	bool file = p->kind == INFO || p->kind == BLOB;

	*st = (struct stat){ .st_ino = ino, .st_nlink = file ? 1 : 2,
		.st_mode = file ? S_IFREG | 0444 : S_IFDIR | 0755 };
	if (p->kind == INFO)
		st->st_size = (off_t)p->layer->info_length;
	else if (p->kind == BLOB)
		st->st_size = (off_t)p->layer->size;
	st->st_blocks = st->st_size / 512 + (st->st_size % 512 != 0);
}

static void
reply_own(fuse_req_t req, enum kind kind, uint64_t number)
{
	struct fuse_entry_param e = { .attr_timeout = TREE_FOREVER,
		.entry_timeout = TREE_FOREVER,
		.ino = number_of(kind, number) };
	struct place p;

	if (!find(req, e.ino, &p))
		return;
	stat_own(&p, e.ino, &e.attr);
	fuse_reply_entry(req, &e);
}

static void
reply_found(fuse_req_t req, enum kind kind, int64_t number)
{
	if (number < 0)
		fuse_reply_err(req, (int)-number);
	else
		reply_own(req, kind, (uint64_t)number);
}

static void
lookup_in_layer(fuse_req_t req, struct place *p, const char *name)
{
	struct fuse_entry_param e;

	if (strcmp(name, "diff") == 0) {
		tree_entry(&p->layer->stack, MERGE_ROOT, &e);
		fuse_reply_entry(req, &e);
	} else if (strcmp(name, "info") == 0) {
		reply_own(req, INFO, p->number);
	} else if (strcmp(name, "blob") == 0) {
		reply_own(req, BLOB, p->number);
	} else {
		fuse_reply_err(req, ENOENT);
	}
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct place p;

	if (!find(req, parent, &p))
		return;
	if (p.in_tree)
		tree_lookup(req, &p.layer->stack, p.inode, name);
	else if (p.kind == ROOT)
		reply_found(req, IMAGE, store_find_image(p.store, name));
	else if (p.kind == IMAGE)
		reply_found(req, LAYER, store_find_layer(p.store, p.number,
		    name));
	else
		lookup_in_layer(req, &p, name);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	struct place p;

	(void)fi;
	if (!find(req, ino, &p))
		return;
	if (p.in_tree) {
		tree_getattr(req, &p.layer->stack, p.inode);
		return;
	}
	stat_own(&p, ino, &st);
	fuse_reply_attr(req, &st, TREE_FOREVER);
}

static void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct place p;

	if (!find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_readlink(req, &p.layer->stack, p.inode);
	else
		fuse_reply_err(req, EINVAL);
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct layermount *m = fuse_req_userdata(req);

	(void)ino;
	tree_statfs(req, atomic_load(&m->files));
}

/* Directories: the store's own cannot be listed */

static void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static void
list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
	struct place p;

	if (!find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_list(req, &p.layer->stack, p.inode, size, offset, plus);
	else
		fuse_reply_buf(req, NULL, 0);
}

static void
op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, offset, false);
}

static void
op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, offset, true);
}

/* Extended attributes */

static void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct place p;

	if (!find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_getxattr(req, &p.layer->stack, p.inode, name, size);
	else
		fuse_reply_err(req, ENODATA);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct place p;

	if (!find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_listxattr(req, &p.layer->stack, p.inode, size);
	else if (size == 0)
		fuse_reply_xattr(req, 0);
	else
		fuse_reply_buf(req, NULL, 0);
}

/* Files */

/* Returns the layer if this is its blob, or NULL. */
static struct store_layer *
blob_of(const struct place *p)
{
	return !p->in_tree && p->kind == BLOB ? p->layer : NULL;
}

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct store_layer *blob;
	struct place p;
	int rc = 0;

	if (!find(req, ino, &p))
		return;
	blob = blob_of(&p);
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		rc = -EROFS;
	else if (blob != NULL)
		rc = store_blob_open(blob);
	/* nothing changes */
	fi->keep_cache = 1;
	if (rc != 0)
		fuse_reply_err(req, rc == -EROFS || rc == -ENOMEM ? -rc : EIO);
	else if (fuse_reply_open(req, fi) == -ENOENT && blob != NULL)
		/* the caller was interrupted: there is no release */
		store_blob_close(blob);
}

static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct store_layer *blob;
	struct place p;

	(void)fi;
	if (!find(req, ino, &p))
		return;
	blob = blob_of(&p);
	if (blob != NULL)
		store_blob_close(blob);
	fuse_reply_err(req, 0);
}

static void
read_blob(fuse_req_t req, struct store_layer *l, size_t size, off_t offset)
{
	char *buf = sys_malloc(size + 1);
	ssize_t n = buf == NULL ? -ENOMEM : store_blob_read(l, buf, size,
	    offset);

	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	sys_free(buf);
}

static void
read_info(fuse_req_t req, const struct store_layer *l, size_t size,
    off_t offset)
{
	size_t at = (uint64_t)offset < l->info_length ? (size_t)offset :
	    l->info_length;
	size_t left = l->info_length - at;

	fuse_reply_buf(req, l->info + at, size < left ? size : left);
}

static void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	struct place p;

	(void)fi;
	if (!find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_read(req, &p.layer->stack, p.inode, size, offset);
	else if (p.kind == BLOB)
		read_blob(req, p.layer, size, offset);
	else if (p.kind == INFO)
		read_info(req, p.layer, size, offset);
	else
		fuse_reply_err(req, EISDIR);
}

/* Users of layers */

static void
op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
    struct fuse_file_info *fi)
{
	struct place p;
	bool use;

	(void)mode;
	(void)fi;
	if (!find(req, parent, &p))
		return;
	use = !p.in_tree && p.kind == LAYER && strcmp(name, "use") == 0;
	if (use)
		store_use(p.store, p.layer, true);
	fuse_reply_err(req, use ? ENOENT : EROFS);
}

static void
op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct store_layer *l = NULL;
	struct place p;
	int64_t number;

	if (!find(req, parent, &p))
		return;
	if (!p.in_tree && p.kind == IMAGE) {
		number = store_find_layer(p.store, p.number, name);
		l = number > 0 ? store_layer(p.store, (uint64_t)number) : NULL;
		if (l != NULL)
			store_use(p.store, l, false);
	}
	fuse_reply_err(req, p.in_tree || p.kind != IMAGE ? EROFS : ENOENT);
}

static void
op_init(void *arg, struct fuse_conn_info *c)
{
	tree_init(arg, c);
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.create = op_create,
	.rmdir = op_rmdir,
};

const struct fuse_lowlevel_ops *const layermount_store_ops = &ops;

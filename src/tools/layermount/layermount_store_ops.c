/*
 * layermount_store_ops.c - the operations of an additional layer store
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Missing names are never cached, because a layer may become readable later.
 */
#include "layermount_store_place.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Names and attributes */

/* Replies with an image, or with one of the names of a layer, which is held. */
static void
reply_own(fuse_req_t req, enum place_kind kind, uint64_t number,
    struct store_layer *l)
{
	struct fuse_entry_param e = { .attr_timeout = TREE_FOREVER,
		.entry_timeout = TREE_FOREVER,
		.ino = place_number(kind, number) };
	const struct place p = { .kind = kind, .layer = l };

	place_stat(&p, e.ino, &e.attr);
	/* the kernel may return a reference as soon as it has the reply */
	if (l != NULL)
		atomic_fetch_add(&l->stack.references, 1);
	if (fuse_reply_entry(req, &e) != 0 && l != NULL)
		atomic_fetch_sub(&l->stack.references, 1);
}

static void
lookup_image(fuse_req_t req, struct store *s, const char *name)
{
	int64_t number = store_find_image(s, name);

	if (number < 0)
		fuse_reply_err(req, (int)-number);
	else
		reply_own(req, PLACE_IMAGE, (uint64_t)number, NULL);
}

static void
lookup_layer(fuse_req_t req, const struct place *p, const char *name)
{
	struct store_layer *l;
	int rc = store_find_layer(p->store, p->number, name, &l);

	if (rc != 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	reply_own(req, PLACE_LAYER, l->number, l);
	store_let_go(p->store, l);
}

static void
lookup_in_layer(fuse_req_t req, const struct place *p, const char *name)
{
	if (strcmp(name, "diff") == 0)
		tree_reply_entry(req, &p->layer->stack, MERGE_ROOT);
	else if (strcmp(name, "info") == 0)
		reply_own(req, PLACE_INFO, p->number, p->layer);
	else if (strcmp(name, "blob") == 0)
		reply_own(req, PLACE_BLOB, p->number, p->layer);
	else
		fuse_reply_err(req, ENOENT);
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct place p;

	if (!place_find(req, parent, &p))
		return;
	if (p.in_tree)
		tree_lookup(req, &p.layer->stack, p.inode, name);
	else if (p.kind == PLACE_ROOT)
		lookup_image(req, p.store, name);
	else if (p.kind == PLACE_IMAGE)
		lookup_layer(req, &p, name);
	else
		lookup_in_layer(req, &p, name);
	place_leave(&p);
}

static void
op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct layermount *m = fuse_req_userdata(req);

	place_forget(m->store, ino, count);
	fuse_reply_none(req);
}

static void
op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *all)
{
	struct layermount *m = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		place_forget(m->store, all[i].ino, all[i].nlookup);
	fuse_reply_none(req);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;
	struct place p;

	(void)fi;
	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree) {
		tree_getattr(req, &p.layer->stack, p.inode);
	} else {
		place_stat(&p, ino, &st);
		fuse_reply_attr(req, &st, TREE_FOREVER);
	}
	place_leave(&p);
}

static void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct place p;

	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_readlink(req, &p.layer->stack, p.inode);
	else
		fuse_reply_err(req, EINVAL);
	place_leave(&p);
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct layermount *m = fuse_req_userdata(req);

	(void)ino;
	tree_statfs(req, atomic_load(&m->files));
}

/* Directories (those of the store itself cannot be listed) */

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

	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_list(req, &p.layer->stack, p.inode, size, offset, plus);
	else
		fuse_reply_buf(req, NULL, 0);
	place_leave(&p);
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

	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_getxattr(req, &p.layer->stack, p.inode, name, size);
	else
		fuse_reply_err(req, ENODATA);
	place_leave(&p);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct place p;

	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_listxattr(req, &p.layer->stack, p.inode, size);
	else if (size == 0)
		fuse_reply_xattr(req, 0);
	else
		fuse_reply_buf(req, NULL, 0);
	place_leave(&p);
}

/* Files */

/* Returns the layer if this is its blob, or NULL. */
static struct store_layer *
blob_of(const struct place *p)
{
	return !p->in_tree && p->kind == PLACE_BLOB ? p->layer : NULL;
}

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct store_layer *blob;
	struct place p;
	int rc = 0;

	if (!place_find(req, ino, &p))
		return;
	blob = blob_of(&p);
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		rc = -EROFS;
	else if (blob != NULL)
		rc = store_blob_open(blob);
	/* the filesystem never changes */
	fi->keep_cache = 1;
	if (rc != 0)
		fuse_reply_err(req, rc == -EROFS || rc == -ENOMEM ? -rc : EIO);
	else if (fuse_reply_open(req, fi) == -ENOENT && blob != NULL)
		/*
		 * the caller was interrupted, so there will be no release
		 * request
		 */
		store_blob_close(blob);
	place_leave(&p);
}

static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct store_layer *blob;
	struct place p;

	(void)fi;
	if (!place_find(req, ino, &p))
		return;
	blob = blob_of(&p);
	if (blob != NULL)
		store_blob_close(blob);
	fuse_reply_err(req, 0);
	place_leave(&p);
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
	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_read(req, &p.layer->stack, p.inode, size, offset);
	else if (p.kind == PLACE_BLOB)
		read_blob(req, p.layer, size, offset);
	else if (p.kind == PLACE_INFO)
		read_info(req, p.layer, size, offset);
	else
		fuse_reply_err(req, EISDIR);
	place_leave(&p);
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
	if (!place_find(req, parent, &p))
		return;
	use = !p.in_tree && p.kind == PLACE_LAYER && strcmp(name, "use") == 0;
	if (use)
		store_use(p.store, p.layer);
	fuse_reply_err(req, use ? ENOENT : EROFS);
	place_leave(&p);
}

static void
op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct place p;
	bool release;

	if (!place_find(req, parent, &p))
		return;
	release = !p.in_tree && p.kind == PLACE_IMAGE;
	if (release)
		store_release(p.store, p.image, name);
	fuse_reply_err(req, release ? ENOENT : EROFS);
	place_leave(&p);
}

static const struct fuse_lowlevel_ops ops = {
	.init = tree_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
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

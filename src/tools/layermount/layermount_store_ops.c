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
    struct vfs_store_layer *l)
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
lookup_image(fuse_req_t req, struct vfs_store *s, const char *name)
{
	int64_t number = vfs_store_find_image(s, name);

	if (number < 0)
		fuse_reply_err(req, (int)-number);
	else
		reply_own(req, PLACE_IMAGE, (uint64_t)number, NULL);
}

static void
lookup_layer(fuse_req_t req, const struct place *p, const char *name)
{
	struct layermount *m = fuse_req_userdata(req);
	struct vfs_store_layer *l;
	bool opened;
	int rc = vfs_store_find_layer(p->store, p->number, name, &l, &opened);

	if (rc != 0) {
		fuse_reply_err(req, -rc);
		return;
	}
	if (opened)
		readahead_lower(&m->readahead);
	reply_own(req, PLACE_LAYER, l->number, l);
	vfs_store_let_go(p->store, l);
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
	struct vfs_counts c;

	(void)ino;
	vfs_counted(m->vfs, &c);
	tree_statfs(req, c.files);
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
list_place(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
	struct place p;

	if (!place_find(req, ino, &p))
		return;
	if (p.in_tree)
		tree_readdir(req, &p.layer->stack, p.inode, size, offset, plus);
	else
		fuse_reply_buf(req, NULL, 0);
	place_leave(&p);
}

static void
op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	(void)fi;
	list_place(req, ino, size, offset, false);
}

static void
op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	(void)fi;
	list_place(req, ino, size, offset, true);
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
static struct vfs_store_layer *
blob_of(const struct place *p)
{
	return !p->in_tree && p->kind == PLACE_BLOB ? p->layer : NULL;
}

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct vfs_store_layer *blob;
	struct place p;
	int rc = 0;

	if (!place_find(req, ino, &p))
		return;
	blob = blob_of(&p);
	if ((fi->flags & O_ACCMODE) != O_RDONLY)
		rc = -EROFS;
	else if (blob != NULL)
		rc = vfs_store_blob_open(blob);
	/* the filesystem never changes */
	fi->keep_cache = 1;
	if (rc != 0)
		fuse_reply_err(req, rc == -EROFS || rc == -ENOMEM ? -rc : EIO);
	else if (fuse_reply_open(req, fi) == -ENOENT && blob != NULL)
		/*
		 * the caller was interrupted, so there will be no release
		 * request
		 */
		vfs_store_blob_close(blob);
	place_leave(&p);
}

static void
op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct vfs_store_layer *blob;
	struct place p;

	(void)fi;
	if (!place_find(req, ino, &p))
		return;
	blob = blob_of(&p);
	if (blob != NULL)
		vfs_store_blob_close(blob);
	fuse_reply_err(req, 0);
	place_leave(&p);
}

static void
read_blob(fuse_req_t req, struct vfs_store_layer *l, size_t size, off_t offset)
{
	char *buf = sys_malloc(size + 1);
	ssize_t n = buf == NULL ? -ENOMEM : vfs_store_blob_read(l, buf, size,
	    offset);

	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
	sys_free(buf);
}

static void
read_info(fuse_req_t req, const struct vfs_store_layer *l, size_t size,
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
		vfs_store_use(p.store, p.layer);
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
		vfs_store_release(p.store, p.image, name);
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

/* References */

static void
drop_name(struct layermount *m, fuse_ino_t parent, const char *name)
{
	(void)fuse_lowlevel_notify_inval_entry(m->session, parent, name,
	    strlen(name));
}

/* Asks the kernel to drop the names of a layer and all whose inode it knows. */
static void
ask_kernel(void *arg, struct vfs_store_layer *l, bool all)
{
	static const char *const names[] = { "diff", "info", "blob" };
	const struct vfs_stack *s = &l->stack;
	struct layermount *m = arg;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		drop_name(m, place_number(PLACE_LAYER, l->number), names[i]);
	drop_name(m, place_number(PLACE_IMAGE, l->image->number), l->digest);
	for (size_t i = 1; all && i < merge_count(s->tree); i++) {
		const struct merge_node *n = merge_node(s->tree, (uint32_t)i);

		if (atomic_load(&s->lookups[n->inode]) > 0)
			drop_name(m, tree_number(s, n->parent), n->name);
	}
}

static void
forget_pushed(void *arg, struct vfs_stack *s)
{
	struct layermount *m = arg;

	push_forget(m->push, s);
}

int
layermount_store_open(struct layermount *m)
{
	const struct vfs_store_options o = { .registries = m->o.registries,
		.registry_count = m->o.registry_count,
		.idle_s = m->o.idle_s, .ask_back = ask_kernel,
		.closing = forget_pushed, .arg = m };

	return vfs_store_open(&m->store, m->vfs, &o);
}

/*
 * layermount_ops.c - the operations of the filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Without --store, inode n in the kernel is inode n - 1 of the tree of the only
 * stack.  The filesystem never changes, so the kernel may cache names,
 * attributes and pages; a single ENOSYS indicates that files and directories
 * need not be opened.
 *
 * With --store, the inode number of a file in a layer has the number of the
 * layer in its upper half.  For names of the store itself the upper half is 0,
 * and the lower half combines the number of an image or layer with the type of
 * name.  The root is 1.  Missing names are never cached, because a layer may
 * become readable later.
 */
#include "layermount_tree.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* What a number stands for */

enum place_kind {
	PLACE_ROOT = 1, PLACE_IMAGE, PLACE_LAYER, PLACE_INFO, PLACE_BLOB,
	PLACE_KINDS = 8
};

/*
 * The object with an inode number; layer and image are NULL if there is none.
 */
struct place {
	struct vfs_stack *stack;	/* NULL: a name of the store itself */
	uint32_t inode;			/* inode in the tree of the stack */
	struct vfs_store *store;
	enum place_kind kind;		/* of a name of the store */
	uint64_t number;
	struct vfs_store_image *image;
	struct vfs_store_layer *layer;	/* held */
};

/* Returns the inode number of a name of the store itself. */
static fuse_ino_t
place_number(enum place_kind kind, uint64_t of)
{
	return of * PLACE_KINDS + kind;
}

static void
place_leave(struct place *p)
{
	if (p->layer != NULL)
		vfs_store_let_go(p->store, p->layer);
}

/*
 * Finds what a number stands for, and holds its layer, until place_leave(); or
 * replies and returns false.
 */
static bool
place_find(fuse_req_t req, fuse_ino_t ino, struct place *p)
{
	struct layermount *m = fuse_req_userdata(req);
	bool found = false;

	*p = (struct place){ .store = m->store };
	if (m->store == NULL) {
		p->stack = &m->stack;
		p->inode = (uint32_t)(ino - FUSE_ROOT_ID);
		found = ino >= FUSE_ROOT_ID &&
		    ino - FUSE_ROOT_ID < merge_count(m->stack.tree);
	} else if (ino >> 32 != 0) {
		p->layer = vfs_store_hold(m->store, ino >> 32);
		p->inode = (uint32_t)ino - FUSE_ROOT_ID;
		if (p->layer != NULL) {
			p->stack = &p->layer->stack;
			found = p->inode < merge_count(p->stack->tree);
		}
	} else {
		p->kind = (enum place_kind)(ino % PLACE_KINDS);
		p->number = ino / PLACE_KINDS;
		switch (p->kind) {
		case PLACE_ROOT:
			found = p->number == 0;
			break;
		case PLACE_IMAGE:
			p->image = vfs_store_image(m->store, p->number);
			found = p->image != NULL;
			break;
		case PLACE_LAYER: case PLACE_INFO: case PLACE_BLOB:
			p->layer = vfs_store_hold(m->store, p->number);
			found = p->layer != NULL;
			break;
		default:
			break;
		}
	}
	if (!found) {
		place_leave(p);
		fuse_reply_err(req, ESTALE);
	}
	return found;
}

/* Fills in the attributes of a name of the store itself, given its number. */
static void
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
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct layermount *m = fuse_req_userdata(req);
	struct vfs_store_layer *l;
	struct place p;
	int64_t number;
	bool opened;
	int rc;

	if (!place_find(req, parent, &p))
		return;
	if (p.stack != NULL) {
		tree_lookup(req, p.stack, p.inode, name);
	} else if (p.kind == PLACE_ROOT) {
		number = vfs_store_find_image(p.store, name);
		if (number < 0)
			fuse_reply_err(req, (int)-number);
		else
			reply_own(req, PLACE_IMAGE, (uint64_t)number, NULL);
	} else if (p.kind == PLACE_IMAGE) {
		rc = vfs_store_find_layer(p.store, p.number, name, &l, &opened);
		if (rc != 0) {
			fuse_reply_err(req, -rc);
		} else {
			if (opened)
				readahead_lower(&m->readahead);
			reply_own(req, PLACE_LAYER, l->number, l);
			vfs_store_let_go(p.store, l);
		}
	} else if (strcmp(name, "diff") == 0) {
		tree_reply_entry(req, &p.layer->stack, MERGE_ROOT);
	} else if (strcmp(name, "info") == 0) {
		reply_own(req, PLACE_INFO, p.number, p.layer);
	} else if (strcmp(name, "blob") == 0) {
		reply_own(req, PLACE_BLOB, p.number, p.layer);
	} else {
		fuse_reply_err(req, ENOENT);
	}
	place_leave(&p);
}

/* Counts references that the kernel returned to a number. */
static void
forget(struct vfs_store *s, fuse_ino_t ino, uint64_t count)
{
	if (s == NULL)
		return;
	if (ino >> 32 != 0)
		vfs_store_forget(s, ino >> 32, (int64_t)((uint32_t)ino -
		    FUSE_ROOT_ID), count);
	else if (ino % PLACE_KINDS == PLACE_LAYER || ino % PLACE_KINDS ==
	    PLACE_INFO || ino % PLACE_KINDS == PLACE_BLOB)
		vfs_store_forget(s, ino / PLACE_KINDS, MERGE_NONE, count);
}

static void
op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct layermount *m = fuse_req_userdata(req);

	forget(m->store, ino, count);
	fuse_reply_none(req);
}

static void
op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *all)
{
	struct layermount *m = fuse_req_userdata(req);

	for (size_t i = 0; i < count; i++)
		forget(m->store, all[i].ino, all[i].nlookup);
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
	if (p.stack != NULL) {
		tree_getattr(req, p.stack, p.inode);
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
	if (p.stack != NULL)
		tree_readlink(req, p.stack, p.inode);
	else
		fuse_reply_err(req, EINVAL);
	place_leave(&p);
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct layermount *m = fuse_req_userdata(req);
	struct vfs_counts c;

	(void)ino;
	vfs_counted(m->vfs, &c);
	tree_statfs(req, m->store == NULL ? merge_count(m->stack.tree) :
	    c.files);
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
	if (p.stack != NULL)
		tree_readdir(req, p.stack, p.inode, size, offset, plus);
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
	if (p.stack != NULL)
		tree_getxattr(req, p.stack, p.inode, name, size);
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
	if (p.stack != NULL)
		tree_listxattr(req, p.stack, p.inode, size);
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
	return p->stack == NULL && p->kind == PLACE_BLOB ? p->layer : NULL;
}

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct layermount *m = fuse_req_userdata(req);
	struct vfs_store_layer *blob;
	struct place p;
	int rc = 0;

	if (m->store == NULL) {
		fuse_reply_err(req, ENOSYS);
		return;
	}
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
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	struct place p;
	uint64_t left;
	ssize_t n;
	char *buf;

	(void)fi;
	if (!place_find(req, ino, &p))
		return;
	if (p.stack != NULL) {
		tree_read(req, p.stack, p.inode, size, offset);
	} else if (p.kind == PLACE_BLOB) {
		buf = sys_malloc(size + 1);
		n = buf == NULL ? -ENOMEM : vfs_store_blob_read(p.layer, buf,
		    size, offset);
		if (n < 0)
			fuse_reply_err(req, (int)-n);
		else
			fuse_reply_buf(req, buf, (size_t)n);
		sys_free(buf);
	} else if (p.kind == PLACE_INFO) {
		left = p.layer->info_length;
		left -= (uint64_t)offset < left ? (uint64_t)offset : left;
		fuse_reply_buf(req, p.layer->info + p.layer->info_length - left,
		    size < left ? size : (size_t)left);
	} else {
		fuse_reply_err(req, EISDIR);
	}
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
	use = p.stack == NULL && p.kind == PLACE_LAYER && strcmp(name, "use") == 0;
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
	release = p.stack == NULL && p.kind == PLACE_IMAGE;
	if (release)
		vfs_store_release(p.store, p.image, name);
	fuse_reply_err(req, release ? ENOENT : EROFS);
	place_leave(&p);
}

/* Requests kernel features that suit files that never change. */
static void
op_init(void *arg, struct fuse_conn_info *c)
{
	const struct layermount *m = arg;

	if (m->o.readahead < c->max_readahead)
		c->max_readahead = (unsigned)m->o.readahead;
	c->want |= c->capable & (FUSE_CAP_CACHE_SYMLINKS |
	    FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_READDIRPLUS |
	    FUSE_CAP_PARALLEL_DIROPS);
	if (!m->o.store)
		c->want |= c->capable & FUSE_CAP_NO_OPEN_SUPPORT;
	/* attributes cost nothing here, so always include them in listings */
	c->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
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

const struct fuse_lowlevel_ops *const layermount_ops = &ops;

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

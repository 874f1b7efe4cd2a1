/*
 * layermount_ops.c - the operations of the filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Without --store, inode n in the kernel is inode n - 1 of the tree of the only
 * stack, or of a stack nested in it, whose number is in the upper half.  The
 * filesystem never changes, so the kernel may cache names,
 * attributes and pages; a single ENOSYS indicates that files and directories
 * need not be opened.
 *
 * With --store, the inode number of a file in a layer has the number of the
 * layer in its upper half.  For names of the store itself the upper half is 0,
 * and the lower half combines the number of an image or layer with the type of
 * name.  The root is 1.  Missing names are never cached, because a layer may
 * become readable later.
 *
 * Attributes that overlayfs interprets are set only by this file, because those
 * in a layer could cause overlayfs to show files that are not in the layer.
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { BLOCK = 4096, LISTING_MAX = 64 << 10 };

/*
 * The cache lifetime, in seconds, of names and attributes, which never change.
 */
#define FOREVER 86400.0

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
		p->stack = ino >> 32 == 0 ? &m->stack :
		    vfs_stack_numbered(&m->stack, ino >> 32);
		p->inode = (uint32_t)ino - FUSE_ROOT_ID;
		found = p->stack != NULL &&
		    p->inode < merge_count(p->stack->tree);
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

static void
stat_of(struct vfs_stack *s, uint32_t inode, struct stat *st)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	const struct layer_entry *e = n->entry;

	*st = (struct stat){ .st_ino = s->first_inode + inode,
		.st_nlink = vfs_stack_links(s, inode), .st_blksize = BLOCK,
		.st_mode = S_IFDIR | 0755 };
	if (n->whiteout)
		st->st_mode = S_IFCHR;
	if (e == NULL || n->whiteout)
		return;
	/* as when it is extracted, whatever the archive says */
	st->st_mode = tar_type_mode(e->type) |
	    (e->type == TAR_SYMLINK ? 0777 : e->mode);
	st->st_uid = (uid_t)e->uid;
	st->st_gid = (gid_t)e->gid;
	st->st_mtim = (struct timespec){ .tv_sec = e->mtime,
		.tv_nsec = e->mtime_ns };
	st->st_atim = st->st_ctim = st->st_mtim;
	st->st_rdev = makedev(e->major, e->minor);
	if (e->type == TAR_FILE)
		st->st_size = (off_t)e->size;
	else if (e->type == TAR_SYMLINK)
		st->st_size = (off_t)strlen(e->link);
	st->st_blocks = st->st_size / 512 + (st->st_size % 512 != 0);
}

uint64_t
layermount_number(const struct vfs_stack *s, uint32_t inode)
{
	return s->number << 32 | (inode + FUSE_ROOT_ID);
}

/* Fills in the inode and attributes of a directory entry. */
static void
entry_of(struct vfs_stack *s, uint32_t node, struct fuse_entry_param *p)
{
	uint32_t inode = merge_node(s->tree, node)->inode;

	vfs_stack_leave(&s, &inode);
	*p = (struct fuse_entry_param){ .ino = layermount_number(s, inode),
		.attr_timeout = FOREVER, .entry_timeout = FOREVER };
	stat_of(s, inode, &p->attr);
}

/* Server failures are reported to programs as I/O errors. */
static int
reply_error(int rc)
{
	return rc == -ENOMEM ? ENOMEM : EIO;
}

/* Replies with a directory's entry. */
static void
reply_entry(fuse_req_t req, struct vfs_stack *s, uint32_t node)
{
	uint32_t inode = merge_node(s->tree, node)->inode;
	struct fuse_entry_param p;

	entry_of(s, node, &p);
	/* the kernel may return a reference as soon as it has the reply */
	vfs_stack_reference(s, inode, 1);
	if (fuse_reply_entry(req, &p) != 0)
		vfs_stack_unreference(s, inode, 1);
}

/* Replies with an image, or with one of the names of a layer, which is held. */
static void
reply_own(fuse_req_t req, enum place_kind kind, uint64_t number,
    struct vfs_store_layer *l)
{
	struct fuse_entry_param e = { .attr_timeout = FOREVER,
		.entry_timeout = FOREVER,
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
	/* missing names are cached as well: ino 0 */
	const struct fuse_entry_param none = { .entry_timeout = FOREVER };
	struct vfs_store_layer *l;
	struct place p;
	int64_t node, number;
	bool opened;
	int rc;

	if (!place_find(req, parent, &p))
		return;
	if (p.stack != NULL) {
		rc = vfs_stack_enter(&p.stack, &p.inode);
		node = rc != 0 ? rc : merge_lookup(p.stack->tree, p.inode,
		    name);
		if (rc != 0)
			fuse_reply_err(req, reply_error(rc));
		else if (node >= 0)
			reply_entry(req, p.stack, (uint32_t)node);
		else
			fuse_reply_entry(req, &none);
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
		reply_entry(req, &p.layer->stack, MERGE_ROOT);
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
	if (p.stack != NULL)
		stat_of(p.stack, p.inode, &st);
	else
		place_stat(&p, ino, &st);
	fuse_reply_attr(req, &st, FOREVER);
	place_leave(&p);
}

static void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const struct merge_node *n;
	struct place p;

	if (!place_find(req, ino, &p))
		return;
	n = p.stack == NULL ? NULL : merge_node(p.stack->tree, p.inode);
	if (n == NULL || merge_type(n) != TAR_SYMLINK)
		fuse_reply_err(req, EINVAL);
	else
		fuse_reply_readlink(req, n->entry->link);
	place_leave(&p);
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	const struct layermount *m = fuse_req_userdata(req);
	struct statvfs s = { .f_bsize = BLOCK, .f_frsize = BLOCK,
		.f_namemax = NAME_MAX, .f_flag = ST_RDONLY };
	struct vfs_counts c;

	(void)ino;
	vfs_counted(m->vfs, &c);
	s.f_files = c.files;
	fuse_reply_statfs(req, &s);
}

/* Directories (those of the store itself cannot be listed) */

static void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

/* Returns the inode of an item that takes a reference. */
static uint32_t
item_inode(const struct vfs_stack *s, uint32_t dir, uint32_t i)
{
	return merge_node(s->tree, merge_child(s->tree, dir, i - 2))->inode;
}

/* The items of a listing are ".", "..", and the children. */
static void
list_node(fuse_req_t req, struct vfs_stack *s, uint32_t inode, size_t size,
    off_t offset, bool plus)
{
	const struct merge_node *d = merge_node(s->tree, inode);
	struct fuse_entry_param p;
	size_t used = 0, one;
	uint64_t i;
	char *buf;

	size = size < LISTING_MAX ? size : LISTING_MAX;
	buf = sys_malloc(size + 1);
	if (buf == NULL || offset < 0 || merge_type(d) != TAR_DIR) {
		fuse_reply_err(req, buf == NULL ? ENOMEM : EINVAL);
		sys_free(buf);
		return;
	}
	for (i = (uint64_t)offset; i < (uint64_t)d->count + 2; i++) {
		const char *name = i == 0 ? "." : "..";
		struct vfs_stack *of = s;
		uint32_t node = inode;

		if (i >= 2) {
			node = merge_child(s->tree, inode, (uint32_t)i - 2);
			name = merge_node(s->tree, node)->name;
		} else if (i == 1) {
			vfs_stack_leave(&of, &node);
			node = merge_node(of->tree, node)->parent;
		}
		entry_of(of, node, &p);
		/* "." and ".." are not reference-counted */
		if (plus && i < 2)
			p.ino = 0;
		one = plus ? fuse_add_direntry_plus(req, buf + used,
		    size - used, name, &p, (off_t)i + 1) :
		    fuse_add_direntry(req, buf + used, size - used, name,
		    &p.attr, (off_t)i + 1);
		if (one > size - used)
			break;
		used += one;
		if (plus && i >= 2)
			vfs_stack_reference(s, item_inode(s, inode,
			    (uint32_t)i), 1);
	}
	if (fuse_reply_buf(req, buf, used) != 0 && plus)
		while (i-- > (uint64_t)offset && i >= 2)
			vfs_stack_unreference(s, item_inode(s, inode,
			    (uint32_t)i), 1);
	sys_free(buf);
}

static void
list_place(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
	struct place p;
	int rc;

	if (!place_find(req, ino, &p))
		return;
	rc = p.stack == NULL ? 0 : vfs_stack_enter(&p.stack, &p.inode);
	if (rc != 0)
		fuse_reply_err(req, reply_error(rc));
	else if (p.stack != NULL)
		list_node(req, p.stack, p.inode, size, offset, plus);
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

/*
 * The attributes interpreted by overlayfs, as root and, mounted with userxattr,
 * in user namespaces.  Who has mounted it cannot be told from a request, so an
 * opaque directory has both.  Only the first is listed: whoever copies what is
 * listed, such as cp -a in a container or a program that makes an image from
 * it, would otherwise copy the second, which no privilege protects.
 */
static const char *const overlays[] = { "trusted.overlay.",
	"user.overlay." };

enum { OVERLAYS = sizeof(overlays) / sizeof(*overlays) };

static const char *
after_overlay(const char *name)
{
	for (size_t i = 0; i < OVERLAYS; i++)
		if (strncmp(name, overlays[i], strlen(overlays[i])) == 0)
			return name + strlen(overlays[i]);
	return NULL;
}

static void
reply_bytes(fuse_req_t req, const void *data, size_t len, size_t size)
{
	if (size == 0)
		fuse_reply_xattr(req, len);
	else if (len > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, data, len);
}

static void
reply_status(fuse_req_t req, size_t size)
{
	struct strbuf b = { .len = 0 };

	layermount_status_json(fuse_req_userdata(req), &b);
	if (b.failed)
		fuse_reply_err(req, ENOMEM);
	else
		reply_bytes(req, b.data, b.len, size);
	strbuf_free(&b);
}

static void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	const char *own = after_overlay(name);
	const struct layer_entry *e = NULL;
	const struct merge_node *n;
	struct place p;
	size_t i = 0;

	if (ino == FUSE_ROOT_ID && strcmp(name, LAYERMOUNT_STATUS) == 0 &&
	    (fuse_req_ctx(req)->uid == 0 ||
	    fuse_req_ctx(req)->uid == geteuid())) {
		reply_status(req, size);
		return;
	}
	if (!place_find(req, ino, &p))
		return;
	n = p.stack == NULL ? NULL : merge_node(p.stack->tree, p.inode);
	if (n != NULL && own == NULL && !n->whiteout)
		e = n->entry;
	while (e != NULL && i < e->xattr_count &&
	    strcmp(e->xattrs[i].name, name) != 0)
		i++;
	if (e != NULL && i < e->xattr_count)
		reply_bytes(req, e->xattrs[i].value, e->xattrs[i].length, size);
	else if (n != NULL && n->opaque && own != NULL &&
	    strcmp(own, "opaque") == 0)
		reply_bytes(req, "y", 1, size);
	else
		fuse_reply_err(req, ENODATA);
	place_leave(&p);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct strbuf names = { .len = 0 };
	const struct layer_entry *e = NULL;
	const struct merge_node *n;
	struct place p;

	if (!place_find(req, ino, &p))
		return;
	n = p.stack == NULL ? NULL : merge_node(p.stack->tree, p.inode);
	if (n != NULL && !n->whiteout)
		e = n->entry;
	for (size_t i = 0; e != NULL && i < e->xattr_count; i++)
		if (after_overlay(e->xattrs[i].name) == NULL)
			strbuf_add(&names, e->xattrs[i].name,
			    strlen(e->xattrs[i].name) + 1);
	if (n != NULL && n->opaque)
		strbuf_add(&names, "trusted.overlay.opaque",
		    sizeof("trusted.overlay.opaque"));
	if (names.failed)
		fuse_reply_err(req, ENOMEM);
	else
		reply_bytes(req, names.data, names.len, size);
	strbuf_free(&names);
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
read_node(fuse_req_t req, struct vfs_stack *s, uint32_t inode, size_t size,
    off_t offset)
{
	struct layermount *m = fuse_req_userdata(req);
	struct vfs_read r = { .stack = s, .inode = inode,
		.offset = (uint64_t)offset };
	ssize_t got;

	if (merge_type(merge_node(s->tree, inode)) != TAR_FILE || offset < 0) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	got = vfs_read(&r, size);
	if (got < 0) {
		fuse_reply_err(req, reply_error((int)got));
		goto out;
	}
	fuse_reply_buf(req, (const char *)r.data, (size_t)got);
	/* sequential reads are large, and will request the rest anyway */
	if (vfs_read_ahead(&r))
		readahead_raise(&m->readahead);
	else
		push_read(m->push, &r);
out:
	vfs_read_end(&r);
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
		read_node(req, p.stack, p.inode, size, offset);
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
	use = p.stack == NULL && p.kind == PLACE_LAYER &&
	    strcmp(name, "use") == 0;
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
	drop_name(m, place_number(PLACE_IMAGE, l->image->number), l->name);
	for (size_t i = 1; all && i < merge_count(s->tree); i++) {
		const struct merge_node *n = merge_node(s->tree, (uint32_t)i);

		if (atomic_load(&s->lookups[n->inode]) > 0)
			drop_name(m, layermount_number(s, n->parent), n->name);
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

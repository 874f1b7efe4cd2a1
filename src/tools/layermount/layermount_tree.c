/*
 * layermount_tree.c - the names, attributes and data of a stack
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Attributes that overlayfs interprets are set only by this file, because those
 * in a layer could cause overlayfs to show files that are not in the layer.
 */
#include "layermount_tree.h"

#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

enum { BLOCK = 4096, LISTING_MAX = 64 << 10 };

/* Attributes */

static void
stat_of(struct vfs_stack *s, uint32_t inode, struct stat *st)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	const struct layer_entry *e = n->entry;

	*st = (struct stat){ .st_ino = s->first_inode + inode,
		.st_nlink = n->links, .st_blksize = BLOCK,
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
tree_number(const struct vfs_stack *s, uint32_t inode)
{
	return s->number << 32 | (inode + FUSE_ROOT_ID);
}

/* Fills in the inode and attributes of a directory entry. */
static void
entry_of(struct vfs_stack *s, uint32_t node, struct fuse_entry_param *p)
{
	uint32_t inode = merge_node(s->tree, node)->inode;

	*p = (struct fuse_entry_param){ .ino = tree_number(s, inode),
		.attr_timeout = TREE_FOREVER, .entry_timeout = TREE_FOREVER };
	stat_of(s, inode, &p->attr);
}

void
tree_reply_entry(fuse_req_t req, struct vfs_stack *s, uint32_t node)
{
	uint32_t inode = merge_node(s->tree, node)->inode;
	struct fuse_entry_param p;

	entry_of(s, node, &p);
	/* the kernel may return a reference as soon as it has the reply */
	vfs_stack_reference(s, inode, 1);
	if (fuse_reply_entry(req, &p) != 0)
		vfs_stack_unreference(s, inode, 1);
}

void
tree_lookup(fuse_req_t req, struct vfs_stack *s, uint32_t inode,
    const char *name)
{
	/* missing names are cached as well: ino 0 */
	const struct fuse_entry_param none = { .entry_timeout = TREE_FOREVER };
	int64_t node = merge_lookup(s->tree, inode, name);

	if (node >= 0)
		tree_reply_entry(req, s, (uint32_t)node);
	else
		fuse_reply_entry(req, &none);
}

void
tree_getattr(fuse_req_t req, struct vfs_stack *s, uint32_t inode)
{
	struct stat st;

	stat_of(s, inode, &st);
	fuse_reply_attr(req, &st, TREE_FOREVER);
}

void
tree_readlink(fuse_req_t req, struct vfs_stack *s, uint32_t inode)
{
	const struct merge_node *n = merge_node(s->tree, inode);

	if (merge_type(n) != TAR_SYMLINK)
		fuse_reply_err(req, EINVAL);
	else
		fuse_reply_readlink(req, n->entry->link);
}

void
tree_statfs(fuse_req_t req, uint64_t files)
{
	struct statvfs s = { .f_bsize = BLOCK, .f_frsize = BLOCK,
		.f_files = files, .f_namemax = NAME_MAX,
		.f_flag = ST_RDONLY };

	fuse_reply_statfs(req, &s);
}

/* Directories */

/* Returns the inode of an item that takes a reference. */
static uint32_t
item_inode(const struct vfs_stack *s, uint32_t dir, uint32_t i)
{
	return merge_node(s->tree, merge_child(s->tree, dir, i - 2))->inode;
}

/* The items of a listing are ".", "..", and the children. */
void
tree_readdir(fuse_req_t req, struct vfs_stack *s, uint32_t inode, size_t size,
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
		uint32_t node = i == 0 ? inode : d->parent;
		const char *name = i == 0 ? "." : "..";

		if (i >= 2) {
			node = merge_child(s->tree, inode, (uint32_t)i - 2);
			name = merge_node(s->tree, node)->name;
		}
		entry_of(s, node, &p);
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

void
tree_getxattr(fuse_req_t req, struct vfs_stack *s, uint32_t inode,
    const char *name, size_t size)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	const struct layer_entry *e = n->whiteout ? NULL : n->entry;
	const char *own = after_overlay(name);

	if (own != NULL && n->opaque && strcmp(own, "opaque") == 0) {
		reply_bytes(req, "y", 1, size);
		return;
	}
	for (size_t i = 0; own == NULL && e != NULL && i < e->xattr_count; i++)
		if (strcmp(e->xattrs[i].name, name) == 0) {
			reply_bytes(req, e->xattrs[i].value,
			    e->xattrs[i].length, size);
			return;
		}
	fuse_reply_err(req, ENODATA);
}

void
tree_listxattr(fuse_req_t req, struct vfs_stack *s, uint32_t inode, size_t size)
{
	const struct merge_node *n = merge_node(s->tree, inode);
	size_t count = n->entry == NULL || n->whiteout ? 0 :
	    n->entry->xattr_count;
	struct strbuf names = { .len = 0 };

	for (size_t i = 0; i < count; i++)
		if (after_overlay(n->entry->xattrs[i].name) == NULL)
			strbuf_add(&names, n->entry->xattrs[i].name,
			    strlen(n->entry->xattrs[i].name) + 1);
	if (n->opaque)
		strbuf_add(&names, "trusted.overlay.opaque",
		    sizeof("trusted.overlay.opaque"));
	if (names.failed)
		fuse_reply_err(req, ENOMEM);
	else
		reply_bytes(req, names.data, names.len, size);
	strbuf_free(&names);
}

/* Data */

void
tree_read(fuse_req_t req, struct vfs_stack *s, uint32_t inode, size_t size,
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
		/* server failures are reported to programs as I/O errors */
		fuse_reply_err(req, got == -ENOMEM ? ENOMEM : EIO);
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

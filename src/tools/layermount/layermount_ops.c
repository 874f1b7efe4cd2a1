/*
 * layermount_ops.c - the operations of the file system
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Inode n of the kernel is inode n - 1 of the tree.  Nothing changes, so the
 * kernel may cache names, attributes and pages; files and directories need not
 * be opened, which a single ENOSYS tells it.
 */
#include "layermount.h"

#include "base/sys.h"

#include <errno.h>
#include <fuse_lowlevel.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

enum { BLOCK = 4096, LISTING_MAX = 64 << 10 };

static const double forever = 86400;

static struct layermount *
mount_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static uint32_t
inode_of(fuse_ino_t ino)
{
	return (uint32_t)(ino - FUSE_ROOT_ID);
}

/* Returns the node of an inode, or NULL after a reply. */
static const struct merge_node *
node_of(fuse_req_t req, fuse_ino_t ino)
{
	struct layermount *m = mount_of(req);

	if (ino >= FUSE_ROOT_ID && inode_of(ino) < merge_count(m->tree))
		return merge_node(m->tree, inode_of(ino));
	fuse_reply_err(req, ESTALE);
	return NULL;
}

/* Attributes */

static mode_t
type_bits(enum tar_type type)
{
	switch (type) {
	case TAR_DIR: return S_IFDIR;
	case TAR_SYMLINK: return S_IFLNK;
	case TAR_CHAR: return S_IFCHR;
	case TAR_BLOCK_DEVICE: return S_IFBLK;
	case TAR_FIFO: return S_IFIFO;
	default: return S_IFREG;
	}
}

static void
stat_of(struct layermount *m, uint32_t inode, struct stat *st)
{
	const struct merge_node *n = merge_node(m->tree, inode);
	const struct layer_entry *e = n->entry;

	*st = (struct stat){ .st_ino = inode + FUSE_ROOT_ID,
		.st_nlink = n->links, .st_blksize = BLOCK,
		.st_mode = S_IFDIR | 0755 };
	if (e == NULL)
		return;
	st->st_mode = type_bits(e->type) | e->mode;
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
	st->st_blocks = (st->st_size + 511) / 512;
}

static void
entry_of(struct layermount *m, uint32_t node, struct fuse_entry_param *p)
{
	uint32_t inode = merge_node(m->tree, node)->inode;

	*p = (struct fuse_entry_param){ .ino = inode + FUSE_ROOT_ID,
		.attr_timeout = forever, .entry_timeout = forever };
	stat_of(m, inode, &p->attr);
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct layermount *m = mount_of(req);
	struct fuse_entry_param p = { .entry_timeout = forever };
	int64_t node;

	if (node_of(req, parent) == NULL)
		return;
	node = merge_lookup(m->tree, inode_of(parent), name);
	/* missing names are cached as well: ino 0 */
	if (node >= 0)
		entry_of(m, (uint32_t)node, &p);
	fuse_reply_entry(req, &p);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st;

	(void)fi;
	if (node_of(req, ino) == NULL)
		return;
	stat_of(mount_of(req), inode_of(ino), &st);
	fuse_reply_attr(req, &st, forever);
}

static void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	const struct merge_node *n = node_of(req, ino);

	if (n == NULL)
		return;
	if (merge_type(n) != TAR_SYMLINK)
		fuse_reply_err(req, EINVAL);
	else
		fuse_reply_readlink(req, n->entry->link);
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct layermount *m = mount_of(req);
	struct statvfs s = { .f_bsize = BLOCK, .f_frsize = BLOCK,
		.f_files = merge_count(m->tree), .f_namemax = NAME_MAX,
		.f_flag = ST_RDONLY };

	(void)ino;
	fuse_reply_statfs(req, &s);
}

/* Directories */

static void
op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

/* Adds an item of a listing: 0 is ".", 1 "..", then the children. */
static size_t
add_item(fuse_req_t req, char *buf, size_t room, uint32_t dir, uint32_t i,
    bool plus)
{
	struct layermount *m = mount_of(req);
	const struct merge_node *d = merge_node(m->tree, dir);
	uint32_t node = i == 0 ? dir : i == 1 ? d->parent :
	    merge_child(m->tree, dir, i - 2);
	const char *name = i == 0 ? "." : i == 1 ? ".." :
	    merge_node(m->tree, node)->name;
	struct fuse_entry_param p;

	entry_of(m, node, &p);
	if (!plus)
		return fuse_add_direntry(req, buf, room, name, &p.attr,
		    (off_t)i + 1);
	/* these take no reference */
	if (i < 2)
		p.ino = 0;
	return fuse_add_direntry_plus(req, buf, room, name, &p, (off_t)i + 1);
}

static void
list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, bool plus)
{
	const struct merge_node *n = node_of(req, ino);
	size_t used = 0, one;
	char *buf;

	if (n == NULL)
		return;
	size = size < LISTING_MAX ? size : LISTING_MAX;
	buf = sys_malloc(size + 1);
	if (buf == NULL || offset < 0 || merge_type(n) != TAR_DIR) {
		fuse_reply_err(req, buf == NULL ? ENOMEM : EINVAL);
		sys_free(buf);
		return;
	}
	for (uint64_t i = (uint64_t)offset; i < (uint64_t)n->count + 2; i++) {
		one = add_item(req, buf + used, size - used, inode_of(ino),
		    (uint32_t)i, plus);
		if (one > size - used)
			break;
		used += one;
	}
	fuse_reply_buf(req, buf, used);
	sys_free(buf);
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
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	const struct merge_node *n = node_of(req, ino);

	if (n == NULL)
		return;
	for (size_t i = 0; n->entry != NULL && i < n->entry->xattr_count; i++) {
		const struct tar_xattr *x = &n->entry->xattrs[i];

		if (strcmp(x->name, name) == 0) {
			reply_bytes(req, x->value, x->length, size);
			return;
		}
	}
	fuse_reply_err(req, ENODATA);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	const struct merge_node *n = node_of(req, ino);
	struct strbuf names = { .len = 0 };

	if (n == NULL)
		return;
	for (size_t i = 0; n->entry != NULL && i < n->entry->xattr_count; i++)
		strbuf_add(&names, n->entry->xattrs[i].name,
		    strlen(n->entry->xattrs[i].name) + 1);
	if (names.failed)
		fuse_reply_err(req, ENOMEM);
	else
		reply_bytes(req, names.data, names.len, size);
	strbuf_free(&names);
}

/* Files */

static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static void
count_read(struct layermount *m, uint32_t inode, ssize_t n)
{
	if (n < 0) {
		atomic_fetch_add(&m->failures, 1);
		return;
	}
	atomic_fetch_add(&m->reads, 1);
	atomic_fetch_add(&m->read_bytes, (uint64_t)n);
	if (atomic_exchange(&m->seen[inode], 1) == 0)
		atomic_fetch_add(&m->first_files, 1);
}

/* Reads data that is not in one unit: from the trace, or assembled. */
static ssize_t
read_copied(struct layermount *m, fuse_req_t req, const struct merge_node *n,
    uint64_t offset, size_t size)
{
	uint8_t *buf = sys_malloc(size + 1);
	ssize_t got = buf == NULL ? -ENOMEM : read_file(m, n, offset, size,
	    buf, HTTP_READ);

	if (got >= 0)
		fuse_reply_buf(req, (const char *)buf, (size_t)got);
	sys_free(buf);
	return got;
}

static ssize_t
read_traced(struct layermount *m, fuse_req_t req, const struct merge_node *n,
    uint64_t offset, size_t size)
{
	uint8_t *buf;
	bool there;

	if (offset >= n->entry->size)
		return 0;
	if (size > n->entry->size - offset)
		size = (size_t)(n->entry->size - offset);
	buf = sys_malloc(size + 1);
	there = buf != NULL && trace_read(m, n, offset, size, buf);
	if (there) {
		fuse_reply_buf(req, (const char *)buf, size);
		atomic_fetch_add(&m->trace_bytes, size);
	}
	sys_free(buf);
	return there ? (ssize_t)size : 0;
}

static ssize_t
read_and_reply(struct layermount *m, fuse_req_t req, const struct merge_node *n,
    uint64_t offset, size_t size)
{
	const uint8_t *data;
	struct unit *unit;
	ssize_t got = m->trace == NULL ? 0 : read_traced(m, req, n, offset,
	    size);

	if (got > 0)
		return got;
	got = read_in_place(m, n, offset, size, &data, &unit);
	if (got == 0)
		return read_copied(m, req, n, offset, size);
	if (got > 0) {
		fuse_reply_buf(req, (const char *)data, (size_t)got);
		units_release(m->units, unit);
	}
	return got;
}

static void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	struct layermount *m = mount_of(req);
	const struct merge_node *n = node_of(req, ino);
	ssize_t got;

	(void)fi;
	if (n == NULL)
		return;
	if (merge_type(n) != TAR_FILE || offset < 0) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	atomic_fetch_add(&m->reading, 1);
	got = read_and_reply(m, req, n, (uint64_t)offset, size);
	count_read(m, inode_of(ino), got);
	if (got > 0)
		ahead_note(m, inode_of(ino), (uint64_t)offset, (size_t)got);
	/* programs see failures of the server as I/O errors */
	if (got < 0)
		fuse_reply_err(req, got == -ENOMEM ? ENOMEM : EIO);
	atomic_store(&m->last_read_ns, sys_now_ns());
	atomic_fetch_sub(&m->reading, 1);
}

static void
op_init(void *arg, struct fuse_conn_info *c)
{
	struct layermount *m = arg;

	if (m->o.readahead < c->max_readahead)
		c->max_readahead = (unsigned)m->o.readahead;
	c->want |= c->capable & (FUSE_CAP_CACHE_SYMLINKS |
	    FUSE_CAP_NO_OPENDIR_SUPPORT | FUSE_CAP_NO_OPEN_SUPPORT |
	    FUSE_CAP_READDIRPLUS | FUSE_CAP_PARALLEL_DIROPS);
	/* listings are always read with attributes: they cost nothing here */
	c->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};

const struct fuse_lowlevel_ops *const layermount_ops = &ops;

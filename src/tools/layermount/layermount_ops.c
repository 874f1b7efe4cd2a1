/*
 * layermount_ops.c - the operations of the filesystem
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Inode n in the kernel is inode n - 1 of the tree.  The filesystem never
 * changes, so the kernel may cache names, attributes and pages; a single ENOSYS
 * indicates that files and directories need not be opened.
 */
#include "layermount_tree.h"

#include <errno.h>

static struct vfs_stack *
stack_of(fuse_req_t req)
{
	struct layermount *m = fuse_req_userdata(req);

	return &m->stack;
}

/* Sets *inode to the inode in the tree, or replies and returns false. */
static bool
find_inode(fuse_req_t req, fuse_ino_t ino, uint32_t *inode)
{
	*inode = (uint32_t)(ino - FUSE_ROOT_ID);
	if (ino >= FUSE_ROOT_ID &&
	    ino - FUSE_ROOT_ID < merge_count(stack_of(req)->tree))
		return true;
	fuse_reply_err(req, ESTALE);
	return false;
}

static void
op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	uint32_t inode;

	if (find_inode(req, parent, &inode))
		tree_lookup(req, stack_of(req), inode, name);
}

static void
op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	uint32_t inode;

	(void)fi;
	if (find_inode(req, ino, &inode))
		tree_getattr(req, stack_of(req), inode);
}

static void
op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	uint32_t inode;

	if (find_inode(req, ino, &inode))
		tree_readlink(req, stack_of(req), inode);
}

static void
op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	(void)ino;
	tree_statfs(req, merge_count(stack_of(req)->tree));
}

/* Also used for opendir(). */
static void
op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

static void
op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	uint32_t inode;

	(void)fi;
	if (find_inode(req, ino, &inode))
		tree_readdir(req, stack_of(req), inode, size, offset, false);
}

static void
op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	uint32_t inode;

	(void)fi;
	if (find_inode(req, ino, &inode))
		tree_readdir(req, stack_of(req), inode, size, offset, true);
}

static void
op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	uint32_t inode;

	if (find_inode(req, ino, &inode))
		tree_getxattr(req, stack_of(req), inode, name, size);
}

static void
op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	uint32_t inode;

	if (find_inode(req, ino, &inode))
		tree_listxattr(req, stack_of(req), inode, size);
}

static void
op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
    struct fuse_file_info *fi)
{
	uint32_t inode;

	(void)fi;
	if (find_inode(req, ino, &inode))
		tree_read(req, stack_of(req), inode, size, offset);
}

static void
op_init(void *arg, struct fuse_conn_info *c)
{
	tree_init(arg, c);
	c->want |= c->capable & FUSE_CAP_NO_OPEN_SUPPORT;
}

static const struct fuse_lowlevel_ops ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.readlink = op_readlink,
	.open = op_open,
	.read = op_read,
	.opendir = op_open,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.statfs = op_statfs,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
};

const struct fuse_lowlevel_ops *const layermount_ops = &ops;

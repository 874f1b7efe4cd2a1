/*
 * layermount_tree.h - handling the kernel's requests about a stack
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each function sends the reply to one request.  An inode is a node of the tree
 * of the stack.  Its number in the kernel has the number of the stack in the
 * upper half.  Thread-safe.
 */
#ifndef COLDPRESS_LAYERMOUNT_TREE_H
#define COLDPRESS_LAYERMOUNT_TREE_H

#include "layermount.h"

#include <fuse_lowlevel.h>

/*
 * The cache lifetime, in seconds, of names and attributes, which never change.
 */
#define TREE_FOREVER 86400.0

/* Returns the number of an inode in the kernel. */
uint64_t tree_number(const struct vfs_stack *s, uint32_t inode);

/* Replies with a directory's entry. */
void tree_reply_entry(fuse_req_t req, struct vfs_stack *s, uint32_t node);

void tree_lookup(fuse_req_t req, struct vfs_stack *s, uint32_t inode,
    const char *name);
void tree_getattr(fuse_req_t req, struct vfs_stack *s, uint32_t inode);
void tree_readlink(fuse_req_t req, struct vfs_stack *s, uint32_t inode);
void tree_readdir(fuse_req_t req, struct vfs_stack *s, uint32_t inode,
    size_t size, off_t offset, bool plus);
void tree_getxattr(fuse_req_t req, struct vfs_stack *s, uint32_t inode,
    const char *name, size_t size);
void tree_listxattr(fuse_req_t req, struct vfs_stack *s, uint32_t inode,
    size_t size);
void tree_read(fuse_req_t req, struct vfs_stack *s, uint32_t inode, size_t size,
    off_t offset);

void tree_statfs(fuse_req_t req, uint64_t files);

#endif

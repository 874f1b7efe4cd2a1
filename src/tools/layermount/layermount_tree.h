/*
 * layermount_tree.h - answering the kernel's questions about a stack
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each function sends the one reply to a request.  An inode is a node of the
 * stack's tree.  Its number in the kernel has the stack's number in the upper
 * half.  Thread-safe.
 */
#ifndef COLDPRESS_LAYERMOUNT_TREE_H
#define COLDPRESS_LAYERMOUNT_TREE_H

#include "layermount.h"

#include <fuse_lowlevel.h>

/* How long names and attributes, which never change, are cached, in seconds. */
#define TREE_FOREVER 86400.0

/* The kernel's number for an inode. */
uint64_t tree_number(const struct stack *s, uint32_t inode);

/* Fills in the inode and attributes of a directory's entry. */
void tree_entry(struct stack *s, uint32_t node, struct fuse_entry_param *p);

void tree_lookup(fuse_req_t req, struct stack *s, uint32_t inode,
    const char *name);
void tree_getattr(fuse_req_t req, struct stack *s, uint32_t inode);
void tree_readlink(fuse_req_t req, struct stack *s, uint32_t inode);
void tree_list(fuse_req_t req, struct stack *s, uint32_t inode, size_t size,
    off_t offset, bool plus);
void tree_getxattr(fuse_req_t req, struct stack *s, uint32_t inode,
    const char *name, size_t size);
void tree_listxattr(fuse_req_t req, struct stack *s, uint32_t inode,
    size_t size);
void tree_read(fuse_req_t req, struct stack *s, uint32_t inode, size_t size,
    off_t offset);

/*
 * Requests what suits files that never change from the kernel; arg: a struct
 * layermount.
 */
void tree_init(void *arg, struct fuse_conn_info *c);
void tree_statfs(fuse_req_t req, uint64_t files);

#endif

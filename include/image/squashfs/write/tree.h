/*
 * tree.h - the tree of files in a squashfs image to be written
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Names are added in any order; missing directories are created.  Completing
 * the tree sorts its nodes into the order of an image, depth first with names
 * in byte order, and numbers the inodes as mksquashfs does.
 *
 * A node needs about 100 bytes plus its name.  Use from one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_TREE_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_TREE_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The contents of an inode, except for its data. */
struct sqw_attr {
	uint16_t mode;			/* type and permissions as in st_mode */
	uint32_t uid, gid;
	uint32_t mtime;
	uint32_t rdev;			/* device number as stored in the
					 * image */
	uint32_t xattr;			/* index, or SQUASHFS_NONE */
	uint64_t size;			/* size of a file, or of a link's
					 * target */
	const char *target;		/* target of a symbolic link; copied */
	bool raw;			/* the blocks of the file are not
					 * compressed */
};

/* The position of a file's data; files with identical content share it. */
struct sqw_position {
	uint32_t unit;			/* unit of the first block */
	uint32_t blocks;
	uint32_t tail_unit;		/* unit of the fragment block with the
					 * rest of the file */
	uint32_t tail_at;		/* offset in it */
	bool tail;			/* there is a rest */
	bool dense;			/* zeros are not treated as holes */
};

struct sqw_node {
	const char *name;
	struct sqw_attr attr;
	uint32_t id;			/* as returned by sqw_tree_add() */
	uint32_t parent;		/* index of the parent; the root is its
					 * own parent */
	uint32_t end;			/* index after all nodes beneath this
					 * one */
	uint32_t owner;			/* index of the inode's first name */
	uint32_t number, links;		/* inode number and link count */
	struct sqw_position data;
};

struct sqw_tree {
	struct sqw_node *nodes;		/* nodes, the root first */
	size_t count, cap;
	uint32_t inodes;
	uint32_t *at;			/* index by id, once complete */
	size_t ids;
	/* of missing directories; may be changed after sqw_tree_open() */
	struct sqw_attr implied;
	/* owned by the tree */
	uint32_t *slots;		/* hash table by parent and name */
	size_t slot_mask;
	uint64_t seed;
	struct arena text;
	/* the path that was added last, and its node, while the tree grows */
	char *near_path;
	size_t near_cap;
	uint32_t near_id;
};

#define SQW_NOWHERE UINT32_MAX

/* Converts a time to the unsigned 32-bit value stored in an inode. */
static inline uint32_t
sqw_time(int64_t t)
{
	return t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

/*
 * Creates a tree with an empty root: mode 0755, user 0.  Returns 0 or -ENOMEM.
 */
int sqw_tree_open(struct sqw_tree *t);
void sqw_tree_close(struct sqw_tree *t);

/*
 * Adds a node at path, which must be relative and normalized (no ".", "..",
 * "//"); "" is the root.  An existing directory gets the new attributes and
 * keeps its contents; a node of another type is replaced.  Missing parent
 * directories are created with the attributes t->implied: mode 0755, user 0.
 * *id identifies the node until the
 * tree is closed.
 *
 * Returns 0, -ENOTDIR (a component is not a directory), -ENAMETOOLONG (a
 * component is longer than SQUASHFS_NAME_MAX bytes), -EFBIG (too many nodes) or
 * -ENOMEM.
 */
int sqw_tree_add(struct sqw_tree *t, const char *path,
    const struct sqw_attr *attr, uint32_t *id);

/* Returns the id of the node at path, or SQW_NOWHERE. */
uint32_t sqw_tree_find(const struct sqw_tree *t, const char *path);

/*
 * Writes the path of a node, given its index (or its id, until the tree is
 * complete), to *text, a buffer of *room bytes that is enlarged with
 * sys_realloc().  Returns 0 or -ENOMEM.
 */
int sqw_tree_path(const struct sqw_tree *t, size_t node, char **text,
    size_t *room);

/* Removes a node other than the root, and all nodes below it. */
void sqw_tree_remove(struct sqw_tree *t, uint32_t id);

/* Returns whether a node has not been removed, nor a directory above it. */
bool sqw_tree_holds(const struct sqw_tree *t, uint32_t id);

/* Makes id a hard link to `first`. */
void sqw_tree_link(struct sqw_tree *t, uint32_t id, uint32_t first);

/*
 * Completes the tree: sorts the nodes, makes the first name of each inode its
 * owner (with the attributes and the id of the node linked to), and numbers the
 * inodes.  No nodes can be added afterwards.  Returns 0 or -ENOMEM.
 */
int sqw_tree_finish(struct sqw_tree *t);

/*
 * Numbers the inodes of a complete tree as gensquashfs does: the contents of a
 * directory after those of the directories in it.
 */
void sqw_tree_renumber(struct sqw_tree *t);

/*
 * Removes from a complete tree the inodes whose attr.mode has been set to 0,
 * with all their names.  None of them may be a directory.  Returns 0 or
 * -ENOMEM.
 */
int sqw_tree_prune(struct sqw_tree *t);

/* Returns whether this is the node whose data is stored in the image. */
static inline bool
sqw_has_data(const struct sqw_tree *t, size_t node)
{
	const struct sqw_node *n = &t->nodes[node];

	return n->owner == node && (n->attr.mode & 0170000) == 0100000 &&
	    n->attr.size > 0;
}

#endif

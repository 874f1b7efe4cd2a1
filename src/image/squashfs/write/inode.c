/*
 * inode.c - writing the inodes of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layout_impl.h"

#include <string.h>
#include <sys/stat.h>

#define NONE SQUASHFS_NONE

static unsigned
inode_type(uint16_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return SQUASHFS_FILE;
	case S_IFDIR: return SQUASHFS_DIR;
	case S_IFLNK: return SQUASHFS_LINK;
	case S_IFBLK: return SQUASHFS_BLOCK_DEVICE;
	case S_IFCHR: return SQUASHFS_CHAR;
	case S_IFIFO: return SQUASHFS_FIFO;
	default: return SQUASHFS_SOCKET;
	}
}

/*
 * Writes the header common to all inodes.  An inode with xattrs must be long.
 */
static void
put_head(struct sqw_layout *l, size_t node, bool is_long)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	unsigned type = inode_type(n->attr.mode);
	struct sqw_table *t = &l->inodes;

	l->places[node] = sqw_place(t);
	l->types[node] = (uint16_t)type;
	sqw_put16(t, type + (is_long ? SQUASHFS_LONG : 0));
	sqw_put16(t, n->attr.mode & 07777);
	sqw_put16(t, l->id_of(l->arg, n->attr.uid));
	sqw_put16(t, l->id_of(l->arg, n->attr.gid));
	sqw_put32(t, n->attr.mtime);
	sqw_put32(t, n->number);
}

static void
put_xattr(struct sqw_layout *l, const struct sqw_node *n)
{
	uint32_t index = n->attr.xattr;

	if (index != NONE && l->xattr_of != NULL)
		index = l->xattr_of(l->arg, index);
	sqw_put32(&l->inodes, index);
}

static uint64_t
holes_of(const struct sqw_layout *l, const struct sqw_node *n)
{
	uint64_t sum = 0;

	if (n->data.dense)
		return 0;
	for (uint32_t i = 0; i < n->data.blocks; i++) {
		uint64_t left = n->attr.size - (uint64_t)i * l->block;

		if (l->size_of(l->arg, n->data.unit + i) == 0)
			sum += left < l->block ? left : l->block;
	}
	return sum;
}

static void
put_file(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	uint64_t size = n->attr.size, holes = holes_of(l, n);
	uint64_t start = n->data.blocks == 0 ? 0 :
	    l->start_of(l->arg, n->data.unit);
	uint32_t fragment = !n->data.tail ? NONE :
	    l->fragment_of(l->arg, n->data.unit + n->data.blocks);
	bool is_long = n->links != 1 || holes != 0 || size >= NONE ||
	    start >= NONE || n->attr.xattr != NONE;
	struct sqw_table *t = &l->inodes;

	put_head(l, node, is_long);
	if (is_long) {
		sqw_put64(t, start);
		sqw_put64(t, size);
		/*
		 * Linux derives the block count from the bytes that are not in
		 * holes; leave at least 1
		 */
		sqw_put64(t, holes > 0 && holes == size ? size - 1 : holes);
		sqw_put32(t, n->links);
		sqw_put32(t, fragment);
		sqw_put32(t, n->data.tail_at);
		put_xattr(l, n);
	} else {
		sqw_put32(t, start);
		sqw_put32(t, fragment);
		sqw_put32(t, n->data.tail_at);
		sqw_put32(t, size);
	}
	for (uint32_t i = 0; i < n->data.blocks; i++)
		sqw_put32(t, l->size_of(l->arg, n->data.unit + i));
}

static void
put_link(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	bool is_long = n->attr.xattr != NONE;

	put_head(l, node, is_long);
	sqw_put32(&l->inodes, n->links);
	sqw_put32(&l->inodes, n->attr.size);
	sqw_put(&l->inodes, n->attr.target, (size_t)n->attr.size);
	if (is_long)
		put_xattr(l, n);
}

static void
put_other(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	bool is_long = n->attr.xattr != NONE;

	put_head(l, node, is_long);
	sqw_put32(&l->inodes, n->links);
	if (S_ISBLK(n->attr.mode) || S_ISCHR(n->attr.mode))
		sqw_put32(&l->inodes, n->attr.rdev);
	if (is_long)
		put_xattr(l, n);
}

void
sqw_put_inode(struct sqw_layout *l, size_t node)
{
	uint16_t mode = l->tree->nodes[node].attr.mode;

	if (S_ISREG(mode))
		put_file(l, node);
	else if (S_ISLNK(mode))
		put_link(l, node);
	else
		put_other(l, node);
}

static void
put_index(struct sqw_layout *l)
{
	struct sqw_table *t = &l->inodes;

	for (size_t i = 0; i < l->index_count; i++) {
		size_t len = strlen(l->indices[i].name);

		sqw_put32(t, l->indices[i].at);
		sqw_put32(t, l->indices[i].block);
		sqw_put32(t, len - 1);
		sqw_put(t, l->indices[i].name, len);
	}
}

/*
 * Returns whether the inode must be long; as in mksquashfs, this depends on the
 * entries, regardless of whether there is an index.
 */
static bool
is_long_dir(const struct sqw_node *n, const struct sqw_listing *s)
{
	return n->attr.xattr != NONE || s->entries > SQUASHFS_LISTING_RUN ||
	    s->entries_B >= SQUASHFS_META_B;
}

void
sqw_put_dir(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	uint32_t parent = node == 0 ? l->tree->inodes + 1 :
	    l->tree->nodes[n->parent].number;
	struct sqw_place at = sqw_place(&l->listings);
	struct sqw_listing s = { .size = 0 };
	struct sqw_table *t = &l->inodes;

	sqw_put_listing(l, node, &s);
	if (!is_long_dir(n, &s)) {
		put_head(l, node, false);
		sqw_put32(t, at.block);
		sqw_put32(t, s.dirs + 2);
		sqw_put16(t, s.size + SQUASHFS_LISTING_EXTRA);
		sqw_put16(t, at.offset);
		sqw_put32(t, parent);
		return;
	}
	put_head(l, node, true);
	sqw_put32(t, s.dirs + 2);
	sqw_put32(t, s.size + SQUASHFS_LISTING_EXTRA);
	sqw_put32(t, at.block);
	sqw_put32(t, parent);
	sqw_put16(t, l->index_count);
	sqw_put16(t, at.offset);
	put_xattr(l, n);
	put_index(l);
}

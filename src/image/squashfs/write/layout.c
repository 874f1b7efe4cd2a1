/*
 * layout.c - the inodes and directory listings of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/layout.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define NONE SQUASHFS_NONE

/* Maximum difference between inode numbers under one header. */
enum {
	NUMBER_FAR = 32767,
	GENSQUASHFS_LARGE = 256		/* entries of a large directory */
};

struct listing {
	uint64_t size;
	uint64_t indexed;		/* end of the part with an index */
	uint64_t entries_B;		/* listing bytes, excluding headers */
	uint32_t entries, dirs;		/* numbers of names and directories */
};

/*
 * Writes the header common to all inodes.  An inode with xattrs must be long.
 */
static void
put_head(struct sqw_layout *l, size_t node, bool is_long)
{
	static const uint8_t types[16] = { [S_IFREG >> 12] = SQUASHFS_FILE,
		[S_IFDIR >> 12] = SQUASHFS_DIR,
		[S_IFLNK >> 12] = SQUASHFS_LINK,
		[S_IFBLK >> 12] = SQUASHFS_BLOCK_DEVICE,
		[S_IFCHR >> 12] = SQUASHFS_CHAR,
		[S_IFIFO >> 12] = SQUASHFS_FIFO,
		[S_IFSOCK >> 12] = SQUASHFS_SOCKET };
	const struct sqw_node *n = &l->tree->nodes[node];
	struct sqw_table *t = &l->inodes;

	l->places[node] = sqw_place(t);
	l->types[node] = types[n->attr.mode >> 12];
	sqw_put16(t, l->types[node] + (is_long ? SQUASHFS_LONG : 0));
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

static void
put_file(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	uint64_t size = n->attr.size, holes = 0;
	uint64_t start = n->data.blocks == 0 ? 0 :
	    l->start_of(l->arg, n->data.unit);
	uint32_t fragment = !n->data.tail ? NONE :
	    l->fragment_of(l->arg, n->data.tail_unit);
	uint32_t tail_at = fragment == NONE && l->gensquashfs ? NONE :
	    n->data.tail_at;
	struct sqw_table *t = &l->inodes;
	bool is_long;

	for (uint32_t i = 0; i < n->data.blocks &&
	    (!n->data.dense || l->gensquashfs); i++) {
		uint64_t left = size - (uint64_t)i * l->block;

		if (l->size_of(l->arg, n->data.unit + i) == 0)
			holes += left < l->block ? left : l->block;
	}
	/* nothing of it is in the image */
	if (l->gensquashfs && holes == size)
		start = 0;
	is_long = n->links != 1 || holes != 0 || size >= NONE ||
	    start >= NONE || n->attr.xattr != NONE;
	put_head(l, node, is_long);
	if (is_long) {
		sqw_put64(t, start);
		sqw_put64(t, size);
		/*
		 * Linux derives the block count from the bytes that are not in
		 * holes; leave at least 1
		 */
		sqw_put64(t, holes > 0 && holes == size && !l->gensquashfs ?
		    size - 1 : holes);
		sqw_put32(t, n->links);
		sqw_put32(t, fragment);
		sqw_put32(t, tail_at);
		put_xattr(l, n);
	} else {
		sqw_put32(t, start);
		sqw_put32(t, fragment);
		sqw_put32(t, tail_at);
		sqw_put32(t, size);
	}
	for (uint32_t i = 0; i < n->data.blocks; i++)
		sqw_put32(t, l->size_of(l->arg, n->data.unit + i));
}

/* Writes the inode of a link, a device, a fifo or a socket. */
static void
put_other(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	bool is_long = n->attr.xattr != NONE;

	put_head(l, node, is_long);
	sqw_put32(&l->inodes, n->links);
	if (S_ISLNK(n->attr.mode)) {
		sqw_put32(&l->inodes, n->attr.size);
		sqw_put(&l->inodes, n->attr.target, (size_t)n->attr.size);
	} else if (S_ISBLK(n->attr.mode) || S_ISCHR(n->attr.mode)) {
		sqw_put32(&l->inodes, n->attr.rdev);
	}
	if (is_long)
		put_xattr(l, n);
}

/*
 * Returns whether another entry would end too far beyond the indexed part of
 * the listing.
 */
static bool
is_far(const struct listing *s, uint64_t size, const char *name)
{
	return size + SQUASHFS_ENTRY_B + strlen(name) - s->indexed >
	    SQUASHFS_META_B;
}

/*
 * Adds the next header of a listing to the directory's index.  Sets l->err if
 * there is no memory.
 */
static void
add_index(struct sqw_layout *l, const struct listing *s, size_t child)
{
	void *indices = l->indices;

	l->err = array_grow(&indices, l->index_count, &l->index_cap,
	    sizeof(*l->indices));
	l->indices = indices;
	if (l->err == 0)
		l->indices[l->index_count++] = (struct sqw_index){
		    (uint32_t)s->size, sqw_place(&l->listings).block,
		    l->tree->nodes[child].name };
}

/* Returns the same for gensquashfs, which counts from the start of a block. */
static uint32_t
gen_run_length(const struct sqw_layout *l, size_t child, size_t end)
{
	const struct sqw_node *nodes = l->tree->nodes;
	uint32_t count = 0, block = l->places[nodes[child].owner].block;
	uint64_t size = (sqw_place(&l->listings).offset +
	    SQUASHFS_LISTING_HEAD_B) % SQUASHFS_META_B;
	int64_t number = nodes[child].number;

	for (size_t i = child; i < end && count < SQUASHFS_LISTING_RUN; i =
	    nodes[i].end, count++) {
		int64_t far = nodes[i].number - number;

		size += SQUASHFS_ENTRY_B + strlen(nodes[i].name);
		if (l->places[nodes[i].owner].block != block ||
		    far > NUMBER_FAR || far < -NUMBER_FAR ||
		    (count > 0 && size > SQUASHFS_META_B))
			break;
	}
	return count;
}

/* Returns how many entries, starting at child, can share one header. */
static uint32_t
run_length(const struct sqw_layout *l, const struct listing *s,
    size_t child, size_t end)
{
	const struct sqw_node *nodes = l->tree->nodes;
	uint32_t count = 0, block = l->places[nodes[child].owner].block;
	int64_t number = nodes[child].number;
	uint64_t size = s->size;

	for (size_t i = child; i < end && count < SQUASHFS_LISTING_RUN; i =
	    nodes[i].end, count++) {
		int64_t far = nodes[i].number - number;

		if (l->places[nodes[i].owner].block != block ||
		    far > NUMBER_FAR || far < -NUMBER_FAR - 1 ||
		    (count > 0 && is_far(s, size, nodes[i].name)))
			break;
		size += SQUASHFS_ENTRY_B + strlen(nodes[i].name);
	}
	return count;
}

/*
 * Writes the listing of a directory to l->listings; the inodes of its entries
 * must have been written, and s must be zeroed.  Fills in l->indices and, if it
 * runs out of memory, l->err.
 */
static void
put_listing(struct sqw_layout *l, size_t dir, struct listing *s)
{
	const struct sqw_node *nodes = l->tree->nodes;
	struct sqw_table *t = &l->listings;
	size_t child = dir + 1, end = nodes[dir].end, len;

	l->index_count = 0;
	while (child < end) {
		uint32_t number = nodes[child].number, count;

		if (l->gensquashfs || is_far(s, s->size, nodes[child].name)) {
			add_index(l, s, child);
			if (l->err != 0)
				return;
			s->indexed = s->size;
		}
		count = l->gensquashfs ? gen_run_length(l, child, end) : 0;
		s->size += SQUASHFS_LISTING_HEAD_B;
		if (!l->gensquashfs)
			count = run_length(l, s, child, end);
		sqw_put32(t, count - 1);
		sqw_put32(t, l->places[nodes[child].owner].block);
		sqw_put32(t, number);
		for (; count > 0; count--, child = nodes[child].end) {
			const struct sqw_node *n = &nodes[child];

			len = strlen(n->name);
			sqw_put16(t, l->places[n->owner].offset);
			sqw_put16(t, n->number - number);
			sqw_put16(t, l->types[n->owner]);
			sqw_put16(t, len - 1);
			sqw_put(t, n->name, len);
			s->size += SQUASHFS_ENTRY_B + len;
			s->entries_B += SQUASHFS_ENTRY_B + len;
			s->entries++;
			s->dirs += l->types[n->owner] == SQUASHFS_DIR;
		}
	}
}

/* Writes a directory's listing and inode. */
static void
put_dir(struct sqw_layout *l, size_t node)
{
	const struct sqw_node *n = &l->tree->nodes[node];
	uint32_t parent = node != 0 ? l->tree->nodes[n->parent].number :
	    l->gensquashfs ? 0 : l->tree->inodes + 1;
	struct sqw_place at = sqw_place(&l->listings);
	struct listing s = { .size = 0 };
	struct sqw_table *t = &l->inodes;
	uint32_t links;
	bool is_short;

	if (l->err != 0)
		return;
	put_listing(l, node, &s);
	/* as in both, regardless of whether there is an index */
	is_short = n->attr.xattr == NONE && (l->gensquashfs ?
	    s.size <= UINT16_MAX - SQUASHFS_LISTING_EXTRA &&
	    !(l->large_dirs_long && s.entries >= GENSQUASHFS_LARGE) :
	    s.entries <= SQUASHFS_LISTING_RUN &&
	    s.entries_B < SQUASHFS_META_B);
	/* gensquashfs counts all entries as links */
	links = (l->gensquashfs ? s.entries : s.dirs) + 2;
	if (is_short) {
		put_head(l, node, false);
		sqw_put32(t, at.block);
		sqw_put32(t, links);
		sqw_put16(t, s.size + SQUASHFS_LISTING_EXTRA);
		sqw_put16(t, at.offset);
		sqw_put32(t, parent);
		return;
	}
	put_head(l, node, true);
	sqw_put32(t, links);
	sqw_put32(t, s.size + SQUASHFS_LISTING_EXTRA);
	sqw_put32(t, at.block);
	sqw_put32(t, parent);
	sqw_put16(t, l->index_count);
	sqw_put16(t, at.offset);
	put_xattr(l, n);
	for (size_t i = 0; i < l->index_count; i++) {
		size_t len = strlen(l->indices[i].name);

		sqw_put32(t, l->indices[i].at);
		sqw_put32(t, l->indices[i].block);
		sqw_put32(t, len - 1);
		sqw_put(t, l->indices[i].name, len);
	}
}

/* Writes the inodes depth first, a directory's after those of its contents. */
static void
put_by_depth(struct sqw_layout *l)
{
	const struct sqw_node *nodes = l->tree->nodes;
	size_t in = 0;

	for (size_t i = 1; i < l->tree->count; i++) {
		while (in != 0 && nodes[in].end == i) {
			put_dir(l, in);
			in = nodes[in].parent;
		}
		if (S_ISDIR(nodes[i].attr.mode))
			in = i;
		else if (nodes[i].owner == i && S_ISREG(nodes[i].attr.mode))
			put_file(l, i);
		else if (nodes[i].owner == i)
			put_other(l, i);
	}
	for (; in != 0; in = nodes[in].parent)
		put_dir(l, in);
	put_dir(l, 0);
}

/* Writes the inodes in the order of their numbers. */
static int
put_by_number(struct sqw_layout *l)
{
	const struct sqw_tree *t = l->tree;
	uint32_t *order = sys_calloc(t->inodes + (size_t)1, sizeof(*order));

	if (order == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->count; i++)
		if (t->nodes[i].owner == i)
			order[t->nodes[i].number] = i;
	for (uint32_t number = 1; number <= t->inodes; number++) {
		uint32_t i = order[number];
		uint16_t mode = t->nodes[i].attr.mode;

		if (S_ISDIR(mode))
			put_dir(l, i);
		else if (S_ISREG(mode))
			put_file(l, i);
		else
			put_other(l, i);
	}
	sys_free(order);
	return 0;
}

int
sqw_layout_make(struct sqw_layout *l)
{
	int inodes, listings, rc = 0;

	l->places = sys_calloc(l->tree->count, sizeof(*l->places));
	l->types = sys_calloc(l->tree->count, sizeof(*l->types));
	if (l->places == NULL || l->types == NULL)
		return -ENOMEM;
	if (l->gensquashfs)
		rc = put_by_number(l);
	else
		put_by_depth(l);
	if (rc != 0)
		return rc;
	inodes = sqw_table_end(&l->inodes);
	listings = sqw_table_end(&l->listings);
	if (l->err != 0)
		return l->err;
	return inodes != 0 ? inodes : listings;
}

void
sqw_layout_close(struct sqw_layout *l)
{
	sys_free(l->places);
	sys_free(l->types);
	sys_free(l->indices);
}

uint64_t
sqw_layout_ref(const struct sqw_layout *l, size_t node)
{
	const struct sqw_place *p = &l->places[node];

	return (uint64_t)p->block << 16 | p->offset;
}

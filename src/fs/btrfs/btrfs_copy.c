/*
 * btrfs_copy.c - the trees of the btrfs filesystem that files are copied to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A name is stored in its directory twice: immediately by its hash, and some
 * time later, together with others, by its number.  The leaves of the files'
 * tree are filled item by item; for the others, fill factors are assumed.
 */
#include "btrfs_copy.h"

#include "base/array.h"
#include "base/path.h"
#include "base/stats.h"
#include "base/sys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	POINTER = 33,			/* size of the pointer to a node in its
					 * parent */
	INODE = 160,
	REF = 10, NAME = 30,		/* header before a name, or before an
					 * xattr */
	EXTENT_IN_FILE = 53,
	IN_LEAF = 21,			/* header before the data */
	EXTENT = 53,			/* including one reference */
	NODE_EXTENT = 33,
	SUM = 4,			/* for each sector: crc32c */
	SECTOR = 4096,
	FULL_SUMS = 94, FULL_EXTENTS = 95,
	OTHER_TREES = 5,		/* one node each: roots, devices, free
					 * space, UUIDs, relocated data */
	/*
	 * Linux delays up to 128 changes: names, and inodes that have changed.
	 * In traces of 15 copies, 45 to 115 names were usually among them.
	 */
	LEAST_LATE = 45, MOST_LATE = 115
};

size_t
btrfs_copy_random(struct btrfs_copy *c, size_t lo, size_t hi)
{
	return lo + stats_random(&c->random) % (hi - lo + 1);
}

static struct btrfs_item
make_item(size_t object, unsigned type, uint32_t offset, size_t size)
{
	return (struct btrfs_item){ .owner = (uint64_t)object << 8 | type,
	    .offset = offset, .size = (uint32_t)(BTRFS_HEADER + size) };
}

static int
by_key(const void *a, const void *b)
{
	const struct btrfs_item *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Stores an item to be added later. */
static int
keep_late(struct btrfs_late *late, const struct btrfs_item *it)
{
	void *items = late->items;
	int rc = array_grow(&items, late->count, &late->cap, sizeof(*it));

	late->items = items;
	if (rc == 0)
		late->items[late->count++] = *it;
	return rc;
}

/* Adds the late names of each directory, as many at a time as fit in a leaf. */
static int
add_late(struct btrfs_copy *c)
{
	const struct btrfs_item *it = c->late.items, *end = it + c->late.count;
	int rc = 0;

	if (c->late.count > 0)
		qsort(c->late.items, c->late.count, sizeof(*it), by_key);
	while (rc == 0 && it < end) {
		uint32_t size = it->size;
		unsigned n = 1;

		while (it + n < end && it[n].owner == it->owner &&
		    size + it[n].size <= BTRFS_ROOM)
			size += it[n++].size;
		rc = btrfs_leaves_add(&c->files, it, n);
		it += n;
	}
	c->late.count = 0;
	c->late.limit = btrfs_copy_random(c, LEAST_LATE, MOST_LATE);
	return rc;
}

/* Adds item i to its directory. */
static int
add_to_dir(struct btrfs_copy *c, size_t i, const char *name)
{
	const struct btrfs_place *p = c->names->places;
	size_t dir = p[p[i].dir].object, size = NAME + strlen(name);
	struct btrfs_item it = make_item(dir, BTRFS_DIR_ITEM,
	    btrfs_name_hash(name), size);
	int rc = btrfs_leaves_add(&c->files, &it, 1);

	it = make_item(dir, BTRFS_DIR_INDEX, (uint32_t)p[i].rank, size);
	if (rc == 0)
		rc = keep_late(&c->late, &it);
	return rc != 0 || c->late.count < c->late.limit ? rc : add_late(c);
}

int
btrfs_copy_create(struct btrfs_copy *c, size_t i)
{
	const struct fs_item *it = &c->names->list->items[i];
	const struct btrfs_place *p = c->names->places;
	bool first = p[i].object == p[i].rank;
	const char *name = path_name(it->path);
	struct btrfs_item ref = make_item(p[i].object, BTRFS_INODE_REF,
	    (uint32_t)p[p[i].dir].object, REF + strlen(name));
	struct btrfs_item more = ref;
	int rc;

	if (first) {
		/* an inode and the reference to its first name */
		const struct btrfs_item both[] = { { .owner = ref.owner -
		    BTRFS_INODE_REF + BTRFS_INODE_ITEM,
		    .size = BTRFS_HEADER + INODE }, ref };

		rc = btrfs_leaves_add(&c->files, both, 2);
	} else {
		/* the references to a file from one directory share an item */
		more.size -= BTRFS_HEADER;
		rc = btrfs_leaves_grow(&c->files, &more);
		if (rc == -ENOENT || rc == -EOVERFLOW)
			rc = btrfs_leaves_add(&c->files, &ref, 1);
	}
	if (rc == 0 && p[i].dir != i)
		rc = add_to_dir(c, i, name);
	if (rc == 0 && first && S_ISLNK(it->st.st_mode))
		rc = btrfs_copy_in_leaf(c, i, (uint32_t)it->st.st_size);
	for (size_t k = p[i].xattr; rc == 0 && k < p[i].xattr_end; k++) {
		const struct btrfs_xattr *x = &c->names->xattrs[k];
		struct btrfs_item xattr = make_item(p[i].object, BTRFS_XATTR,
		    x->hash, NAME + x->size);

		rc = btrfs_leaves_add(&c->files, &xattr, 1);
	}
	return rc;
}

int
btrfs_copy_in_leaf(struct btrfs_copy *c, size_t i, uint32_t bytes)
{
	struct btrfs_item it = make_item(c->names->places[i].object,
	    BTRFS_EXTENT_DATA, 0, IN_LEAF + bytes);

	return btrfs_leaves_add(&c->files, &it, 1);
}

int
btrfs_copy_extent(struct btrfs_copy *c, size_t i, uint32_t k, uint32_t disk_B)
{
	struct btrfs_item it = make_item(c->names->places[i].object,
	    BTRFS_EXTENT_DATA, k, EXTENT_IN_FILE);

	c->extents_B += BTRFS_HEADER + EXTENT;
	c->sums_B += disk_B / SECTOR * SUM;
	return btrfs_leaves_add(&c->files, &it, 1);
}

int
btrfs_copy_end(struct btrfs_copy *c)
{
	return add_late(c);
}

/* Returns how many leaves hold that many bytes of items: at least one. */
static uint64_t
count_leaves(uint64_t bytes, unsigned full)
{
	uint64_t n = (bytes * 100 / full + BTRFS_ROOM - 1) / BTRFS_ROOM;

	return n > 0 ? n : 1;
}

/* Returns the number of nodes in a tree with the given number of leaves. */
static uint64_t
count_tree_nodes(uint64_t level)
{
	uint64_t all = level;

	while (level > 1) {
		level = (level * POINTER + BTRFS_ROOM - 1) / BTRFS_ROOM;
		all += level;
	}
	return all;
}

uint64_t
btrfs_copy_nodes(const struct btrfs_copy *c)
{
	uint64_t n = count_tree_nodes(c->files.count) +
	    count_tree_nodes(count_leaves(c->sums_B, FULL_SUMS)) + OTHER_TREES;

	n += count_tree_nodes(count_leaves(c->extents_B +
	    n * (BTRFS_HEADER + NODE_EXTENT), FULL_EXTENTS));
	return n;
}

void
btrfs_copy_free(struct btrfs_copy *c)
{
	btrfs_leaves_free(&c->files);
	sys_free(c->late.items);
}

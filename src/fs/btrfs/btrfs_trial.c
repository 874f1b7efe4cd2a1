/*
 * btrfs_trial.c - trial copies to a btrfs filesystem, to count its nodes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * How full leaves become depends on the order of writing, which differs between
 * two copies of the same files.  So this simulates several.
 *
 * A name is stored in its directory twice: immediately by its hash, and some
 * time later, together with others, by its number.  The leaves of the files'
 * tree are filled item by item; for the others, fill factors are assumed.
 */
#include "btrfs.h"

#include "base/array.h"
#include "base/stats.h"
#include "base/sys.h"
#include "btrfs_leaves.h"

#include <errno.h>
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

/* Observed in traces of 15 copies, with two CPUs. */
enum {
	/*
	 * Linux starts writing once 128 MiB are reserved for nodes, and a file
	 * that waits to be written reserves 768 KiB: usually, 110 to 220 files
	 * waited.  Others were created meanwhile, so that up to 30 still waited
	 * afterwards.  On a large filesystem more of them wait.
	 */
	LEAST = 110, MOST = 220, LEFT = 30,
	/*
	 * Files that are stored late were 0 to 90 files behind; this maximum is
	 * fitted to a tree of tiny files.
	 */
	LAG = 30,
	COPIES = 8
};

/* A copy: the trees, and what waits to be written to them. */
struct copy {
	const struct btrfs_data *data;
	const struct btrfs_names *names;
	struct btrfs_leaves files;	/* inodes, names and extents */
	struct btrfs_item *late;	/* names for directories, to be added
					 * once there are late_limit of them */
	size_t late_count, late_cap, late_limit;
	size_t waiting[MOST];		/* files created, but not written: up to
					 * limit of them */
	size_t count, limit;
	uint64_t extents_B, sums_B;	/* items of the other trees */
	uint64_t random;		/* determines all random numbers */
};

static size_t
random_size(struct copy *c, size_t lo, size_t hi)
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

/* Adds the late names of each directory, as many at a time as fit in a leaf. */
static int
add_late(struct copy *c)
{
	const struct btrfs_item *it = c->late, *end = it + c->late_count;
	int rc = 0;

	if (c->late_count > 0)
		qsort(c->late, c->late_count, sizeof(*it), by_key);
	while (rc == 0 && it < end) {
		uint32_t size = it->size;
		unsigned n = 1;

		while (it + n < end && it[n].owner == it->owner &&
		    size + it[n].size <= BTRFS_ROOM)
			size += it[n++].size;
		rc = btrfs_leaves_add(&c->files, it, n);
		it += n;
	}
	c->late_count = 0;
	c->late_limit = random_size(c, LEAST_LATE, MOST_LATE);
	return rc;
}

/* Stores bytes of file i in its leaf. */
static int
add_in_leaf(struct copy *c, size_t i, uint32_t bytes)
{
	struct btrfs_item it = make_item(c->names->places[i].object,
	    BTRFS_EXTENT_DATA, 0, IN_LEAF + bytes);

	return btrfs_leaves_add(&c->files, &it, 1);
}

/*
 * Creates item i of the list, or adds it as a link to its file.  Returns 0 or
 * -ENOMEM.
 */
static int
create_item(struct copy *c, size_t i)
{
	const struct fs_item *it = &c->names->list->items[i];
	const struct btrfs_place *p = c->names->places;
	bool first = p[i].object == p[i].rank;
	const char *name = it->name;
	struct btrfs_item ref = make_item(p[i].object, BTRFS_INODE_REF,
	    p[it->dir].object, REF + strlen(name));
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
	if (rc == 0 && it->dir != i) {
		size_t dir = p[it->dir].object, size = NAME + strlen(name);
		struct btrfs_item entry = make_item(dir, BTRFS_DIR_ITEM,
		    btrfs_name_hash(name), size);
		void *late = c->late;

		rc = btrfs_leaves_add(&c->files, &entry, 1);
		if (rc == 0)
			rc = array_grow(&late, c->late_count, &c->late_cap,
			    sizeof(*c->late));
		c->late = late;
		if (rc == 0) {
			c->late[c->late_count++] = make_item(dir,
			    BTRFS_DIR_INDEX, p[i].rank, size);
			if (c->late_count >= c->late_limit)
				rc = add_late(c);
		}
	}
	if (rc == 0 && first && S_ISLNK(it->mode))
		rc = add_in_leaf(c, i, (uint32_t)it->size);
	for (size_t k = p[i].xattr; rc == 0 && k < p[i + 1].xattr; k++) {
		const struct btrfs_xattr *x = &c->names->xattrs[k];
		struct btrfs_item xattr = make_item(p[i].object, BTRFS_XATTR,
		    x->hash, NAME + x->size);

		rc = btrfs_leaves_add(&c->files, &xattr, 1);
	}
	return rc;
}

static int
write_file(struct copy *c, size_t item)
{
	const struct btrfs_data *d = c->data;
	size_t first = d->first[item], n = d->first[item + 1] - first;
	int rc = 0;

	for (size_t k = 0; rc == 0 && k < n; k++) {
		const struct btrfs_chunk *at = d->chunks +
		    (first + k) * d->step;

		if (at->in_leaf)
			rc = add_in_leaf(c, item, at->physical_B);
		for (uint32_t i = 0; !at->in_leaf && rc == 0 &&
		    i < at->extents; i++) {
			struct btrfs_item it = make_item(
			    c->names->places[item].object, BTRFS_EXTENT_DATA,
			    (uint32_t)k * BTRFS_PIECES + i, EXTENT_IN_FILE);

			c->extents_B += BTRFS_HEADER + EXTENT;
			if (i == 0)
				c->sums_B += at->physical_B / SECTOR * SUM;
			rc = btrfs_leaves_add(&c->files, &it, 1);
		}
	}
	return rc;
}

/*
 * Returns whether a file is stored late.  One that fits in a leaf is stored as
 * soon as it has been compressed, but others once they are on disk, and those
 * that did not shrink by one thread that keeps to the order.
 */
static bool
is_late(const struct btrfs_data *d, size_t item)
{
	const struct btrfs_chunk *c = d->chunks + d->first[item] * d->step;

	return !c->in_leaf || (!d->plain && c->physical_B == c->logical_B);
}

/* Writes the first n files that wait, the late ones some files later. */
static int
write_files(struct copy *c, size_t n)
{
	size_t *files = c->waiting, lag = random_size(c, 0, LAG);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n + lag; i++) {
		if (i < n && !is_late(c->data, files[i]))
			rc = write_file(c, files[i]);
		if (rc == 0 && i >= lag && is_late(c->data, files[i - lag]))
			rc = write_file(c, files[i - lag]);
	}
	c->count -= n;
	memmove(files, files + n, c->count * sizeof(*files));
	c->limit = random_size(c, LEAST, MOST);
	return rc;
}

/*
 * Copies all files: each is created immediately, but written together with
 * others that were created later.
 */
static int
copy_files(struct copy *c)
{
	const struct btrfs_data *d = c->data;
	const struct fs_list *list = d->names->list;
	int rc = 0;

	c->limit = random_size(c, LEAST, MOST);
	for (size_t k = 0; rc == 0 && k < list->count; k++) {
		size_t i = d->names->order[k];

		if (list->items[i].err != 0)
			continue;
		rc = create_item(c, i);
		if (d->first[i] < d->first[i + 1])
			c->waiting[c->count++] = i;
		if (rc == 0 && c->count == c->limit)
			rc = write_files(c, c->count -
			    random_size(c, 0, LEFT));
	}
	if (rc == 0)
		rc = write_files(c, c->count);
	return rc != 0 ? rc : add_late(c);
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
btrfs_trial_nodes(const struct btrfs_data *d)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < COPIES; i++) {
		struct copy c = { .data = d, .names = d->names, .random = i };
		int rc = copy_files(&c);
		uint64_t n = count_tree_nodes(c.files.count) + OTHER_TREES +
		    count_tree_nodes(count_leaves(c.sums_B, FULL_SUMS));

		n += count_tree_nodes(count_leaves(c.extents_B +
		    n * (BTRFS_HEADER + NODE_EXTENT), FULL_EXTENTS));
		btrfs_leaves_free(&c.files);
		sys_free(c.late);
		if (rc != 0)
			return 0;
		sum += n;
	}
	return (sum + COPIES / 2) / COPIES;
}

/*
 * btrfs_names.c - the names and extended attributes of a tree on btrfs
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "btrfs_names.h"

#include "base/array.h"
#include "base/sys.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

/*
 * The kernel's limit on the size of a name list, XATTR_LIST_MAX, and a value
 * size that is certain to fit in a leaf.
 */
enum { LIST_MAX = 65536, VALUE_MAX = 15 << 10 };

/* The Castagnoli polynomial, bit-reversed. */
#define CRC32C 0x82f63b78u

uint32_t
btrfs_name_hash(const char *name)
{
	uint32_t crc = ~1u;

	for (; *name != '\0'; name++) {
		crc ^= (uint8_t)*name;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? CRC32C : 0);
	}
	return crc;
}

/* Compares a path with the first n bytes of another. */
static int
compare(const char *path, const char *other, size_t n)
{
	int c = strncmp(path, other, n);

	return c != 0 ? c : path[n] != '\0';
}

/* Finds the directory of item i, searching from `root', its root, onward. */
static size_t
find_dir(const struct fs_list *l, size_t root, size_t i)
{
	const char *path = l->items[i].path, *slash = strrchr(path, '/');
	size_t n = slash == NULL ? 0 : (size_t)(slash - path);
	size_t lo = root, hi = i;

	if (i == root)
		return i;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare(l->items[mid].path, path, n) > 0)
			hi = mid;
		else
			lo = mid;
	}
	return lo;
}

/* Finds the directory of each item; a root is its own directory. */
static void
find_dirs(struct btrfs_names *n)
{
	const struct fs_list *l = n->list;
	size_t root = 0;

	for (size_t i = 0; i < l->count; i++) {
		root = l->items[i].root != l->items[root].root ? i : root;
		n->places[i].dir = find_dir(l, root, i);
	}
}

/* An item to be sorted. */
struct entry {
	size_t dir, item;
	uint64_t inode;
};

static int
by_inode(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->dir != y->dir)
		return x->dir < y->dir ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->item < y->item ? -1 : 1;
}

/*
 * Walks the tree of `root'.  from[i] is the next entry of directory i, and
 * to[i] the end of its entries.
 */
static void
walk(struct btrfs_names *n, size_t root, const struct entry *entries,
    size_t *from, const size_t *to, size_t *count)
{
	size_t at = root;

	n->order[(*count)++] = root;
	for (;;) {
		if (from[at] < to[at]) {
			at = entries[from[at]++].item;
			n->order[(*count)++] = at;
		} else if (at == root) {
			return;
		} else {
			at = n->places[at].dir;
		}
	}
}

static void
put_in_order(struct btrfs_names *n, struct entry *entries, size_t *from,
    size_t *to)
{
	const struct fs_list *l = n->list;
	size_t k = 0, count = 0;

	for (size_t i = 0; i < l->count; i++)
		if (n->places[i].dir != i)
			entries[k++] = (struct entry){ .item = i,
			    .dir = n->places[i].dir,
			    .inode = l->items[i].st.st_ino };
	qsort(entries, k, sizeof(*entries), by_inode);
	for (size_t i = k; i-- > 0;)
		from[entries[i].dir] = i;
	for (size_t i = 0; i < k; i++)
		to[entries[i].dir] = i + 1;
	for (size_t i = 0; i < l->count; i++)
		if (n->places[i].dir == i)
			walk(n, i, entries, from, to, &count);
}

static int
find_order(struct btrfs_names *n)
{
	size_t count = n->list->count + 1;
	struct entry *entries = sys_calloc(count, sizeof(*entries));
	size_t *from = sys_calloc(count, sizeof(*from));
	size_t *to = sys_calloc(count, sizeof(*to));
	int rc = entries == NULL || from == NULL || to == NULL ? -ENOMEM : 0;

	if (rc == 0)
		put_in_order(n, entries, from, to);
	sys_free(entries);
	sys_free(from);
	sys_free(to);
	return rc;
}

/* Numbers the items, and the files by their first names. */
static void
number(struct btrfs_names *n)
{
	const struct fs_list *l = n->list;

	for (size_t k = 0; k < l->count; k++) {
		size_t i = n->order[k];

		n->places[i].rank = n->places[i].object = k;
	}
	for (size_t i = 0; i < l->count; i++) {
		size_t *of = &n->places[l->items[i].first].object;

		if (l->items[i].again && n->places[i].rank < *of)
			*of = n->places[i].rank;
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].again)
			n->places[i].object =
			    n->places[l->items[i].first].object;
}

static int
add_xattr(struct btrfs_names *n, const char *name, uint32_t size)
{
	void *xattrs = n->xattrs;
	int rc = array_grow(&xattrs, n->xattr_count, &n->xattr_cap,
	    sizeof(*n->xattrs));

	n->xattrs = xattrs;
	if (rc == 0)
		n->xattrs[n->xattr_count++] = (struct btrfs_xattr){
		    .hash = btrfs_name_hash(name),
		    .size = (uint32_t)strlen(name) + size };
	return rc;
}

static int
read_xattrs(struct btrfs_names *n, size_t item)
{
	const struct fs_item *it = &n->list->items[item];
	int fd = tree_open(n->list->roots[it->root], it->path, 0), rc = 0;
	char names[LIST_MAX];
	ssize_t size = fd < 0 ? 0 : flistxattr(fd, names, sizeof(names));

	for (ssize_t at = 0; rc == 0 && at < size;) {
		size_t len = strnlen(names + at, (size_t)(size - at));
		ssize_t value = fgetxattr(fd, names + at, NULL, 0);

		if (value >= 0 && value <= VALUE_MAX)
			rc = add_xattr(n, names + at, (uint32_t)value);
		at += (ssize_t)len + 1;
	}
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

static int
read_all_xattrs(struct btrfs_names *n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n->list->count; i++) {
		const struct fs_item *it = &n->list->items[i];

		n->places[i].xattr = n->xattr_count;
		if (it->err == 0 && !it->again &&
		    (S_ISREG(it->st.st_mode) || S_ISDIR(it->st.st_mode)))
			rc = read_xattrs(n, i);
		n->places[i].xattr_end = n->xattr_count;
	}
	return rc;
}

int
btrfs_names_read(struct btrfs_names *n, const struct fs_list *list)
{
	int rc;

	*n = (struct btrfs_names){ .list = list };
	n->order = sys_calloc(list->count + 1, sizeof(*n->order));
	n->places = sys_calloc(list->count + 1, sizeof(*n->places));
	if (n->order == NULL || n->places == NULL)
		return -ENOMEM;
	find_dirs(n);
	rc = find_order(n);
	if (rc != 0)
		return rc;
	number(n);
	return read_all_xattrs(n);
}

void
btrfs_names_free(struct btrfs_names *n)
{
	sys_free(n->order);
	sys_free(n->places);
	sys_free(n->xattrs);
}

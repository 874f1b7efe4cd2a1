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

/* An item to be sorted. */
struct entry {
	uint64_t inode;
	uint32_t dir, item;
};

static int
by_dir_and_inode(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->dir != y->dir)
		return x->dir < y->dir ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->item < y->item ? -1 : 1;
}

/*
 * Puts the items in the order of a copy: a directory, then its contents by
 * inode number.  Returns 0 or -ENOMEM.
 */
static int
find_order(struct btrfs_names *n)
{
	const struct fs_list *l = n->list;
	const struct fs_item *items = l->items;
	size_t k = 0, count = 0, room = l->count + 1;
	struct entry *entries = sys_calloc(room, sizeof(*entries));
	/* the next entry of each directory, and the end of its entries */
	uint32_t *from = sys_calloc(room, sizeof(*from));
	uint32_t *to = sys_calloc(room, sizeof(*to));
	int rc = -ENOMEM;

	if (entries == NULL || from == NULL || to == NULL)
		goto out;
	for (uint32_t i = 0; i < l->count; i++)
		if (items[i].dir != i)
			entries[k++] = (struct entry){ .item = i,
			    .dir = items[i].dir, .inode = items[i].ino };
	qsort(entries, k, sizeof(*entries), by_dir_and_inode);
	for (size_t i = k; i-- > 0;)
		from[entries[i].dir] = (uint32_t)i;
	for (size_t i = 0; i < k; i++)
		to[entries[i].dir] = (uint32_t)i + 1;
	for (uint32_t root = 0; root < l->count; root++) {
		uint32_t at = root;

		if (items[root].dir != root)
			continue;
		n->order[count++] = root;
		while (at != root || from[at] < to[at]) {
			if (from[at] < to[at]) {
				at = entries[from[at]++].item;
				n->order[count++] = at;
			} else {
				at = items[at].dir;
			}
		}
	}
	rc = 0;
out:
	sys_free(entries);
	sys_free(from);
	sys_free(to);
	return rc;
}

static int
read_xattrs(struct btrfs_names *n, size_t i, struct fs_path *p)
{
	const char *path = fs_list_path(n->list, i, p);
	int fd = path == NULL ? -ENOMEM :
	    tree_open(n->list->roots[n->list->items[i].root], path, 0);
	int rc = path == NULL ? -ENOMEM : 0;
	char names[LIST_MAX];
	ssize_t size = fd < 0 ? 0 : flistxattr(fd, names, sizeof(names));

	for (ssize_t at = 0; rc == 0 && at < size;) {
		const char *name = names + at;
		size_t len = strnlen(name, (size_t)(size - at));
		ssize_t value = fgetxattr(fd, name, NULL, 0);
		void *xattrs = n->xattrs;

		at += (ssize_t)len + 1;
		if (value < 0 || value > VALUE_MAX)
			continue;
		rc = array_grow(&xattrs, n->xattr_count, &n->xattr_cap,
		    sizeof(*n->xattrs));
		n->xattrs = xattrs;
		if (rc == 0)
			n->xattrs[n->xattr_count++] = (struct btrfs_xattr){
			    .hash = btrfs_name_hash(name),
			    .size = (uint32_t)(strlen(name) + (size_t)value) };
	}
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

int
btrfs_names_read(struct btrfs_names *n, const struct fs_list *list)
{
	struct fs_path path = { .s = NULL };
	struct btrfs_place *p;
	int rc;

	*n = (struct btrfs_names){ .list = list };
	n->order = sys_calloc(list->count + 1, sizeof(*n->order));
	p = n->places = sys_calloc(list->count + 1, sizeof(*n->places));
	if (n->order == NULL || p == NULL)
		return -ENOMEM;
	rc = find_order(n);
	if (rc != 0)
		return rc;
	/* number the items, and the files by their first names */
	for (uint32_t k = 0; k < list->count; k++)
		p[n->order[k]].rank = p[n->order[k]].object = k;
	for (size_t i = 0; i < list->count; i++) {
		uint32_t *of;

		if (!list->items[i].again)
			continue;
		of = &p[list->items[i].first].object;
		*of = p[i].rank < *of ? p[i].rank : *of;
	}
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].again)
			p[i].object = p[list->items[i].first].object;
	for (size_t i = 0; rc == 0 && i < list->count; i++) {
		const struct fs_item *it = &list->items[i];

		p[i].xattr = n->xattr_count;
		if (it->err == 0 && !it->again &&
		    (S_ISREG(it->mode) || S_ISDIR(it->mode)))
			rc = read_xattrs(n, i, &path);
	}
	p[list->count].xattr = n->xattr_count;
	sys_free(path.s);
	return rc;
}

void
btrfs_names_free(struct btrfs_names *n)
{
	sys_free(n->order);
	sys_free(n->places);
	sys_free(n->xattrs);
}

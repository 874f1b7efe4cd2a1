/*
 * sqfs_tree.c - what files take in a squashfs image: the order of things
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Paths component by component: a slash comes before all else. */
static int
compare_paths(const char *a, const char *b)
{
	while (*a == *b && *a != '\0')
		a++, b++;
	if (*a == *b)
		return 0;
	if (*a == '\0' || *b == '\0')
		return *a == '\0' ? -1 : 1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int
by_place(const void *a, const void *b)
{
	const struct fs_item *x = ((const struct sqfs_node *)a)->item,
	    *y = ((const struct sqfs_node *)b)->item;

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	return compare_paths(x->path, y->path);
}

static const char *
name_of(const struct fs_item *it)
{
	const char *slash = strrchr(it->path, '/');

	/* what a directory itself was called is not known here */
	return *it->path == '\0' ? "root" : slash == NULL ? it->path :
	    slash + 1;
}

/* Whether a node of that path is below directory d. */
static bool
is_below(const struct sqfs_node *d, const struct fs_item *it)
{
	size_t n;

	if (d->item == NULL)
		return true;
	n = strlen(d->item->path);
	return d->item->root == it->root &&
	    strncmp(d->item->path, it->path, n) == 0 &&
	    (n == 0 ? *it->path != '\0' : it->path[n] == '/');
}

/* Sets parents and ends: a directory ends where what follows is not in it. */
static void
nest(struct sqfs_tree *t)
{
	size_t in = 0;

	for (size_t i = 1; i < t->count; i++) {
		while (!is_below(&t->nodes[in], t->nodes[i].item)) {
			t->nodes[in].end = i;
			in = t->nodes[in].parent;
		}
		t->nodes[i].parent = in;
		t->nodes[i].end = i + 1;
		if (S_ISDIR(t->nodes[i].item->st.st_mode))
			in = i;
	}
	for (; in != 0; in = t->nodes[in].parent)
		t->nodes[in].end = t->count;
	t->nodes[0].end = t->count;
}

static int
by_inode(const void *a, const void *b)
{
	const struct sqfs_node *m = *(struct sqfs_node *const *)a,
	    *n = *(struct sqfs_node *const *)b;
	const struct stat *x = &m->item->st, *y = &n->item->st;

	if (x->st_dev != y->st_dev)
		return x->st_dev < y->st_dev ? -1 : 1;
	if (x->st_ino != y->st_ino)
		return x->st_ino < y->st_ino ? -1 : 1;
	return m < n ? -1 : m > n;
}

/* Hard links belong to the first of them. */
static int
find_links(struct sqfs_tree *t)
{
	struct sqfs_node **linked = sys_calloc(t->count, sizeof(*linked));
	size_t n = 0;

	if (linked == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		const struct fs_item *it = t->nodes[i].item;

		t->nodes[i].owner = i;
		t->nodes[i].links = 1;
		if (it != NULL && !S_ISDIR(it->st.st_mode) &&
		    it->st.st_nlink > 1)
			linked[n++] = &t->nodes[i];
	}
	qsort(linked, n, sizeof(*linked), by_inode);
	for (size_t i = 1; i < n; i++) {
		size_t owner = linked[i - 1]->owner;
		const struct stat *x = &linked[i - 1]->item->st,
		    *y = &linked[i]->item->st;

		if (x->st_dev != y->st_dev || x->st_ino != y->st_ino)
			continue;
		linked[i]->owner = owner;
		t->nodes[owner].links++;
	}
	sys_free(linked);
	return 0;
}

/* In order, the root last. */
static void
number(struct sqfs_tree *t)
{
	for (size_t i = 1; i < t->count; i++) {
		struct sqfs_node *n = &t->nodes[i];

		n->number = n->owner == i ? ++t->inodes :
		    t->nodes[n->owner].number;
	}
	t->nodes[0].number = ++t->inodes;
}

int
sqfs_tree_make(struct sqfs_tree *t, const struct fs_list *l)
{
	size_t above = l->root_count > 1;
	int rc;

	*t = (struct sqfs_tree){ .count = 0 };
	if (l->count >= UINT32_MAX)
		return -EFBIG;
	t->nodes = sys_calloc(l->count + above + 1, sizeof(*t->nodes));
	if (t->nodes == NULL)
		return -ENOMEM;
	t->nodes[0].name = "";
	t->count = above;
	for (size_t i = 0; i < l->count; i++)
		if (l->items[i].err == 0)
			t->nodes[t->count++] = (struct sqfs_node){
			    .item = &l->items[i],
			    .name = name_of(&l->items[i]) };
	if (t->count == 0)
		return -ENOENT;
	qsort(t->nodes + above, t->count - above, sizeof(*t->nodes),
	    by_place);
	nest(t);
	rc = find_links(t);
	number(t);
	return rc;
}

void
sqfs_tree_free(struct sqfs_tree *t)
{
	sys_free(t->nodes);
}

bool
sqfs_has_data(const struct sqfs_tree *t, size_t node)
{
	const struct sqfs_node *n = &t->nodes[node];

	return n->owner == node && n->item != NULL &&
	    S_ISREG(n->item->st.st_mode) && n->item->st.st_size > 0;
}

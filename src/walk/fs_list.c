/*
 * fs_list.c - the contents of several directories, by path
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "walk/fs_list.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "walk/walk_trail.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 256 };	/* items that a thread examines at a time */

/* A tree; the paths and names of items point into it. */
struct fs_list_text {
	struct fs_list_text *next;
	struct tree tree;
	struct arena paths;
	const char **names;		/* each directory's names are
					 * contiguous */
};

static int
add_path_item(struct fs_list *l, struct fs_list_text *x, struct tree_path *p,
    unsigned root, int err)
{
	size_t n = strlen(p->s) + 1;
	char *path = arena_take(&x->paths, n);

	if (path == NULL)
		return -ENOMEM;
	memcpy(path, p->s, n);
	l->items[l->count++] = (struct fs_item){ .path = path, .root = root,
		.err = err };
	return 0;
}

/* Items, which threads take in chunks. */
struct examination {
	struct fs_list *list;
	atomic_size_t next;
};

static void
examine(void *arg, unsigned thread)
{
	struct examination *e = arg;
	const struct fs_list *l = e->list;
	struct walk_trail trail = { .count = 0 };
	size_t i;

	(void)thread;
	while ((i = atomic_fetch_add(&e->next, CHUNK)) < l->count)
		for (size_t end = i + CHUNK; i < end && i < l->count; i++) {
			struct fs_item *it = &l->items[i];
			const char *path = *it->path == '\0' ? "." : it->path;
			int dir = walk_trail_reach(&trail,
			    l->roots[it->root], &path);
			int rc = dir < 0 ? dir : sys_fstatat(dir, path, &it->st,
			    AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);

			if (rc != 0)
				it->err = rc;
		}
	walk_trail_close(&trail);
}

/*
 * Computes FNV-1a and mixes its bits, so that the last bytes of a name also
 * affect all bits.
 */
static uint64_t
hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325U;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3U;
	h = (h ^ h >> 31) * 0x9e3779b97f4a7c15U;
	return h ^ h >> 32;
}

static int
by_hash(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	uint64_t m = hash_of(x), n = hash_of(y);

	return m != n ? m < n ? -1 : 1 : strcmp(x, y);
}

/*
 * Groups the names by directory: items first..first + dirs are the directories
 * in the tree's order.
 */
static int
group_names(struct fs_list *l, struct fs_list_text *x, size_t first)
{
	struct tree *t = &x->tree;
	size_t total = t->count + t->dir_count, *ends, at = 0;

	ends = sys_calloc(t->dir_count + 1, sizeof(*ends));
	x->names = sys_calloc(total, sizeof(*x->names));
	if (ends == NULL || x->names == NULL) {
		sys_free(ends);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->count; i++)
		ends[t->entries[i].dir]++;
	for (size_t i = 1; i < t->dir_count; i++)
		ends[t->dirs[i].parent]++;
	for (size_t i = 0; i < t->dir_count; i++) {
		struct fs_item *it = &l->items[first + i];

		it->names = x->names + at;
		it->name_count = ends[i];
		at += ends[i];
		ends[i] = at - ends[i];
	}
	for (size_t i = 0; i < t->count; i++)
		x->names[ends[t->entries[i].dir]++] = t->entries[i].name;
	for (size_t i = 1; i < t->dir_count; i++)
		x->names[ends[t->dirs[i].parent]++] = t->dirs[i].name;
	at = 0;
	for (size_t i = 0; i < t->dir_count; i++) {
		qsort(x->names + at, l->items[first + i].name_count,
		    sizeof(*x->names), by_hash);
		at += l->items[first + i].name_count;
	}
	sys_free(ends);
	return 0;
}

static int
by_item_path(const void *a, const void *b)
{
	const struct fs_item *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int
fs_list_add(struct fs_list *l, int fd, unsigned threads)
{
	int *roots = sys_realloc(l->roots,
	    (l->root_count + 1) * sizeof(*roots));
	struct fs_list_text *x = sys_calloc(1, sizeof(*x));
	struct examination e = { .list = l };
	struct tree_path p = { NULL, 0 };
	size_t first = l->count, chunks;
	unsigned root = l->root_count;
	struct fs_item *items;
	struct tree *t;
	int rc;

	if (roots != NULL)
		l->roots = roots;
	if (roots == NULL || x == NULL) {
		sys_close(fd);
		sys_free(x);
		return -ENOMEM;
	}
	l->roots[l->root_count++] = fd;
	x->next = l->text;
	l->text = x;
	t = &x->tree;
	rc = tree_scan(t, fd, threads, NULL);
	if (rc != 0)
		return rc;
	items = sys_realloc(l->items,
	    (first + t->count + t->dir_count) * sizeof(*items));
	if (items == NULL)
		return -ENOMEM;
	l->items = items;
	for (size_t i = 0; rc == 0 && i < t->dir_count; i++) {
		/* a directory, which is not an entry in the tree */
		struct tree_entry dir = { .dir = t->dirs[i].parent,
		    .name = i == 0 ? "" : t->dirs[i].name };

		rc = tree_path(t, &dir, &p);
		if (rc == 0)
			rc = add_path_item(l, x, &p, root, 0);
	}
	if (rc == 0 && l->with_names)
		rc = group_names(l, x, first);
	for (size_t i = 0; rc == 0 && i < t->count; i++) {
		rc = tree_path(t, &t->entries[i], &p);
		if (rc == 0)
			rc = add_path_item(l, x, &p, root, t->entries[i].err);
	}
	sys_free(p.s);
	if (rc != 0)
		return rc;
	chunks = (l->count - first + CHUNK - 1) / CHUNK;
	atomic_init(&e.next, first);
	parallel_run(chunks < threads ? (unsigned)chunks : threads, examine,
	    &e);
	qsort(l->items + first, l->count - first, sizeof(*l->items),
	    by_item_path);
	return 0;
}

/* Puts hard links next to each other, in item order. */
static int
by_inode(const void *a, const void *b)
{
	const struct fs_item *x = *(struct fs_item *const *)a,
	    *y = *(struct fs_item *const *)b;

	if (x->st.st_dev != y->st.st_dev)
		return x->st.st_dev < y->st.st_dev ? -1 : 1;
	if (x->st.st_ino != y->st.st_ino)
		return x->st.st_ino < y->st.st_ino ? -1 : 1;
	return x < y ? -1 : x > y;
}

int
fs_list_end(struct fs_list *l)
{
	struct fs_item **linked = sys_calloc(l->count + 1, sizeof(*linked));
	size_t n = 0;

	if (linked == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < l->count; i++) {
		struct fs_item *it = &l->items[i];

		if (it->err == 0 && it->st.st_nlink > 1 &&
		    !S_ISDIR(it->st.st_mode))
			linked[n++] = it;
	}
	qsort(linked, n, sizeof(*linked), by_inode);
	for (size_t i = 0, first = 0; i < n; i++) {
		if (linked[i]->st.st_dev != linked[first]->st.st_dev ||
		    linked[i]->st.st_ino != linked[first]->st.st_ino)
			first = i;
		linked[i]->again = i != first;
		linked[i]->first = (size_t)(linked[first] - l->items);
	}
	sys_free(linked);
	return 0;
}

void
fs_list_free(struct fs_list *l)
{
	while (l->text != NULL) {
		struct fs_list_text *x = l->text;

		l->text = x->next;
		arena_free(&x->paths);
		sys_free(x->names);
		tree_free(&x->tree);
		sys_free(x);
	}
	for (unsigned i = 0; i < l->root_count; i++)
		sys_close(l->roots[i]);
	sys_free(l->roots);
	sys_free(l->items);
	*l = (struct fs_list){ .items = NULL };
}

bool
fs_item_has_data(const struct fs_item *it)
{
	return it->err == 0 && !it->again && S_ISREG(it->st.st_mode) &&
	    it->st.st_size > 0;
}

/*
 * fs_list.h - the contents of several directories, by path
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FS_LIST_H
#define COLDPRESS_FS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A directory, file, link, device or the like. */
struct fs_item {
	const char *path;		/* relative to its root; "" for the root
					 * itself */
	unsigned root;
	bool again;			/* a hard link to an earlier item: */
	size_t first;			/* index of that item, if so */
	int err;			/* -errno: could not be examined */
	struct stat st;
	/*
	 * If with_names is set: the names in a directory, in hash order, which
	 * is the order in which a program that copies a tree usually reads
	 * them.
	 */
	const char *const *names;
	size_t name_count;
};

struct fs_list {
	bool with_names;		/* set before the first fs_list_add() */
	struct fs_item *items;		/* the items of each root, sorted
					 * bytewise by path */
	size_t count;
	int *roots;			/* descriptors, in the order given */
	unsigned root_count;
	struct fs_list_text *text;	/* paths and names */
};

/*
 * Adds the directory called name, open at fd; the list takes ownership of fd.
 * Names that cannot be examined become items with an error.  Returns 0, -ENOMEM
 * or -errno for the directory itself.  Not thread-safe; uses the given number
 * of threads.
 */
int fs_list_add(struct fs_list *l, int fd, unsigned threads);

/* Finds the hard links.  Call this last.  Returns 0 or -ENOMEM. */
int fs_list_end(struct fs_list *l);

void fs_list_free(struct fs_list *l);

/*
 * Returns whether the item is a file with data to read, and not a hard link to
 * an earlier item.
 */
bool fs_item_has_data(const struct fs_item *it);

#endif

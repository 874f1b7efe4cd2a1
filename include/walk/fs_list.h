/*
 * fs_list.h - what is in some directories, by path
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FS_LIST_H
#define COLDPRESS_FS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A file, link, device, ...; or a directory. */
struct fs_item {
	const char *path;		/* below its root; "" for that */
	unsigned root;
	bool again;			/* a hard link to an item before it */
	int err;			/* -errno: it could not be looked at */
	struct stat st;
	/*
	 * Of a directory: what is in it, in the order of a hash, since who
	 * copies a tree mostly finds names in such an order.
	 */
	const char *const *names;
	size_t name_count;
};

struct fs_list {
	struct fs_item *items;		/* of each root by path, bytewise */
	size_t count;
	int *roots;			/* descriptors, in the order given */
	unsigned root_count;
	struct fs_list_text *text;	/* paths and names */
};

/*
 * Adds the directory of that name, open at fd, which the list owns from now
 * on.  What cannot be looked at is an item with an error.  0, -ENOMEM or
 * -errno of the directory itself.  Not thread-safe; uses so many threads.
 */
int fs_list_add(struct fs_list *l, int fd, unsigned threads);

/* After the last one: finds the hard links.  0 or -ENOMEM. */
int fs_list_end(struct fs_list *l);

void fs_list_free(struct fs_list *l);

#endif

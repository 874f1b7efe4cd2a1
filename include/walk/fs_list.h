/*
 * fs_list.h - the contents of several directories, by path
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * There may be tens of millions of items, so that every byte of one counts: an
 * item needs 72 bytes and its name.  Paths are built when needed.
 */
#ifndef COLDPRESS_FS_LIST_H
#define COLDPRESS_FS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * A directory, file, link, device or the like.  Linux has 32 bits for a device
 * and for a number of links.
 */
struct fs_item {
	const char *name;		/* "" for the root itself */
	uint64_t size, ino;
	int64_t mtime_s;
	uint32_t mtime_ns, uid, gid, links, dev, rdev;
	uint32_t dir;			/* index of its directory; a root is
					 * its own */
	uint32_t first;			/* if it is another name of an earlier
					 * item, the index of that; of a
					 * directory, used by the list */
	uint32_t root : 29;
	bool again : 1;			/* a hard link to an earlier item */
	bool sparse : 1;		/* hole_possible() */
	bool dense : 1;			/* has blocks for its whole size */
	uint16_t mode;			/* type and permissions */
	int16_t err;			/* -errno: could not be examined */
};

struct fs_list {
	/*
	 * Set before fs_list_end(): directories have their contents in hash
	 * order, too.
	 */
	bool with_children;
	/*
	 * The items of each root, sorted bytewise by path, so that an item
	 * follows its directory.
	 */
	struct fs_item *items;
	size_t count;
	int *roots;			/* descriptors, in the order given */
	unsigned root_count;
	struct fs_list_text *text;	/* names */
	uint32_t *children;
};

/*
 * Adds the directory called name, open at fd; the list takes ownership of fd.
 * Names that cannot be examined become items with an error.  Returns 0,
 * -ENOMEM, -EFBIG (more items than 32 bits can number) or -errno for the
 * directory itself.  Not thread-safe; uses the given number of threads.
 */
int fs_list_add(struct fs_list *l, int fd, unsigned threads);

/* Finds the hard links.  Call this once, last.  Returns as fs_list_add(). */
int fs_list_end(struct fs_list *l);

void fs_list_free(struct fs_list *l);

/*
 * Returns the items in the directory that is item i, in hash order, which is
 * the order in which a program that copies a tree usually reads them.
 */
const uint32_t *fs_list_children(const struct fs_list *l, size_t i,
    size_t *count);

/*
 * A path, whose buffer is reused.  All zeros: an empty one.  It belongs to one
 * thread and one list, and remembers a directory, so that what follows in the
 * list or is near takes little time, however deep it is.
 */
struct fs_path {
	char *s;			/* from sys_malloc() */
	size_t cap;
	size_t len;			/* of the directory, with a slash */
	size_t dir;			/* 1 + its index, or 0 */
	size_t depth;			/* directories above the item, with the
					 * root */
};

/*
 * Returns the path of item i relative to its root, "" for the root itself;
 * valid until p is used again.  Returns NULL if there is no memory.
 */
const char *fs_list_path(const struct fs_list *l, size_t i,
    struct fs_path *p);

/* Sets an item's attributes. */
void fs_item_set(struct fs_item *it, const struct stat *st);

/*
 * Returns an item's attributes; others are 0.  Of st_blocks only what it says
 * about holes remains: it is less than st_size, or than its whole blocks, if it
 * was.
 */
struct stat fs_item_stat(const struct fs_item *it);

/*
 * Returns whether the item is a file with data to read, and not a hard link to
 * an earlier item.
 */
bool fs_item_has_data(const struct fs_item *it);

#endif

/*
 * sqpack_dir.h - listing a directory, and reading its files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_DIR_H
#define COLDPRESS_SQPACK_DIR_H

#include "sqpack.h"

#include "sqpack_ahead.h"
#include "walk/fs_list.h"

/* A file's size tells whether it can have a duplicate. */
struct dir {
	struct sqpack *p;
	int root;
	uint64_t *sizes;		/* of files with blocks, ascending */
	size_t size_count;
	uint64_t *changed_ns;		/* of each id, when it was listed */
	uint32_t *files;		/* nodes with data, in order */
	size_t file_count;
	size_t group, ends[2];		/* of files by --order: first, rest */
	struct ahead *ahead;
	/* the file in hand */
	size_t next;			/* index in files of the one after */
	bool left_out;			/* some file was, when it was read */
	const struct ahead_file *file;
	uint64_t offset;
};

/*
 * Reports an error with a path of the directory: 0 if the image can do without
 * it, otherwise rc.
 */
int dir_trouble(struct dir *d, const char *path, int rc);

/* When a file was changed; wraps for dates that are out of range. */
uint64_t dir_changed_ns(const struct stat *st);

/* What was listed into the tree, with hard links.  0 or -errno. */
int dir_fill_tree(struct dir *d, const struct fs_list *list);

/*
 * The attributes of a path below the directory `at`, as a set of the image.  0
 * or -errno.
 */
int dir_add_xattrs(struct dir *d, int at, const char *path, uint32_t *index);

/*
 * Which items of the list may have attributes: an array to be freed in any
 * case.  0 or -ENOMEM.
 */
int dir_find_xattrs(const struct dir *d, const struct fs_list *list,
    bool **has);

/* Of several sources: lists the directories.  0, or -errno that was said. */
int dir_list_inputs(struct dir *d, struct fs_list *list);

/* Of several sources, the one that the path begins with. */
const struct sqpack_input *dir_input(const struct dir *d, const char *path);

#endif

/*
 * imgsrc_dir.h - listing a directory, and reading its files
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_DIR_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_DIR_H

#include "imgsrc_ahead.h"

#include "image/source/imgsrc.h"
#include "walk/fs_list.h"

/* A directory.  The sizes are used to find files that can have duplicates. */
struct imgsrc_dir {
	struct imgsrc_image *to;
	int root;
	uint64_t *sizes;		/* files with blocks, ascending */
	size_t size_count;
	uint64_t *changed_ns;		/* change times at the time of listing,
					 * by node id */
	uint32_t *files;		/* nodes with data, in order */
	size_t file_count;
	size_t group, ends[2];		/* for --order: ends of the first files
					 * and the rest */
	struct imgsrc_ahead *ahead;
	/* the current file */
	size_t next;			/* index in files, plus 1 */
	bool left_out;			/* a file was omitted while reading */
	const struct imgsrc_ahead_file *file;
	uint64_t offset;
};

/*
 * Reports an error for a path in the directory.  Returns 0 if the path may be
 * omitted (to->o.keep_going), otherwise rc.
 */
int imgsrc_dir_trouble(struct imgsrc_dir *d, const char *path, int rc);

/*
 * Returns the change time of a file in nanoseconds; dates out of range wrap
 * around.
 */
uint64_t imgsrc_dir_changed_ns(const struct stat *st);

/* Adds the listed names to the tree, with hard links.  Returns 0 or -errno. */
int imgsrc_dir_fill_tree(struct imgsrc_dir *d, const struct fs_list *list);

/*
 * Adds the extended attributes of a path below the directory `at` to the image.
 * *index identifies the set.  Returns 0 or -errno.
 */
int imgsrc_dir_add_xattrs(struct imgsrc_dir *d, int at, const char *path,
    uint32_t *index);

/*
 * Determines which items of the list may have attributes.  The array must be
 * freed even after an error.  Returns 0 or -ENOMEM.
 */
int imgsrc_dir_find_xattrs(const struct imgsrc_dir *d,
    const struct fs_list *list, bool **has);

/*
 * Lists the directories of several sources.  Returns 0, or -errno after
 * reporting the error.
 */
int imgsrc_dir_list_inputs(struct imgsrc_dir *d, struct fs_list *list);

/* Returns which of several sources contains a path. */
const struct imgsrc_input *imgsrc_dir_input(const struct imgsrc_dir *d,
    const char *path);

#endif

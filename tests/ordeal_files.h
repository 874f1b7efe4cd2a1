/*
 * ordeal_files.h - what a directory contains, to be compared and restored
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_ORDEAL_FILES_H
#define COLDPRESS_TESTS_ORDEAL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

struct file {
	char *path;
	mode_t mode;
	struct timespec changed;	/* restored, but not compared */
	size_t size;
	char *data;		/* of a regular file or a link, else NULL */
};

struct files {
	struct file *all;	/* by path */
	size_t count;
};

/*
 * Reads everything below the current directory, directories first, except for
 * sockets.  Ends the program if that fails, as all functions here do.
 */
struct files files_take(void);
void files_free(struct files *f);

const struct file *files_find(const struct files *f, const char *path);

/* Whether path is top, or below it. */
bool files_below(const char *path, const char *top);

/*
 * Whether both have the same type, mode and content; either may be NULL.  If
 * rough is set, permissions do not matter.
 */
bool files_same(const struct file *a, const struct file *b, bool rough);

/* Whether both contain the same at path and below it. */
bool files_same_below(const struct files *a, const struct files *b,
    const char *path, bool rough);

/* Makes the current directory contain what it did, given what it does now. */
void files_restore(const struct files *then, const struct files *now);

#endif

/*
 * scratch.h - a temporary directory for a test
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_SCRATCH_H
#define COLDPRESS_TESTS_SCRATCH_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCRATCH_B = 256 };

/*
 * Creates a directory in $TMPDIR, or /tmp, for the caller to remove.  Returns
 * dir, with its path, or NULL if it could not be created.
 */
static inline char *
scratch_make(char dir[SCRATCH_B])
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(dir, SCRATCH_B, "%s/coldpress.XXXXXX",
	    tmp != NULL && *tmp != '\0' ? tmp : "/tmp");

	return n < SCRATCH_B ? mkdtemp(dir) : NULL;
}

static inline int
scratch_remove_one(const char *path, const struct stat *st, int type,
    struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

/* Removes a directory with everything in it.  Returns 0, or not. */
static inline int
scratch_remove(const char *dir)
{
	return nftw(dir, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Creates a directory, and goes there.  Returns 0, or not. */
static inline int
scratch_enter(char dir[SCRATCH_B])
{
	return scratch_make(dir) == NULL || chdir(dir) != 0;
}

/* Leaves and removes it. */
static inline int
scratch_leave(const char *dir)
{
	return chdir("/") != 0 || scratch_remove(dir) != 0;
}

#endif

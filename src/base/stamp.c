/*
 * stamp.c - whether a file has changed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/stamp.h"

#include "base/sys.h"

#include <fcntl.h>

struct stamp
stamp_of(const char *path)
{
	struct stat st;

	if (sys_fstatat(AT_FDCWD, path, &st, 0) != 0)
		return (struct stamp){ .size = 0 };
	return (struct stamp){ .dev = st.st_dev, .ino = st.st_ino,
		.size = st.st_size, .modified = st.st_mtim,
		.changed = st.st_ctim };
}

static bool
is_at(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool
stamp_has_changed(const char *path, const struct stamp *was)
{
	struct stamp now = stamp_of(path);

	return now.dev != was->dev || now.ino != was->ino ||
	    now.size != was->size || !is_at(&now.modified, &was->modified) ||
	    !is_at(&now.changed, &was->changed);
}

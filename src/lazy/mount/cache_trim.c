/*
 * cache_trim.c - removing the files of a cache that are least recently used
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/cache.h"

#include "base/array.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUFFIX ".ranges"

struct file {
	char name[32];
	struct timespec used;
	uint64_t bytes;
};

static int
by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct file *)a)->used;
	const struct timespec *y = &((const struct file *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec > y->tv_sec ? 1 : -1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static int
list(int dir, DIR *d, struct file **files, size_t *count, uint64_t *sum)
{
	size_t cap = 0, len;
	struct dirent *e;
	struct stat st;
	void *all = NULL;
	int rc = 0;

	for (*count = 0; rc == 0 && (e = readdir(d)) != NULL; ) {
		len = strlen(e->d_name);
		if (len >= sizeof((*files)->name) || len < sizeof(SUFFIX) ||
		    strcmp(e->d_name + len - strlen(SUFFIX), SUFFIX) != 0 ||
		    sys_fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		rc = array_grow(&all, *count, &cap, sizeof(**files));
		*files = all;
		if (rc != 0)
			break;
		(*files)[*count] = (struct file){ .used = st.st_mtim,
			.bytes = (uint64_t)st.st_blocks * 512 };
		strcpy((*files)[*count].name, e->d_name);
		*sum += (*files)[(*count)++].bytes;
	}
	return rc;
}

int
cache_trim(int dir, uint64_t limit)
{
	int fd = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct file *files = NULL;
	uint64_t sum = 0;
	size_t count;
	int rc;

	if (d == NULL) {
		rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			sys_close(fd);
		return rc;
	}
	rc = list(dir, d, &files, &count, &sum);
	closedir(d);
	if (rc == 0 && count > 0)
		qsort(files, count, sizeof(*files), by_use);
	for (size_t i = 0; rc == 0 && i < count && sum > limit; i++) {
		sum -= files[i].bytes;
		rc = sys_unlinkat(dir, files[i].name, 0);
	}
	sys_free(files);
	return rc;
}

/*
 * cache_dir.c - the files of a cache directory: names, opening, and trimming
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_private.h"

#include "base/array.h"
#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_TRIED = 100 };

int
cache_name(const char *key, const char *suffix, char name[CACHE_NAME])
{
	uint8_t sum[DIGEST_MAX];
	int rc = digest_sha256(key, strlen(key), sum);

	if (rc == 0) {
		hex_write(name, sum, sizeof(sum));
		strcat(name, suffix);
	}
	return rc;
}

int
cache_file(int dir, const char *name, int flags)
{
	/* a FIFO must not block */
	int fd = sys_openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW |
	    O_NONBLOCK | O_NOCTTY, 0600), rc;
	struct stat st;

	if (fd == -ELOOP || fd == -EISDIR || fd == -ENXIO)
		return -EINVAL;
	if (fd < 0)
		return fd;
	rc = sys_fstat(fd, &st);
	if (rc == 0 && !S_ISREG(st.st_mode))
		rc = -EINVAL;
	if (rc == 0)
		return fd;
	sys_close(fd);
	return rc;
}

/* Creates an unnamed file on a filesystem without O_TMPFILE, such as NFS. */
static int
make_and_unlink(int dir)
{
	char name[CACHE_NAME];
	int fd = -EEXIST, rc;

	for (int i = 0; fd == -EEXIST && i < NAMES_TRIED; i++) {
		snprintf(name, sizeof(name), ".%ld.%llu.%d", (long)getpid(),
		    (unsigned long long)sys_now_ns(), i);
		fd = sys_openat(dir, name, O_RDWR | O_CREAT | O_EXCL |
		    O_CLOEXEC, 0600);
	}
	rc = fd < 0 ? fd : sys_unlinkat(dir, name, 0);
	if (rc != 0 && fd >= 0)
		sys_close(fd);
	return rc != 0 ? rc : fd;
}

int
cache_unnamed(int dir)
{
	int fd = sys_openat(dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	return fd == -EOPNOTSUPP || fd == -EISDIR ? make_and_unlink(dir) : fd;
}

/* Removing the least recently used files */

struct cached_file {
	char name[CACHE_NAME];
	struct timespec used;
	uint64_t bytes;
};

static int
by_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct cached_file *)a)->used;
	const struct timespec *y = &((const struct cached_file *)b)->used;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec > y->tv_sec ? 1 : -1;
	return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static bool
ends_with(const char *name, const char *suffix)
{
	size_t n = strlen(name), len = strlen(suffix);

	return n > len && strcmp(name + n - len, suffix) == 0;
}

static bool
is_cache_file(const char *name)
{
	return strlen(name) < CACHE_NAME && (ends_with(name, CACHE_RANGES) ||
	    ends_with(name, CACHE_TEXT));
}

static int
list_files(int dir, DIR *d, struct cached_file **files, size_t *count,
    uint64_t *sum)
{
	size_t cap = 0;
	struct dirent *e;
	struct stat st;
	void *all = NULL;
	int rc = 0;

	*count = 0;
	while (errno = 0, (e = readdir(d)) != NULL) {
		if (!is_cache_file(e->d_name) || sys_fstatat(dir, e->d_name,
		    &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		rc = array_grow(&all, *count, &cap, sizeof(**files));
		*files = all;
		if (rc != 0)
			break;
		(*files)[*count] = (struct cached_file){ .used = st.st_mtim,
			.bytes = (uint64_t)st.st_blocks * 512 };
		strcpy((*files)[*count].name, e->d_name);
		*sum += (*files)[(*count)++].bytes;
	}
	return rc != 0 ? rc : -errno;
}

int
cache_trim(int dir, uint64_t limit)
{
	int fd = sys_openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct cached_file *files = NULL;
	uint64_t sum = 0;
	size_t count;
	int rc;

	if (d == NULL) {
		rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			sys_close(fd);
		return rc;
	}
	rc = list_files(dir, d, &files, &count, &sum);
	closedir(d);
	if (rc == 0 && count > 0)
		qsort(files, count, sizeof(*files), by_use);
	for (size_t i = 0; rc == 0 && i < count && sum > limit; i++) {
		rc = sys_unlinkat(dir, files[i].name, 0);
		/* another process may have removed it */
		if (rc == 0 || rc == -ENOENT)
			sum -= files[i].bytes;
		rc = rc == -ENOENT ? 0 : rc;
	}
	sys_free(files);
	return rc;
}

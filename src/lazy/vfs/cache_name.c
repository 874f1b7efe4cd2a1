/*
 * cache_name.c - the names of cache files, and opening them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_name.h"

#include "lazy/vfs/cache.h"

#include "base/hex.h"
#include "base/sys.h"
#include "engine/digest/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
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

/*
 * output_tree_remove.c - removing a directory, even in a signal handler
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This code makes only system calls, and uses no memory except the stack.
 */
#include "output_tree_remove.h"

#include "base/path.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

enum {
	DENTS_B = 2048,
	DEPTH_MAX = 8,			/* maximum depth of the trees that we
					 * create */
	ROUNDS = 100			/* retries while others create files */
};

static int remove_dir(int at, const char *name, int depth);

/*
 * Removes the entries listed by one getdents call.  Returns 0 if it listed
 * nothing, or -errno.
 */
static ssize_t
remove_listed(int dir, int depth)
{
	_Alignas(struct dirent64) char buf[DENTS_B];
	ssize_t n = sys_getdents(dir, buf, sizeof(buf));

	for (ssize_t at = 0; at < n;) {
		const struct dirent64 *e = (const void *)(buf + at);

		at += e->d_reclen;
		if (!path_is_dots(e->d_name) &&
		    sys_unlinkat(dir, e->d_name, 0) == -EISDIR &&
		    depth < DEPTH_MAX)
			remove_dir(dir, e->d_name, depth);
	}
	return n;
}

static int
remove_dir(int at, const char *name, int depth)
{
	int dir = sys_openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC, 0);

	if (dir < 0)
		return dir;
	while (remove_listed(dir, depth + 1) > 0)
		;
	sys_close(dir);
	return sys_unlinkat(at, name, AT_REMOVEDIR);
}

void
output_tree_remove(int at, const char *name)
{
	int rc = -ENOTEMPTY;

	for (int i = 0; rc == -ENOTEMPTY && i < ROUNDS; i++)
		rc = remove_dir(at, name, 0);
}

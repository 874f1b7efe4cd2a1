/*
 * imgsrc_dir_xattrs.c - extended attributes of files in a directory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Few files have attributes, but checking takes about as long as listing the
 * names, so it is done by all threads.  The attributes found are then read in
 * order, because the order affects the bytes of the image.
 */
#include "imgsrc_dir.h"

#include "base/parallel.h"
#include "base/sys.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

enum { PROC_PATH_MAX = PATH_MAX + 64, CHUNK = 256 };

/*
 * Returns a path via /proc, because only recent kernels accept a directory
 * descriptor and a relative path.
 */
static int
proc_path(int at, const char *path, char proc[PROC_PATH_MAX])
{
	return snprintf(proc, PROC_PATH_MAX, "/proc/self/fd/%d/%s", at,
	    *path == '\0' ? "." : path) >= PROC_PATH_MAX ?
	    -ENAMETOOLONG : 0;
}

/*
 * Lists the names of a path's attributes.  The system call is three times as
 * fast as access via /proc.
 */
static ssize_t
list_xattrs(int at, const char *path, char *names, size_t len)
{
	char proc[PROC_PATH_MAX];
	ssize_t n = sys_listxattrat(at, *path == '\0' ? "." : path, names, len);
	int rc;

	/* a system call filter may return EPERM */
	if (n != -ENOSYS && n != -EPERM)
		return n;
	rc = proc_path(at, path, proc);
	return rc != 0 ? rc : sys_llistxattr(proc, names, len);
}

/* Adds one attribute of path; omits it if the format does not support it. */
static int
add_file_xattr(struct imgsrc_dir *d, const char *path, const char *name)
{
	char value[64 << 10];
	ssize_t n = sys_lgetxattr(path, name, value, sizeof(value));
	int rc;

	if (n < 0)
		return n == -ENODATA ? 0 : (int)n;
	rc = sqt_xattrs_add(d->to->xattrs, name, value, (size_t)n);
	if (rc == -ENOTSUP) {
		imgsrc_tell(d->to, IMGSRC_WARNING, "%s: attribute %s omitted: "
		    "squashfs supports only user, trusted and security", path,
		    name);
		rc = 0;
	}
	return rc;
}

int
imgsrc_dir_add_xattrs(struct imgsrc_dir *d, int at, const char *path,
    uint32_t *index)
{
	char proc[PROC_PATH_MAX], names[64 << 10];
	ssize_t n;
	int rc;

	*index = SQUASHFS_NONE;
	n = list_xattrs(at, path, names, sizeof(names));
	if (n <= 0)
		return n == 0 || n == -ENOTSUP ? 0 : (int)n;
	rc = proc_path(at, path, proc);
	if (rc == 0)
		rc = sqt_xattrs_begin(d->to->xattrs);
	for (ssize_t i = 0; rc == 0 && i < n;
	    i += (ssize_t)strlen(names + i) + 1)
		rc = add_file_xattr(d, proc, names + i);
	return rc != 0 ? rc : sqt_xattrs_end(d->to->xattrs, index);
}

/* A search, in which threads claim chunks of the list. */
struct xattr_search {
	const struct fs_list *list;
	bool *has;
	atomic_size_t next;
};

static void
search_xattrs(void *arg, unsigned thread)
{
	struct xattr_search *s = arg;
	size_t i;

	(void)thread;
	while ((i = atomic_fetch_add(&s->next, CHUNK)) < s->list->count)
		for (size_t end = i + CHUNK; i < end && i < s->list->count;
		    i++) {
			const struct fs_item *it = &s->list->items[i];
			ssize_t n = list_xattrs(s->list->roots[it->root],
			    it->path, NULL, 0);

			/*
			 * the error will occur again, and be reported, when the
			 * item is processed
			 */
			s->has[i] = n != 0 && n != -ENOTSUP;
		}
}

int
imgsrc_dir_find_xattrs(const struct imgsrc_dir *d,
    const struct fs_list *list, bool **has)
{
	struct xattr_search s = { .list = list,
		.has = sys_malloc((list->count + 1) * sizeof(*s.has)) };

	*has = s.has;
	if (s.has == NULL)
		return -ENOMEM;
	/* in a short list, each item is checked only when it is processed */
	if (list->count < CHUNK)
		memset(s.has, true, list->count);
	else
		parallel_run(d->to->pack.threads, search_xattrs, &s);
	return 0;
}

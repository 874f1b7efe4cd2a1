/*
 * touchlog_names.c - listing the files of the root, and naming those opened
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * fanotify reports inodes, regardless of the path by which they were opened,
 * such as a chroot, a bind mount or a link.  Their names are looked up in the
 * root afterwards; if there are several hard links, the first in byte order is
 * used.
 */
#include "touchlog.h"

#include "base/strbuf.h"
#include "base/sys.h"
#include "measure/cold.h"
#include "walk/walk_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SCANNERS = 4 };

int
touchlog_each_file(struct touchlog *t, touchlog_file_fn *file, void *arg)
{
	struct tree tree;
	struct tree_path p = { NULL, 0 };
	int rc = tree_scan(&tree, t->root, SCANNERS, NULL);

	for (size_t i = 0; rc == 0 && i < tree.count; i++) {
		const struct tree_entry *e = &tree.entries[i];
		struct stat st;

		if (e->type != WALK_FILE)
			continue;
		rc = tree_path(&tree, e, &p);
		/* files that no longer exist were temporary */
		if (rc == 0 && fstatat(t->root, p.s, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			rc = file(t, p.s, &st, arg);
	}
	sys_free(p.s);
	tree_free(&tree);
	return rc;
}

static int
add_cold(struct touchlog *t, const char *path, const struct stat *st,
    void *arg)
{
	int fd = tree_open(t->root, path, 0);

	if (fd >= 0) {
		cold_add(arg, fd, st);
		sys_close(fd);
	}
	return 0;
}

static int
count_warm(struct touchlog *t, const char *path, const struct stat *st,
    void *arg)
{
	uint64_t pages, resident, *sum = arg;
	int fd = tree_open(t->root, path, 0);

	if (fd >= 0) {
		if (cold_resident(fd, st, &pages, &resident) == 0)
			*sum += resident;
		sys_close(fd);
	}
	return 0;
}

int
touchlog_make_cold(struct touchlog *t)
{
	struct cold *c;
	uint64_t warm = 0;
	int rc = cold_open(&c, COLD_FADVISE);

	if (rc != 0)
		return rc;
	rc = touchlog_each_file(t, add_cold, c);
	if (rc == 0)
		rc = cold_apply(c);
	cold_close(c);
	if (rc == 0)
		rc = touchlog_each_file(t, count_warm, &warm);
	if (rc == 0 && warm > 0)
		msg_warn(&t->msg, "%ju pages are used by other processes and "
		    "cannot be evicted from memory; they will be listed",
		    (uintmax_t)warm);
	return rc;
}

static int
take_name(struct touchlog *t, const char *path, const struct stat *st,
    void *arg)
{
	ssize_t i = opens_find(t->opens, (struct opens_file){ st->st_dev,
	    st->st_ino });
	struct touchlog_file *f = t->files + i;
	char *copy;

	(void)arg;
	if (i < 0 || (f->path != NULL && strcmp(f->path, path) <= 0))
		return 0;
	copy = strcopy(path);
	if (copy == NULL)
		return -ENOMEM;
	sys_free(f->path);
	*f = (struct touchlog_file){ copy, (uint64_t)st->st_size };
	return 0;
}

int
touchlog_find_names(struct touchlog *t)
{
	opens_files(t->opens, &t->count);
	t->files = sys_calloc(t->count + 1, sizeof(*t->files));
	if (t->files == NULL) {
		t->count = 0;
		return -ENOMEM;
	}
	return touchlog_each_file(t, take_name, NULL);
}

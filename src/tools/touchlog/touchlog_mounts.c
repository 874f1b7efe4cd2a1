/*
 * touchlog_mounts.c - the filesystems below the root, which are not watched
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "touchlog.h"

#include "base/strbuf.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMED_MAX = 5 };

/* Returns whether this type of filesystem holds no files of a disk. */
static bool
is_virtual(const char *type)
{
	static const char *const all[] = { "autofs", "binfmt_misc", "bpf",
	    "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs",
	    "efivarfs", "fusectl", "hugetlbfs", "mqueue", "nsfs", "proc",
	    "pstore", "ramfs", "rpc_pipefs", "securityfs", "selinuxfs", "sysfs",
	    "tmpfs", "tracefs" };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(type, all[i]) == 0)
			return true;
	return false;
}

void
touchlog_warn_of_mounts(struct touchlog *t)
{
	char link[32], root[PATH_MAX], device[PATH_MAX] = "";
	ssize_t len;
	FILE *f;
	struct strbuf names = { .data = NULL };
	const struct mntent *e;
	size_t count = 0, best = 0, root_len;
	struct stat st, own;

	/* the path of the root, which is empty for / */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", t->root);
	len = readlink(link, root, PATH_MAX - 1);
	if (len > 0)
		root[len == 1 ? 0 : len] = '\0';
	root_len = len > 0 ? strlen(root) : 0;
	f = len <= 0 || fstat(t->root, &own) == -1 ? NULL :
	    setmntent("/proc/self/mounts", "re");
	/* a mount point is listed after the one that contains it */
	while (f != NULL && (e = getmntent(f)) != NULL) {
		size_t n = strcmp(e->mnt_dir, "/") == 0 ? 0 :
		    strlen(e->mnt_dir);

		if (n >= best && strncmp(e->mnt_dir, root, n) == 0 &&
		    (root[n] == '/' || root[n] == '\0')) {
			best = n;
			snprintf(device, sizeof(device), "%s", e->mnt_fsname);
		}
		if (strncmp(e->mnt_dir, root, root_len) != 0 ||
		    e->mnt_dir[root_len] != '/' ||
		    e->mnt_dir[root_len + 1] == '\0' ||
		    is_virtual(e->mnt_type))
			continue;
		/*
		 * a mount that another one hides is not another filesystem, and
		 * a subvolume of the btrfs that also holds the root has another
		 * device number, but is watched
		 */
		if (lstat(e->mnt_dir, &st) == -1 || st.st_dev == own.st_dev ||
		    (strcmp(e->mnt_type, "btrfs") == 0 &&
		    strcmp(e->mnt_fsname, device) == 0))
			continue;
		if (count < NAMED_MAX)
			strbuf_fmt(&names, "%s%s", count == 0 ? "" : ", ",
			    e->mnt_dir);
		count++;
	}
	if (f != NULL)
		endmntent(f);
	if (count > NAMED_MAX)
		strbuf_fmt(&names, " and %zu more", count - NAMED_MAX);
	strbuf_char(&names, '\0');
	if (count > 0 && !names.failed)
		msg_warn(&t->msg, "files of other filesystems below %s are not "
		    "listed: %s", t->o.root, names.data);
	strbuf_free(&names);
}

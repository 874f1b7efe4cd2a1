/*
 * cgroup.c - the control groups of this process
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * /proc/self/cgroup contains the path of this process's group in each
 * hierarchy, and /proc/self/mountinfo shows where the hierarchy, or a part of
 * it, is mounted.  Every limit on a group between that path and the mount point
 * applies to the process.
 */
#include "cgroup.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TEXT = 4 << 20 };	/* enough for thousands of mounts */

/* What is visited, and by whom. */
struct visit {
	const char *root, *controller;
	void (*fn)(void *arg, const struct cgroup *g);
	void *arg;
};

/*
 * Returns the contents of the file root/path as a string, or NULL.  The caller
 * frees it.
 */
static char *
read_text(const char *root, const char *path)
{
	char name[PATH_MAX], *text;
	size_t len;
	int fd, rc;

	if (snprintf(name, sizeof(name), "%s%s", root, path) >= PATH_MAX)
		return NULL;
	fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	rc = fdio_read_all(fd, MOST_TEXT, &text, &len);
	sys_close(fd);
	return rc == 0 ? text : NULL;
}

/* Returns whether word occurs in the comma-separated list. */
static bool
listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		const char *comma = strchrnul(list, ',');

		if ((size_t)(comma - list) == len &&
		    memcmp(list, word, len) == 0)
			return true;
		if (*comma == '\0')
			return false;
		list = comma + 1;
	}
}

int
cgroup_numbers(const struct cgroup *g, const char *name, long long n[2])
{
	char path[PATH_MAX], *text = NULL;
	int count;

	if (snprintf(path, sizeof(path), "%s/%s", g->dir, name) < PATH_MAX)
		text = read_text(g->root, path);
	count = text == NULL ? 0 : sscanf(text, "%lld %lld", &n[0], &n[1]);
	sys_free(text);
	return count;
}

/*
 * Returns the part of path below top, the root of the mounted part of the
 * hierarchy.  For a path outside top, such as one with "..", returns "", so
 * that the mount point itself is used: container runtimes mount the container's
 * own group there.
 */
static const char *
below(const char *path, const char *top)
{
	size_t len = strcmp(top, "/") == 0 ? 0 : strlen(top);

	if (strncmp(path, top, len) != 0 || strstr(path, "/..") != NULL ||
	    (path[len] != '/' && path[len] != '\0'))
		return "";
	return strcmp(path + len, "/") == 0 ? "" : path + len;
}

/* Visits the groups from this one up to the mount point of its hierarchy. */
static void
walk_up(const struct visit *v, const char *mount, const char *path, bool v2)
{
	size_t top = strlen(mount);
	char dir[PATH_MAX], *slash;

	if (snprintf(dir, sizeof(dir), "%s%s", mount, path) >= PATH_MAX)
		return;
	for (;;) {
		v->fn(v->arg, &(struct cgroup){ v->root, dir, v2 });
		slash = strrchr(dir, '/');
		if (slash == NULL || slash < dir + top)
			return;
		*slash = '\0';
	}
}

/*
 * Replaces the escapes of mountinfo, which writes blanks and some other
 * characters as a backslash and three octal digits.
 */
static void
unescape(char *s)
{
	char *to = s;

	while (*s != '\0') {
		unsigned c;

		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' &&
		    sscanf(s + 1, "%3o", &c) == 1 && strlen(s) >= 4) {
			*to++ = (char)c;
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/*
 * Handles one line of mountinfo: three numbers, the part of the filesystem that
 * is mounted, the mount point, options, optional fields, "-", type, source, and
 * the filesystem's options.  The line is modified.  group is the path of the
 * process's group within the hierarchy.
 */
static void
visit_mount(const struct visit *v, char *line, const char *group, bool v2)
{
	char *field[5], *save, *type, *options, *tail = strstr(line, " - ");

	if (tail == NULL)
		return;
	*tail = '\0';
	for (int i = 0; i < 5; i++) {
		field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
		if (field[i] == NULL)
			return;
	}
	type = strtok_r(tail + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (type == NULL || options == NULL ||
	    strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 ||
	    (!v2 && !listed(options, v->controller)))
		return;
	unescape(field[3]);
	unescape(field[4]);
	walk_up(v, field[4], below(group, field[3]), v2);
}

/* Ends the line with a NUL.  Returns the next one, or NULL. */
static char *
next_line(char *line)
{
	char *end = strchr(line, '\n');

	if (end == NULL)
		return NULL;
	*end = '\0';
	return end + 1;
}

void
cgroup_each(const char *root, const char *controller,
    void (*fn)(void *arg, const struct cgroup *g), void *arg)
{
	const struct visit v = { root, controller, fn, arg };
	char *groups = read_text(root, "/proc/self/cgroup"), *next, *after;

	/* "number:controllers:path"; version 2 has no controllers */
	for (char *line = groups; line != NULL; line = next) {
		char *list, *path, *mounts;
		bool v2;

		next = next_line(line);
		list = strchr(line, ':');
		path = list == NULL ? NULL : strchr(list + 1, ':');
		if (path == NULL)
			continue;
		*path++ = '\0';
		v2 = strcmp(line, "0:") == 0;
		if (!v2 && !listed(list + 1, controller))
			continue;
		mounts = read_text(root, "/proc/self/mountinfo");
		for (char *m = mounts; m != NULL; m = after) {
			after = next_line(m);
			visit_mount(&v, m, path, v2);
		}
		sys_free(mounts);
	}
	sys_free(groups);
}

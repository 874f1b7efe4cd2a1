/*
 * cpus.c - the number of CPUs this process may use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * /proc/self/cgroup contains the path of this process's group in each
 * hierarchy, and /proc/self/mountinfo shows where the hierarchy, or a part of
 * it, is mounted.  Every quota on a group between that path and the mount point
 * applies to the process.  A quota that cannot be read is ignored.
 */
#include "base/cpus.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST_TEXT = 4 << 20,	/* enough for thousands of mounts */
	MOST_CPUS = 1 << 20,
};

struct group {
	bool v2;
	const char *path;	/* within the hierarchy */
};

/*
 * Returns the contents of the file root/path as a string, or NULL.  The caller
 * frees it.
 */
static char *
read_text(const char *root, const char *path)
{
	char name[PATH_MAX], *text = NULL;
	size_t len = 0, cap = 0;
	ssize_t n;
	int fd;

	if (snprintf(name, sizeof(name), "%s%s", root, path) >= PATH_MAX)
		return NULL;
	fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	do {
		char *more;

		cap = cap == 0 ? 4096 : 2 * cap;
		more = cap > MOST_TEXT ? NULL : sys_realloc(text, cap);
		if (more == NULL) {
			n = -ENOMEM;
			break;
		}
		text = more;
		n = fdio_read(fd, text + len, cap - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n >= 0 && len == cap - 1);
	sys_close(fd);
	if (n < 0) {
		sys_free(text);
		return NULL;
	}
	text[len] = '\0';
	return text;
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

static unsigned
tighter(unsigned a, unsigned b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/*
 * Converts a quota, in microseconds per period, to whole CPUs.  A negative
 * quota means that there is none.
 */
static unsigned
whole_cpus(long long quota, long long period)
{
	long long n;

	if (quota <= 0 || period <= 0)
		return 0;
	n = quota / period + (quota % period != 0);
	return n > MOST_CPUS ? MOST_CPUS : (unsigned)n;
}

/* Returns the number in the file dir/name, or -1. */
static long long
read_number(const char *root, const char *dir, const char *name)
{
	char path[PATH_MAX], *text = NULL;
	long long n = -1;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX)
		text = read_text(root, path);
	if (text != NULL && sscanf(text, "%lld", &n) != 1)
		n = -1;
	sys_free(text);
	return n;
}

static unsigned
group_quota(const char *root, const char *dir, bool v2)
{
	long long quota = -1, period = -1;
	char path[PATH_MAX], *text = NULL;

	if (!v2)
		return whole_cpus(read_number(root, dir, "cpu.cfs_quota_us"),
		    read_number(root, dir, "cpu.cfs_period_us"));
	/* "max 100000" means no quota, and does not parse as a number */
	if (snprintf(path, sizeof(path), "%s/cpu.max", dir) < PATH_MAX)
		text = read_text(root, path);
	if (text != NULL && sscanf(text, "%lld %lld", &quota, &period) != 2)
		quota = -1;
	sys_free(text);
	return whole_cpus(quota, period);
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

/* Checks the quotas from the group up to the mount point of its hierarchy. */
static unsigned
walk_up(const char *root, const char *mount, const char *path, bool v2)
{
	size_t top = strlen(mount);
	unsigned least = 0;
	char dir[PATH_MAX];

	if (snprintf(dir, sizeof(dir), "%s%s", mount, path) >= PATH_MAX)
		return 0;
	for (;;) {
		char *slash;

		least = tighter(least, group_quota(root, dir, v2));
		slash = strrchr(dir, '/');
		if (slash == NULL || slash < dir + top)
			return least;
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
 * the filesystem's options.  The line is modified.
 */
static unsigned
mount_quota(const char *root, char *line, const struct group *g)
{
	char *field[5], *save, *type, *options, *tail = strstr(line, " - ");

	if (tail == NULL)
		return 0;
	*tail = '\0';
	for (int i = 0; i < 5; i++) {
		field[i] = strtok_r(i == 0 ? line : NULL, " ", &save);
		if (field[i] == NULL)
			return 0;
	}
	type = strtok_r(tail + 3, " ", &save);
	strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (type == NULL || options == NULL ||
	    strcmp(type, g->v2 ? "cgroup2" : "cgroup") != 0 ||
	    (!g->v2 && !listed(options, "cpu")))
		return 0;
	unescape(field[3]);
	unescape(field[4]);
	return walk_up(root, field[4], below(g->path, field[3]), g->v2);
}

static unsigned
hierarchy_quota(const char *root, const struct group *g)
{
	char *text = read_text(root, "/proc/self/mountinfo"), *next;
	unsigned least = 0;

	for (char *line = text; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		least = tighter(least, mount_quota(root, line, g));
	}
	sys_free(text);
	return least;
}

/*
 * Parses "number:controllers:path"; the version 2 hierarchy has no controllers.
 */
static bool
parse_group(char *line, struct group *g)
{
	char *list = strchr(line, ':');
	char *path = list == NULL ? NULL : strchr(list + 1, ':');

	if (path == NULL)
		return false;
	*path = '\0';
	g->path = path + 1;
	g->v2 = strcmp(line, "0:") == 0;
	return g->v2 || listed(list + 1, "cpu");
}

unsigned
cpus_quota(const char *root)
{
	char *text = read_text(root, "/proc/self/cgroup"), *next;
	unsigned least = 0;
	struct group g;

	for (char *line = text; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (parse_group(line, &g))
			least = tighter(least, hierarchy_quota(root, &g));
	}
	sys_free(text);
	return least;
}

/*
 * Returns the number of CPUs in the affinity mask.  The kernel rejects a mask
 * smaller than its own, so larger masks are tried.
 */
static unsigned
affinity(void)
{
	for (size_t cpus = 1024; cpus <= MOST_CPUS; cpus *= 2) {
		size_t size = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = sys_calloc(1, size);
		int n = 0, rc;

		if (set == NULL)
			break;
		rc = sched_getaffinity(0, size, set);
		if (rc == 0)
			n = CPU_COUNT_S(size, set);
		sys_free(set);
		if (n > 0)
			return (unsigned)n;
		if (errno != EINVAL)
			break;
	}
	return 0;
}

unsigned
cpus_usable(void)
{
	unsigned n = affinity();

	if (n == 0) {
		long online = sysconf(_SC_NPROCESSORS_ONLN);

		n = online > 0 ? (unsigned)online : 1;
	}
	return tighter(n, cpus_quota(""));
}

unsigned
cpus_choose(unsigned asked, unsigned most)
{
	unsigned n = asked != 0 ? asked : cpus_usable();

	return n < most ? n : most;
}

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

/* Reads up to two numbers from a file.  Returns how many there are. */
static int
read_numbers(const char *root, const char *dir, const char *name,
    long long n[2])
{
	char path[PATH_MAX], *text = NULL;
	int count;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX)
		text = read_text(root, path);
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
		long long quota[2], period[2];
		char *slash;

		/* "max 100000" means no quota, and is not a number */
		if (v2 && read_numbers(root, dir, "cpu.max", quota) == 2)
			least = tighter(least, whole_cpus(quota[0], quota[1]));
		else if (!v2 &&
		    read_numbers(root, dir, "cpu.cfs_quota_us", quota) > 0 &&
		    read_numbers(root, dir, "cpu.cfs_period_us", period) > 0)
			least = tighter(least, whole_cpus(quota[0], period[0]));
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
 * the filesystem's options.  The line is modified.  group is the path of the
 * process's group within the hierarchy.
 */
static unsigned
mount_quota(const char *root, char *line, const char *group, bool v2)
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
	    strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 ||
	    (!v2 && !listed(options, "cpu")))
		return 0;
	unescape(field[3]);
	unescape(field[4]);
	return walk_up(root, field[4], below(group, field[3]), v2);
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

unsigned
cpus_quota(const char *root)
{
	char *groups = read_text(root, "/proc/self/cgroup"), *next, *after;
	unsigned least = 0;

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
		if (!v2 && !listed(list + 1, "cpu"))
			continue;
		mounts = read_text(root, "/proc/self/mountinfo");
		for (char *m = mounts; m != NULL; m = after) {
			after = next_line(m);
			least = tighter(least, mount_quota(root, m, path, v2));
		}
		sys_free(mounts);
	}
	sys_free(groups);
	return least;
}

unsigned
cpus_usable(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned n = 0;

	/*
	 * The number of CPUs in the affinity mask.  The kernel rejects a mask
	 * smaller than its own, so larger masks are tried.
	 */
	for (size_t cpus = 1024; n == 0 && cpus <= MOST_CPUS; cpus *= 2) {
		size_t size = CPU_ALLOC_SIZE(cpus);
		cpu_set_t *set = sys_calloc(1, size);
		int rc;

		if (set == NULL)
			break;
		rc = sched_getaffinity(0, size, set);
		if (rc == 0)
			n = (unsigned)CPU_COUNT_S(size, set);
		sys_free(set);
		if (rc != 0 && errno != EINVAL)
			break;
	}
	if (n == 0)
		n = online > 0 ? (unsigned)online : 1;
	return tighter(n, cpus_quota(""));
}

unsigned
cpus_choose(unsigned asked, unsigned most)
{
	unsigned n = asked != 0 ? asked : cpus_usable();

	return n < most ? n : most;
}

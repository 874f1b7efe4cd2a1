/*
 * cgroup.c - creating a version 2 cgroup for accounting and killing
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/cgroup.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Copies a line's nth word, counting from 0.  Returns false if it is too long.
 */
static bool
nth_word(const char *line, int nth, char *word, size_t size)
{
	size_t len;

	while (nth-- > 0) {
		line += strcspn(line, " ");
		line += *line == ' ';
	}
	len = strcspn(line, " ");
	if (len == 0 || len >= size)
		return false;
	memcpy(word, line, len);
	word[len] = '\0';
	return true;
}

int
cgroup_own(void)
{
	char path[PATH_MAX], root[1024], point[1024], line[2 * PATH_MAX];
	char full[PATH_MAX + sizeof(point)];
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool found = false;
	size_t n;

	/* the path follows "0::" */
	if (f == NULL)
		return -errno;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strncmp(line, "0::", 3) == 0;
	fclose(f);
	if (!found)
		return -ENOENT;
	line[strcspn(line, "\n")] = '\0';
	if (snprintf(path, sizeof(path), "%s", line + 3) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	/*
	 * Where the hierarchy is mounted: fields 3 and 4, counting from 0, are
	 * the root within it and the mount point, and its type follows a single
	 * dash.
	 */
	f = fopen("/proc/self/mountinfo", "re");
	if (f == NULL)
		return -errno;
	found = false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strstr(line, " - cgroup2 ") != NULL &&
		    nth_word(line, 3, root, sizeof(root)) &&
		    nth_word(line, 4, point, sizeof(point));
	fclose(f);
	if (!found)
		return -ENOENT;
	n = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(path, root, n) != 0)
		return -ENOENT;
	snprintf(full, sizeof(full), "%s%s", point, path + n);
	return sys_openat(AT_FDCWD, full, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
	    0);
}

static int
open_in(const struct cgroup *g, const char *name, int flags)
{
	int fd = sys_openat(g->dir, name, flags | O_CLOEXEC, 0);

	return fd < 0 ? -1 : fd;
}

int
cgroup_create(struct cgroup *g, const char *name)
{
	int rc;

	*g = (struct cgroup){ .parent = -1, .dir = -1, .cpu = -1, .kill = -1,
		.peak = -1, .now = -1 };
	if ((size_t)snprintf(g->name, sizeof(g->name), "%s", name) >=
	    sizeof(g->name))
		return -ENAMETOOLONG;
	g->parent = cgroup_own();
	if (g->parent < 0)
		return g->parent;
	if (mkdirat(g->parent, name, 0755) == -1) {
		rc = -errno;
		sys_close(g->parent);
		return rc;
	}
	g->dir = sys_openat(g->parent, name,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (g->dir < 0) {
		rc = g->dir;
		cgroup_remove(g);
		return rc;
	}
	g->cpu = open_in(g, "cpu.stat", O_RDONLY);
	g->kill = open_in(g, "cgroup.kill", O_WRONLY);
	g->now = open_in(g, "memory.current", O_RDONLY);
	g->peak = open_in(g, "memory.peak", O_RDWR);
	/* The group cannot be used without these files. */
	if (g->cpu < 0 || g->kill < 0) {
		cgroup_remove(g);
		return -ENOENT;
	}
	return 0;
}

/*
 * Returns the decimal number after prefix at the beginning of a file, or
 * -errno.
 */
static int64_t
file_number(int fd, const char *prefix)
{
	char buf[256];
	const char *s = buf + strlen(prefix);
	ssize_t n = fd < 0 ? -ENOENT : sys_pread(fd, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return n;
	buf[n] = '\0';
	if (strncmp(buf, prefix, strlen(prefix)) != 0)
		return -ENOENT;
	return strtoll(s, NULL, 10);
}

int64_t
cgroup_cpu_us(const struct cgroup *g)
{
	return file_number(g->cpu, "usage_usec ");
}

void
cgroup_mark(struct cgroup *g)
{
	int64_t now;

	if (g->peak < 0)
		return;
	now = file_number(g->now, "");
	/*
	 * If the kernel cannot reset the peak, the value covers more than a
	 * single run.
	 */
	if (now < 0 || sys_write(g->peak, "0\n", 2) != 2) {
		sys_close(g->peak);
		g->peak = -1;
		return;
	}
	g->base_B = (uint64_t)now;
}

int64_t
cgroup_peak_B(const struct cgroup *g)
{
	int64_t peak = file_number(g->peak, "");

	if (peak < 0)
		return peak;
	return (uint64_t)peak > g->base_B ? peak - (int64_t)g->base_B : 0;
}

int
cgroup_kill(struct cgroup *g)
{
	ssize_t n = sys_write(g->kill, "1", 1);

	g->killed = true;
	return n < 0 ? (int)n : 0;
}

/* Removes the group, retrying while its last processes have not been reaped. */
static void
remove_when_empty(int parent, const char *name)
{
	for (int i = 0; i < 1000; i++) {
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0 ||
		    errno != EBUSY)
			return;
		sys_sleep_ns(1000000);
	}
}

void
cgroup_remove(struct cgroup *g)
{
	const int fds[] = { g->cpu, g->kill, g->peak, g->now, g->dir };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
	if (g->parent >= 0) {
		remove_when_empty(g->parent, g->name);
		sys_close(g->parent);
	}
	g->parent = g->dir = g->cpu = g->kill = g->peak = g->now = -1;
}

int
cgroup_renew(struct cgroup *g)
{
	char name[sizeof(g->name)];

	if (!g->killed)
		return 0;
	memcpy(name, g->name, sizeof(name));
	cgroup_remove(g);
	return cgroup_create(g, name);
}

void
cgroup_end(int parent, const char *name)
{
	char path[320];
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/cgroup.kill", name) >=
	    sizeof(path))
		return;
	fd = sys_openat(parent, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	fdio_write(fd, "1", 1);
	sys_close(fd);
	remove_when_empty(parent, name);
}

/*
 * layermount_mounted.c - finding our mount, and its readahead
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: proc_pid_mountinfo(5).
 */
#include "layermount.h"

#include "base/sys.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { START_KIB = 4, START_S = 30 };	/* of readahead at startup */

/* Decodes \ooo, in place. */
static void
unescape(char *s)
{
	char *to = s;

	for (; *s != '\0'; s++)
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' &&
		    s[2] >= '0' && s[2] <= '7' && s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
			    (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = '\0';
}

bool
mounted_by_us(const char *mountpoint, unsigned *major, unsigned *minor)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, path[4200];
	unsigned a, b;
	size_t cap = 0;
	bool ours = false;

	while (f != NULL && getline(&line, &cap, f) > 0) {
		if (sscanf(line, "%*u %*u %u:%u %*s %4199s", &a, &b,
		    path) != 3)
			continue;
		unescape(path);
		if (strcmp(path, mountpoint) != 0)
			continue;
		/* the last mount is on top */
		ours = strstr(line, " - fuse.layermount ") != NULL;
		*major = a;
		*minor = b;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return ours;
}

void
mounted_each(void (*each)(void *arg, const char *path), void *arg)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, root[8], path[4200];
	size_t cap = 0;

	while (f != NULL && getline(&line, &cap, f) > 0) {
		/* a part of a mount may be mounted elsewhere, too */
		if (strstr(line, " - fuse.layermount ") == NULL ||
		    sscanf(line, "%*u %*u %*s %7s %4199s", root, path) != 2 ||
		    strcmp(root, "/") != 0)
			continue;
		unescape(path);
		each(arg, path);
	}
	free(line);
	if (f != NULL)
		fclose(f);
}

static void
set_readahead(const struct readahead *r, uint64_t kib)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64 "\n", kib);

	(void)sys_pwrite(r->fd, text, (size_t)n, 0);
}

void
readahead_open(struct readahead *r, const char *mountpoint, uint64_t bytes)
{
	unsigned major, minor;
	char path[64];
	int fd;

	r->bytes = bytes;
	atomic_store(&r->raised, true);
	if (!mounted_by_us(mountpoint, &major, &minor))
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
	    major, minor);
	/* only root may set it; otherwise, the negotiated value applies */
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	r->fd = fd;
	readahead_lower(r);
}

void
readahead_lower(struct readahead *r)
{
	if (r->fd < 0)
		return;
	set_readahead(r, START_KIB);
	atomic_store(&r->raised, false);
	/* the SIGALRM handler raises it again */
	alarm(START_S);
}

void
readahead_raise(struct readahead *r)
{
	if (!atomic_exchange(&r->raised, true))
		set_readahead(r, r->bytes >> 10);
}

void
readahead_close(struct readahead *r)
{
	if (r->fd >= 0)
		sys_close(r->fd);
	r->fd = -1;
}

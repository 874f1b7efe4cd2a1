/*
 * layermount_mounted.c - finding our mount, and unmounting it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: proc_pid_mountinfo(5).
 */
#include "layermount_mounted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* Unmounts with the helper program that users other than root need. */
static void
unmount_as_user(const char *mountpoint)
{
	pid_t pid = fork();

	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "--",
		    mountpoint, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

void
unmount(const char *mountpoint)
{
	unsigned major, minor;

	if (!mounted_by_us(mountpoint, &major, &minor))
		return;
	if (umount2(mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == -1)
		unmount_as_user(mountpoint);
}

void
unmount_forced(const char *mountpoint, unsigned major, unsigned minor)
{
	unsigned a, b;

	if (mounted_by_us(mountpoint, &a, &b) && a == major && b == minor)
		(void)umount2(mountpoint, MNT_FORCE | MNT_DETACH |
		    UMOUNT_NOFOLLOW);
}

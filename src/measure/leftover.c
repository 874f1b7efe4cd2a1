/*
 * leftover.c - finding and removing the leftovers of killed tools
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/leftover.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "measure/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char VARIABLE[] = "LAP_ID=", NAMESPACE[] = "/proc/self/ns/pid";

/*
 * Reads field 22 of /proc/PID/stat.  The command name, field 2, may contain any
 * character, but the last ')' in the line marks its end.
 */
static int
start_ticks(intmax_t pid, uintmax_t *ticks)
{
	char path[48], text[1024];
	const char *s;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%jd/stat", pid);
	n = fdio_read_text(AT_FDCWD, path, text, sizeof(text));
	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	s = strrchr(text, ')');
	if (s == NULL)
		return -EINVAL;
	/* the state, field 3, follows a blank */
	for (int f = 2; f < 22 && s != NULL; f++)
		s = strchr(s + 1, ' ');
	if (s == NULL)
		return -EINVAL;
	*ticks = strtoumax(s, NULL, 10);
	return 0;
}

int
leftover_id(char id[LEFTOVER_ID_B])
{
	struct stat st = { .st_ino = 0 };
	uintmax_t ticks = 0;
	int rc = 0;

	if (stat(NAMESPACE, &st) == -1)
		rc = -errno;
	if (rc == 0)
		rc = start_ticks(getpid(), &ticks);
	snprintf(id, LEFTOVER_ID_B, "%ju.%jd.%ju", (uintmax_t)st.st_ino,
	    (intmax_t)getpid(), ticks);
	return rc;
}

bool
leftover_dead(const char *id)
{
	uintmax_t part[3], ticks = 0;
	struct stat st;
	const char *s = id;
	int rc;

	for (int i = 0; i < 3; i++) {
		char *end;

		if (*s < '0' || *s > '9')
			return false;
		errno = 0;
		part[i] = strtoumax(s, &end, 10);
		if (errno != 0 || *end != (i < 2 ? '.' : '\0'))
			return false;
		s = end + 1;
	}
	if (stat(NAMESPACE, &st) == -1 || part[0] != st.st_ino ||
	    part[1] > INT32_MAX)
		return false;
	rc = start_ticks((intmax_t)part[1], &ticks);
	if (rc != 0)
		return rc == -ENOENT || rc == -ESRCH;
	return ticks != part[2];
}

/*
 * Finds the value of VARIABLE in an environment, a sequence of strings, which
 * is read in pieces because it may be large.
 */
static bool
find_id(int fd, char id[LEFTOVER_ID_B])
{
	size_t at = 0, room = sizeof(VARIABLE) - 1 + LEFTOVER_ID_B;
	char word[sizeof(VARIABLE) - 1 + LEFTOVER_ID_B], buf[2048];
	ssize_t n;

	while ((n = sys_read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (at < room)
				word[at++] = buf[i];
			if (buf[i] != '\0')
				continue;
			if (word[at - 1] == '\0' && strncmp(word, VARIABLE,
			    sizeof(VARIABLE) - 1) == 0) {
				strcpy(id, word + sizeof(VARIABLE) - 1);
				return true;
			}
			at = 0;
		}
	}
	return false;
}

/*
 * Kills process pid if it is marked with the identity of a dead process.
 * Returns whether it did.
 */
static bool
kill_if_marked(const char *pid)
{
	char path[300], id[LEFTOVER_ID_B];
	bool killed = false;
	int fd, handle;

	/*
	 * Open the handle first: unlike a PID, it cannot be reused for another
	 * process.
	 */
	handle = (int)syscall(SYS_pidfd_open, (pid_t)atoi(pid), 0);
	if (handle < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		if (find_id(fd, id) && leftover_dead(id))
			killed = syscall(SYS_pidfd_send_signal, handle,
			    SIGKILL, NULL, 0) == 0;
		sys_close(fd);
	}
	sys_close(handle);
	return killed;
}

int
leftover_kill(void)
{
	int killed = 0, now;

	/*
	 * The next pass finds processes that the killed ones have started in
	 * the meantime.
	 */
	for (int pass = 0; pass < 8; pass++) {
		DIR *d = opendir("/proc");
		struct dirent *e;

		now = 0;
		while (d != NULL && (e = readdir(d)) != NULL)
			if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
				now += kill_if_marked(e->d_name);
		if (d != NULL)
			closedir(d);
		if (now == 0)
			break;
		/* do not count a dying process twice */
		killed += pass == 0 ? now : 0;
	}
	return killed;
}

/*
 * Calls end() for each name in the directory fd of the form "TOOL.IDENTITY"
 * whose identity is that of a dead process, and closes fd.
 */
static void
each_dead(int fd, const char *tool, void (*end)(int, const char *))
{
	DIR *d = fdopendir(fd);
	size_t n = strlen(tool);
	struct dirent *e;

	if (d == NULL) {
		sys_close(fd);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, tool, n) == 0 && e->d_name[n] == '.' &&
		    leftover_dead(e->d_name + n + 1))
			end(fd, e->d_name);
	closedir(d);
}

void
leftover_end_groups(const char *tool)
{
	int fd = cgroup_own();

	if (fd >= 0)
		each_dead(fd, tool, cgroup_end);
}

void
leftover_rmdir(int dirfd, const char *name)
{
	int fd = sys_openat(dirfd, name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	struct stat st;

	if (d == NULL) {
		if (fd >= 0)
			sys_close(fd);
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid()) {
		while ((e = readdir(d)) != NULL)
			sys_unlinkat(fd, e->d_name, 0);
		sys_unlinkat(dirfd, name, AT_REMOVEDIR);
	}
	closedir(d);
}

void
leftover_remove(const char *dir, const char *tool)
{
	int fd = sys_openat(AT_FDCWD, dir,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	if (fd >= 0)
		each_dead(fd, tool, leftover_rmdir);
}

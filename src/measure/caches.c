/*
 * caches.c - dropping the kernel's file caches
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/caches.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DROP "/proc/sys/vm/drop_caches"
#define SECOND_NS UINT64_C(1000000000)

enum { LOOK_MS = 2, LOOK_MAX_MS = 100, DESCRIPTORS = 1024 };

int
caches_may_drop(void)
{
	int fd = sys_openat(AT_FDCWD, DROP, O_WRONLY | O_CLOEXEC, 0);

	if (fd >= 0)
		sys_close(fd);
	return fd < 0 ? fd : 0;
}

/*
 * Runs in the child.  Returns 0 or an errno, truncated to fit an exit status.
 * Closes all descriptors first, so that no other process waits for them to be
 * closed if the child hangs.
 */
static int
drop_in_child(void)
{
	int fd, rc;

	if (syscall(SYS_close_range, 0U, ~0U, 0U) == -1)
		for (fd = 0; fd < DESCRIPTORS; fd++)
			close(fd);
	fd = sys_openat(AT_FDCWD, DROP, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return -fd & 0x7f;
	sync();		/* only clean pages can be dropped */
	rc = fdio_write(fd, "3", 1);
	return -rc & 0x7f;
}

/*
 * Returns the number that follows a word in a /proc file, or 0 if there is
 * none.
 */
static uint64_t
proc_value(const char *path, const char *word)
{
	char text[8192];
	const char *p;

	fdio_read_text(AT_FDCWD, path, text, sizeof(text));
	p = strstr(text, word);
	return p == NULL ? 0 : strtoull(p + strlen(word), NULL, 10);
}

int
caches_drop(void)
{
	uint64_t start = sys_now_ns(), since = start, now;
	uint64_t least_KiB = UINT64_MAX, written = 0;
	unsigned pause = LOOK_MS;
	pid_t child = fork(), got;
	int status;

	if (child == -1)
		return -errno;
	if (child == 0)
		_exit(drop_in_child());
	while ((got = waitpid(child, &status, WNOHANG)) == 0 ||
	    (got == -1 && errno == EINTR)) {
		uint64_t left = proc_value("/proc/meminfo", "\nDirty:") +
		    proc_value("/proc/meminfo", "\nWriteback:");
		uint64_t pages = proc_value("/proc/vmstat", "\nnr_written ");

		now = sys_now_ns();
		/* the kernel makes progress in writing dirty pages */
		if (left < least_KiB || pages != written)
			since = now;
		if (left < least_KiB)
			least_KiB = left;
		written = pages;
		if (now - since > CACHES_PATIENCE_S * SECOND_NS ||
		    now - start > CACHES_LIMIT_S * SECOND_NS)
			return -ETIMEDOUT;
		sys_sleep_ns(pause * UINT64_C(1000000));
		pause = 2 * pause < LOOK_MAX_MS ? 2 * pause : LOOK_MAX_MS;
	}
	if (got == -1)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

const char *
caches_reason(int rc)
{
	return rc == -ETIMEDOUT ? "a filesystem does not respond" :
	    strerror(-rc);
}

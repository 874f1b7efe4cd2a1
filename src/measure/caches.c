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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DROP "/proc/sys/vm/drop_caches"

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
 * Runs in the child.  Returns 0 or an errno, as far as it fits an exit status.
 * If the child hangs, nobody must be left waiting at the other end of one of
 * our descriptors.
 */
static int
drop(void)
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

/* Returns how many KiB are dirty or under writeback; 0 if unknown. */
static uint64_t
unwritten(void)
{
	static const char *const names[] = { "Dirty:", "Writeback:" };
	char text[4096];
	uint64_t sum = 0;
	int fd = sys_openat(AT_FDCWD, "/proc/meminfo", O_RDONLY | O_CLOEXEC,
	    0);
	ssize_t n = fd < 0 ? fd : fdio_read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		sys_close(fd);
	text[n < 0 ? 0 : n] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *p = strstr(text, names[i]);

		if (p != NULL)
			sum += strtoull(p + strlen(names[i]), NULL, 10);
	}
	return sum;
}

static void
sleep_ms(unsigned ms)
{
	struct timespec t = { .tv_nsec = (long)ms * 1000000 };

	nanosleep(&t, NULL);
}

/* Waits for the child to exit.  Returns -ETIMEDOUT if it does not. */
static int
wait_for(pid_t child)
{
	uint64_t least = UINT64_MAX, since = sys_now_ns(), now;
	unsigned pause = LOOK_MS;
	int status;
	pid_t got;

	while ((got = waitpid(child, &status, WNOHANG)) == 0 ||
	    (got == -1 && errno == EINTR)) {
		uint64_t left = unwritten();

		now = sys_now_ns();
		if (left < least) {
			least = left;
			since = now;
		}
		if (now - since > CACHES_PATIENCE_S * UINT64_C(1000000000))
			return -ETIMEDOUT;
		sleep_ms(pause);
		pause = 2 * pause < LOOK_MAX_MS ? 2 * pause : LOOK_MAX_MS;
	}
	if (got == -1)
		return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int
caches_drop(void)
{
	pid_t child = fork();

	if (child == -1)
		return -errno;
	if (child == 0)
		_exit(drop());
	return wait_for(child);
}

const char *
caches_reason(int rc)
{
	return rc == -ETIMEDOUT ? "a file system does not answer" :
	    strerror(-rc);
}

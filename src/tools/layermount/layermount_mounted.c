/*
 * layermount_mounted.c - our mount: finding, watching and unmounting it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process that is killed exits when all of its threads have exited, and one
 * of them may be waiting in the kernel for the mount to end.  Until then its
 * parent gets no SIGCHLD.  Therefore the first thread holds a robust mutex in
 * shared memory, and a thread of the parent waits for it.
 *
 * Source: proc_pid_mountinfo(5).
 */
#include "layermount_mounted.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
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
unmount(const char *mountpoint)
{
	unsigned major, minor;
	pid_t pid;

	if (!mounted_by_us(mountpoint, &major, &minor) ||
	    umount2(mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return;
	/* users other than root need a helper program */
	pid = fork();
	if (pid == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "--",
		    mountpoint, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
}

void
unmount_forced(const char *mountpoint, unsigned major, unsigned minor)
{
	unsigned a, b;

	if (mounted_by_us(mountpoint, &a, &b) && a == major && b == minor)
		(void)umount2(mountpoint, MNT_FORCE | MNT_DETACH |
		    UMOUNT_NOFOLLOW);
}

/* Its server */

struct watch {
	pthread_mutex_t alive;
};

int
watch_new(struct watch **out)
{
	struct watch *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	int rc;

	if (w == MAP_FAILED)
		return -errno;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	rc = pthread_mutex_init(&w->alive, &attr);
	pthread_mutexattr_destroy(&attr);
	if (rc != 0)
		munmap(w, sizeof(*w));
	else
		*out = w;
	return -rc;
}

void
watch_hold(struct watch *w)
{
	pthread_mutex_lock(&w->alive);
}

/*
 * Waits for the first thread to end.  The mutex stays locked, because no other
 * thread needs it.
 */
static void *
wait_for_end(void *arg)
{
	struct watch *w = arg;

	(void)pthread_mutex_lock(&w->alive);
	kill(getpid(), WATCH_SIGNAL);
	return NULL;
}

int
watch_start(struct watch *w)
{
	pthread_t thread;
	int rc = sys_thread(&thread, wait_for_end, w);

	if (rc == 0)
		pthread_detach(thread);
	return rc;
}

/* Its readahead */

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

/*
 * layermount_watch.c - detecting the end of a process's main thread
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A process that is killed exits when all of its threads have exited, and one
 * of them may be waiting in the kernel for the mount to end.  Until then its
 * parent gets no SIGCHLD.  Therefore the first thread holds a robust mutex in
 * shared memory, and a thread of the parent waits for it.
 */
#include "layermount_mounted.h"

#include "base/sys.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

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

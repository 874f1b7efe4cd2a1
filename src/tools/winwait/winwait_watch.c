/*
 * winwait_watch.c - the thread that waits for the window or the output line
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread sleeps until there is an event, and reads the clock before
 * examining it.  Only the statistics of the images have to be polled.
 */
#include "winwait.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STEP_MS = 10, LINE_B = 1 << 16 };

enum { FD_STOP, FD_X, FD_LINE, FDS };

struct watch {
	struct winwait *w;
	struct pollfd fds[FDS];
	uint64_t requests;		/* the count at quiet_ns */
	bool ended;			/* proc_end() has been called */
	char text[LINE_B];		/* the current line so far */
	size_t len;
};

/* Checks complete lines; a line that does not fit is truncated. */
static void
take_lines(struct watch *t, uint64_t now)
{
	struct winwait *w = t->w;
	char *end;

	while ((end = memchr(t->text, '\n', t->len)) != NULL ||
	    t->len == LINE_B - 1) {
		size_t n = end == NULL ? t->len : (size_t)(end - t->text);

		t->text[n] = '\0';
		if (w->seen.result == RESULT_NONE && (!w->has_match ||
		    regexec(&w->match, t->text, 0, NULL, 0) == 0)) {
			w->seen.result = RESULT_SEEN;
			w->seen.seen_ns = now;
		}
		n += end != NULL;
		t->len -= n;
		memmove(t->text, t->text + n, t->len);
	}
}

/* Copies the command's output. */
static void
take_output(struct watch *t, uint64_t now)
{
	struct pollfd *fd = &t->fds[FD_LINE];
	ssize_t n = sys_read(fd->fd, t->text + t->len, LINE_B - 1 - t->len);

	if (n == 0 || (n < 0 && n != -EINTR && n != -EAGAIN))
		fd->fd = -1;
	if (n <= 0)
		return;
	fdio_write(STDERR_FILENO, t->text + t->len, (size_t)n);
	t->len += (size_t)n;
	take_lines(t, now);
}

static void
look_at_images(struct watch *t, uint64_t now)
{
	uint64_t requests = winwait_quiet_count(t->w);

	if (requests == t->requests && t->w->seen.quiet_ns != 0)
		return;
	t->requests = requests;
	t->w->seen.quiet_ns = now;
}

/* Returns whether the watch is complete. */
static bool
complete(const struct watch *t, uint64_t now)
{
	const struct winwait *w = t->w;

	if (w->seen.result != RESULT_SEEN)
		return w->seen.result != RESULT_NONE;
	if ((double)(now - w->seen.seen_ns) < w->o.linger_s * 1e9)
		return false;
	return w->o.image_count == 0 ||
	    (double)(now - w->seen.quiet_ns) >= w->o.quiet_s * 1e9;
}

/* Returns whether to wake up periodically, without an event. */
static bool
looks(const struct watch *t)
{
	const struct winwait *w = t->w;

	return !t->ended && (w->o.image_count > 0 ||
	    w->seen.result != RESULT_NONE);
}

/*
 * Raises the thread's priority, if permitted, so that events are read
 * immediately even on a busy machine.
 */
static void
hurry(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	pthread_setschedparam(pthread_self(), SCHED_RR, &param);
}

static void *
watch(void *arg)
{
	struct watch *t = arg;
	struct winwait *w = t->w;

	hurry();
	while (t->fds[FD_STOP].revents == 0) {
		int n = poll(t->fds, FDS, looks(t) ? STEP_MS : -1);
		uint64_t now = sys_now_ns();

		if (n == -1)
			continue;
		if (w->x != NULL && (t->fds[FD_X].revents != 0 ||
		    t->fds[FD_STOP].revents != 0))
			winwait_x_events(w, now);
		if (t->fds[FD_LINE].revents != 0)
			take_output(t, now);
		if (!t->ended && w->o.image_count > 0)
			look_at_images(t, now);
		if (!t->ended && complete(t, now)) {
			t->ended = true;
			t->fds[FD_X].fd = -1;
			proc_end(&w->proc);
		}
	}
	sys_free(t);
	return NULL;
}

int
winwait_watch_start(struct winwait *w)
{
	struct watch *t = sys_calloc(1, sizeof(*t));
	int rc = t == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		w->stop = eventfd(0, EFD_CLOEXEC);
		t->w = w;
		t->fds[FD_STOP] = (struct pollfd){ w->stop, POLLIN, 0 };
		t->fds[FD_X] = (struct pollfd){ w->x == NULL ? -1 :
		    winwait_x_fd(w->x), POLLIN, 0 };
		t->fds[FD_LINE] = (struct pollfd){ w->line[0], POLLIN, 0 };
		rc = w->stop == -1 ? -errno : sys_thread(&w->thread, watch, t);
	}
	if (rc == 0)
		return 0;
	sys_free(t);
	msg_error(&w->msg, "%s", strerror(-rc));
	return -1;
}

void
winwait_watch_stop(struct winwait *w)
{
	eventfd_write(w->stop, 1);
	pthread_join(w->thread, NULL);
	sys_close(w->stop);
}

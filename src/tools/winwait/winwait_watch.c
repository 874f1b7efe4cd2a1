/*
 * winwait_watch.c - the thread that waits for the window or the output line
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread sleeps until there is an event, and reads the clock before
 * examining it.  Only the statistics of the images have to be polled: the read
 * requests to their devices, from /sys/dev/block/MAJOR:MINOR/stat, described in
 * the kernel's Documentation/block/stat.rst.  Field 1 is the number of
 * completed reads, and field 3 the number of sectors read.
 */
#include "winwait.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { STEP_MS = 10, LINE_B = 1 << 16 };

enum { FD_STOP, FD_X, FD_LINE, FDS };

struct watcher {
	struct winwait *w;
	struct pollfd fds[FDS];
	uint64_t requests;		/* the count at quiet_ns */
	bool ended;			/* proc_end() has been called */
	char text[LINE_B];		/* the current line so far */
	size_t len;
};

/* Copies the command's output, and checks complete lines. */
static void
copy_output(struct watcher *t, uint64_t now)
{
	struct winwait *w = t->w;
	struct pollfd *fd = &t->fds[FD_LINE];
	ssize_t got = sys_read(fd->fd, t->text + t->len, LINE_B - 1 - t->len);
	char *end;

	if (got == 0 || (got < 0 && got != -EINTR && got != -EAGAIN))
		fd->fd = -1;
	if (got <= 0)
		return;
	fdio_write(STDERR_FILENO, t->text + t->len, (size_t)got);
	t->len += (size_t)got;
	/* a line that does not fit is truncated */
	while ((end = memchr(t->text, '\n', t->len)) != NULL ||
	    t->len == LINE_B - 1) {
		size_t n = end == NULL ? t->len : (size_t)(end - t->text);

		t->text[n] = '\0';
		if (w->seen.result == RESULT_NONE && (w->o.match == NULL ||
		    regexec(&w->match, t->text, 0, NULL, 0) == 0)) {
			w->seen.result = RESULT_SEEN;
			w->seen.seen_ns = now;
		}
		n += end != NULL;
		t->len -= n;
		memmove(t->text, t->text + n, t->len);
	}
}

static void *
watch_thread(void *arg)
{
	struct watcher *t = arg;
	struct winwait *w = t->w;
	struct winwait_seen *s = &w->seen;
	const struct sched_param param = { .sched_priority = 1 };

	/*
	 * raise the priority, if permitted, so that events are read immediately
	 * even on a busy machine
	 */
	pthread_setschedparam(pthread_self(), SCHED_RR, &param);
	while (t->fds[FD_STOP].revents == 0) {
		/* wake up periodically, without an event? */
		bool polls = !t->ended && (w->o.image_count > 0 ||
		    s->result != RESULT_NONE);
		int n = poll(t->fds, FDS, polls ? STEP_MS : -1);
		uint64_t now = sys_now_ns(), requests = 0;

		if (n == -1)
			continue;
		if (w->x != NULL && (t->fds[FD_X].revents != 0 ||
		    t->fds[FD_STOP].revents != 0))
			winwait_x_events(w, now);
		if (t->fds[FD_LINE].revents != 0)
			copy_output(t, now);
		if (t->ended)
			continue;
		/* a sum that changes with every request */
		for (int i = 0; i < w->o.image_count; i++) {
			char text[256], *at = text;
			ssize_t got = sys_pread(w->images[i], text,
			    sizeof(text) - 1, 0);

			text[got > 0 ? got : 0] = '\0';
			requests += strtoull(at, &at, 10);
			strtoull(at, &at, 10);
			requests += strtoull(at, NULL, 10);
		}
		if (w->o.image_count > 0 &&
		    (requests != t->requests || s->quiet_ns == 0))
			s->quiet_ns = now;
		t->requests = requests;
		if (s->result == RESULT_NONE || (s->result == RESULT_SEEN &&
		    ((double)(now - s->seen_ns) < w->o.linger_s * 1e9 ||
		    (w->o.image_count > 0 && (double)(now - s->quiet_ns) <
		    w->o.quiet_s * 1e9))))
			continue;
		t->ended = true;
		t->fds[FD_X].fd = -1;
		proc_end(&w->proc);
	}
	sys_free(t);
	return NULL;
}

int
winwait_watch_start(struct winwait *w)
{
	struct watcher *t = sys_calloc(1, sizeof(*t));
	int rc = t == NULL ? -ENOMEM : 0;

	if (rc == 0) {
		w->stop = eventfd(0, EFD_CLOEXEC);
		t->w = w;
		t->fds[FD_STOP] = (struct pollfd){ w->stop, POLLIN, 0 };
		t->fds[FD_X] = (struct pollfd){ w->x == NULL ? -1 :
		    winwait_x_fd(w->x), POLLIN, 0 };
		t->fds[FD_LINE] = (struct pollfd){ w->line[0], POLLIN, 0 };
		rc = w->stop == -1 ? -errno :
		    sys_thread(&w->thread, watch_thread, t);
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

int
winwait_quiet_open(struct winwait *w)
{
	for (int i = 0; i < w->o.image_count; i++) {
		const char *path = w->o.images[i];
		struct stat st;
		char name[64];
		dev_t dev;
		int fd;

		if (stat(path, &st) == -1) {
			fd = -errno;
		} else {
			dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
			snprintf(name, sizeof(name),
			    "/sys/dev/block/%u:%u/stat", major(dev),
			    minor(dev));
			fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC,
			    0);
		}
		w->images[i] = fd;
		if (fd >= 0)
			continue;
		msg_error(&w->msg, "%s: %s", path, fd == -ENOENT ?
		    "not found, or not on a block device" : strerror(-fd));
		return -1;
	}
	return 0;
}

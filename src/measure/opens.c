/*
 * opens.c - the files that child processes open, in order of first use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each event carries a descriptor for the file, which is examined and closed.
 * The kernel's queue is unbounded, so a thread drains it continuously,
 * recording each inode once.
 */
#include "measure/opens.h"

#include "base/array.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/stat.h>

enum { EVENTS_B = 1 << 16, SLOTS_MIN = 1024 };

struct opens {
	int events, stop;
	uint64_t start_ns;
	pthread_t thread;
	bool running;
	int err;			/* error that occurred in the thread */
	struct opens_file *files;
	size_t count, cap;
	/* index into files plus 1, by hash; at most half full */
	size_t *slots, slot_count;
	char *buf;
};

static size_t
slot_of_file(const struct opens *o, struct opens_file f)
{
	uint64_t h = ((uint64_t)f.dev << 32 ^ f.ino) * 0x9e3779b97f4a7c15U;
	size_t i = (size_t)(h >> 20) & (o->slot_count - 1);

	while (o->slots[i] != 0 && (o->files[o->slots[i] - 1].ino != f.ino ||
	    o->files[o->slots[i] - 1].dev != f.dev))
		i = (i + 1) & (o->slot_count - 1);
	return i;
}

/* Doubles the number of slots.  Returns 0 or -ENOMEM. */
static int
more_slots(struct opens *o)
{
	size_t count = o->slot_count == 0 ? SLOTS_MIN : 2 * o->slot_count;
	size_t *slots = sys_calloc(count, sizeof(*slots));

	if (slots == NULL)
		return -ENOMEM;
	sys_free(o->slots);
	o->slots = slots;
	o->slot_count = count;
	for (size_t i = 0; i < o->count; i++)
		slots[slot_of_file(o, o->files[i])] = i + 1;
	return 0;
}

static int
record_file(struct opens *o, struct opens_file f)
{
	void *files = o->files;
	size_t slot = slot_of_file(o, f);
	int rc;

	if (o->slots[slot] != 0)
		return 0;
	rc = array_grow(&files, o->count, &o->cap, sizeof(*o->files));
	o->files = files;
	if (rc != 0)
		return rc;
	f.s = 1e-9 * (double)(sys_now_ns() - o->start_ns);
	o->files[o->count++] = f;
	o->slots[slot] = o->count;
	return 2 * o->count < o->slot_count ? 0 : more_slots(o);
}

/* Drains the queue.  Returns 0 or the first -errno. */
static int
drain_events(struct opens *o)
{
	ssize_t n;
	int first = 0;

	while ((n = sys_read(o->events, o->buf, EVENTS_B)) > 0) {
		struct fanotify_event_metadata *e = (void *)o->buf;

		for (; FAN_EVENT_OK(e, n); e = FAN_EVENT_NEXT(e, n)) {
			struct stat st;
			int rc = 0;

			if (e->vers != FANOTIFY_METADATA_VERSION)
				rc = -ENOSYS;
			else if (e->mask & FAN_Q_OVERFLOW)
				rc = -EOVERFLOW;
			if (rc != -ENOSYS && e->fd >= 0) {
				if (e->pid > 1 && fstat(e->fd, &st) == 0 &&
				    S_ISREG(st.st_mode))
					rc = record_file(o, (struct opens_file){
					    .dev = st.st_dev,
					    .ino = st.st_ino });
				sys_close(e->fd);
			}
			first = first != 0 ? first : rc;
		}
	}
	return first != 0 || n == -EAGAIN || n == -EINTR ? first : (int)n;
}

static void *
listen_all(void *arg)
{
	struct opens *o = arg;
	struct pollfd fds[] = { { .fd = o->events, .events = POLLIN },
	    { .fd = o->stop, .events = POLLIN } };

	while (fds[1].revents == 0) {
		int rc;

		if (poll(fds, 2, -1) == -1)
			continue;
		rc = drain_events(o);
		o->err = o->err != 0 ? o->err : rc;
	}
	return NULL;
}

int
opens_start(struct opens **out, int root)
{
	struct opens *o = sys_calloc(1, sizeof(*o));
	int rc = -ENOMEM;

	*out = o;
	if (o == NULL)
		return -ENOMEM;
	o->events = o->stop = -1;
	o->start_ns = sys_now_ns();
	o->buf = sys_malloc(EVENTS_B);
	if (o->buf == NULL || more_slots(o) != 0)
		goto fail;
	/* O_NONBLOCK: a FIFO must not block the caller */
	o->events = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC |
	    FAN_NONBLOCK | FAN_UNLIMITED_QUEUE | FAN_UNLIMITED_MARKS,
	    O_RDONLY | O_LARGEFILE | O_CLOEXEC | O_NOATIME | O_NONBLOCK);
	if (o->events == -1)
		goto failed_call;
	o->stop = eventfd(0, EFD_CLOEXEC);
	if (o->stop == -1 ||
	    fanotify_mark(o->events, FAN_MARK_ADD | FAN_MARK_FILESYSTEM,
	    FAN_OPEN, root, NULL) == -1)
		goto failed_call;
	rc = sys_thread(&o->thread, listen_all, o);
	o->running = rc == 0;
	if (rc == 0)
		return 0;
	goto fail;
failed_call:
	rc = -errno;
fail:
	opens_free(o);
	*out = NULL;
	return rc;
}

int
opens_stop(struct opens *o)
{
	eventfd_write(o->stop, 1);
	pthread_join(o->thread, NULL);
	o->running = false;
	return o->err;
}

const struct opens_file *
opens_files(const struct opens *o, size_t *count)
{
	*count = o->count;
	return o->files;
}

ssize_t
opens_find(const struct opens *o, struct opens_file f)
{
	size_t slot = slot_of_file(o, f);

	return o->slots[slot] == 0 ? -ENOENT : (ssize_t)o->slots[slot] - 1;
}

void
opens_free(struct opens *o)
{
	if (o == NULL)
		return;
	if (o->running)
		opens_stop(o);
	if (o->events >= 0)
		sys_close(o->events);
	if (o->stop >= 0)
		sys_close(o->stop);
	sys_free(o->files);
	sys_free(o->slots);
	sys_free(o->buf);
	sys_free(o);
}

/*
 * input.c - the input stream of a job
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pipeline/input.h"

#include "base/hole.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_SIZE = 1 << 20 };

int
input_open(struct input *in, int fd)
{
	struct stat st;

	memset(in, 0, sizeof(*in));
	in->fd = fd;
	in->flush_ms = -1;
	if (fstat(fd, &st) == -1)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	in->waits = !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	in->holes = S_ISREG(st.st_mode) && hole_possible(&st);
	in->st = st;
	/*
	 * With a larger pipe buffer, the writer does not block after every 64
	 * KiB.
	 */
	if (S_ISFIFO(st.st_mode))
		fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
	else
		posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	in->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return in->cancel == -1 ? -errno : 0;
}

int
input_open_from(struct input *in,
    ssize_t (*source)(void *arg, void *buf, size_t len), void *arg)
{
	memset(in, 0, sizeof(*in));
	in->fd = -1;
	in->flush_ms = -1;
	in->source = source;
	in->source_arg = arg;
	in->cancel = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return in->cancel == -1 ? -errno : 0;
}

int
input_limit(struct input *in, uint64_t from, uint64_t len)
{
	off_t at = sys_lseek(in->fd, (off_t)from, SEEK_SET);

	in->limited = true;
	in->left = len;
	return at < 0 ? (int)at : 0;
}

void
input_close(struct input *in)
{
	if (in->cancel > 0)
		sys_close(in->cancel);
	in->cancel = -1;
}

void
input_cancel(struct input *in)
{
	uint64_t one = 1;

	/* This can fail only if the counter is already far above 0. */
	(void)!write(in->cancel, &one, sizeof(one));
}

/*
 * Calls read(2) once, after waiting for data if necessary.  begun is set if
 * part of the block has already been read.
 */
static ssize_t
read_some(struct input *in, void *buf, size_t len, bool begun)
{
	ssize_t n;

	if (in->limited && len > in->left)
		len = in->left;
	if (in->limited && len == 0) {
		in->ended = true;
		return 0;
	}
	do {
		struct pollfd p[2] = { { .fd = in->fd, .events = POLLIN },
		    { .fd = in->cancel, .events = POLLIN } };
		int ready = 1;

		if (in->waits)
			do
				ready = poll(p, 2, begun ? in->flush_ms : -1);
			while (ready == -1 && errno == EINTR);
		if (ready == -1)
			return -errno;
		if (ready == 0)
			return -ETIME;
		if (p[1].revents != 0)
			return -ECANCELED;
		n = in->source != NULL ?
		    in->source(in->source_arg, buf, len) :
		    sys_read(in->fd, buf, len);
	} while (n == -EINTR || n == -EAGAIN);
	if (n == 0 && in->limited)
		return -ESTALE;
	if (n == 0)
		in->ended = true;
	if (n > 0 && in->limited)
		in->left -= (uint64_t)n;
	return n;
}

ssize_t
input_read(struct input *in, void *buf, size_t len)
{
	uint64_t t0 = sys_now_ns();
	size_t done = in->peeked - in->taken;
	ssize_t n = 0;

	in->hole = 0;
	done = done < len ? done : len;
	memcpy(buf, in->ahead + in->taken, done);
	in->taken += done;
	while (done < len && !in->ended) {
		n = read_some(in, (char *)buf + done, len - done, done > 0);
		if (n < 0)
			break;
		done += (size_t)n;
	}
	in->eof = in->ended && in->taken == in->peeked;
	in->wait_ns += sys_now_ns() - t0;
	in->bytes += done;
	return n < 0 && n != -ETIME ? n : (ssize_t)done;
}

int
input_skip_hole(struct input *in, size_t len)
{
	off_t at;

	if (!in->holes || in->peeked > in->taken)
		return 0;
	if (in->hole < len) {
		at = sys_lseek(in->fd, 0, SEEK_CUR);
		if (at < 0)
			return (int)at;
		in->hole = hole_at(in->fd, &in->st, (uint64_t)at);
		at = sys_lseek(in->fd, at, SEEK_SET);
		if (at < 0)
			return (int)at;
	}
	if (len == 0 || in->hole < len || (in->limited && len > in->left))
		return 0;
	at = sys_lseek(in->fd, (off_t)len, SEEK_CUR);
	if (at < 0)
		return (int)at;
	in->hole -= len;
	in->left -= in->limited ? len : 0;
	in->bytes += len;
	return 1;
}

void
input_unread(struct input *in, const void *p, size_t n)
{
	size_t have = in->peeked - in->taken;

	memmove(in->ahead + n, in->ahead + in->taken, have);
	memcpy(in->ahead, p, n);
	in->peeked = have + n;
	in->taken = 0;
	in->bytes -= n;
	in->eof = false;
}

ssize_t
input_peek(struct input *in, size_t n, const uint8_t **p)
{
	size_t have = in->peeked - in->taken;
	ssize_t got;

	memmove(in->ahead, in->ahead + in->taken, have);
	in->peeked = have;
	in->taken = 0;
	while (in->peeked < n && !in->ended) {
		got = read_some(in, in->ahead + in->peeked,
		    n - in->peeked, in->peeked > 0);
		if (got == -ETIME)
			break;
		if (got < 0)
			return got;
		in->peeked += (size_t)got;
	}
	*p = in->ahead;
	return (ssize_t)(in->peeked < n ? in->peeked : n);
}

/*
 * look.c - reading any part of a file through a buffer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nearby data is in the buffer.  At a distant position only a little is read,
 * because the data in between is not needed, or only what is wanted, if what
 * follows is not needed either.
 */
#include "format/list.h"

#include "base/fdio.h"
#include "base/sys.h"

struct look *
look_open(int fd, uint64_t len)
{
	struct look *l = sys_malloc(sizeof(*l));

	if (l != NULL) {
		l->fd = fd;
		l->len = len;
		l->read_B = 0;
		l->at = 0;
		l->have = 0;
	}
	return l;
}

void
look_close(struct look *l)
{
	sys_free(l);
}

/* Reads n bytes, at least `want`, unless the buffer has all that is wanted. */
static ssize_t
look_some(struct look *l, uint64_t offset, size_t want, size_t n,
    const uint8_t **p)
{
	uint64_t left = offset < l->len ? l->len - offset : 0;
	ssize_t got;

	if (want > left)
		want = (size_t)left;
	if (offset < l->at || offset - l->at > l->have ||
	    l->have - (offset - l->at) < want) {
		got = fdio_pread(l->fd, l->buf, n < left ? n : (size_t)left,
		    (off_t)offset);
		if (got < 0)
			return got;
		l->at = offset;
		l->have = (size_t)got;
		l->read_B += (uint64_t)got;
		/* the file may have been truncated */
		if (want > l->have)
			want = l->have;
	}
	*p = l->buf + (offset - l->at);
	return (ssize_t)want;
}

ssize_t
look_at(struct look *l, uint64_t offset, size_t want, const uint8_t **p)
{
	return look_some(l, offset, want, want < LOOK_STEP ? LOOK_STEP : want,
	    p);
}

ssize_t
look_little(struct look *l, uint64_t offset, size_t want, const uint8_t **p)
{
	uint64_t end = l->at + l->have;

	return offset >= end && offset - end < LOOK_STEP / 2 && end > 0 ?
	    look_at(l, offset, want, p) :
	    look_some(l, offset, want, want, p);
}

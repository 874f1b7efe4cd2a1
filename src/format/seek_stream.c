/*
 * seek_stream.c - assembling units of a file into a stream for a decoder
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/seek_formats.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <string.h>

static struct seek_piece *
new_piece(struct seek_stream *s)
{
	void *pieces = s->pieces;

	if (array_grow(&pieces, s->count, &s->cap, sizeof(*s->pieces)) != 0)
		return NULL;
	s->pieces = pieces;
	return &s->pieces[s->count++];
}

int
seek_bytes(struct seek_stream *s, const void *p, size_t len)
{
	struct seek_piece *last = s->count > 0 ? &s->pieces[s->count - 1] :
	    NULL;
	size_t need = s->mem.len + len;
	int rc = need <= s->mem.cap ? 0 : buf_reserve(&s->mem, 2 * need);

	if (rc != 0 || len == 0)
		return rc;
	if (last == NULL || !last->memory) {
		last = new_piece(s);
		if (last == NULL)
			return -ENOMEM;
		*last = (struct seek_piece){ s->mem.len, 0, true };
	}
	memcpy(s->mem.data + s->mem.len, p, len);
	s->mem.len = need;
	last->len += len;
	return 0;
}

int
seek_extent(struct seek_stream *s, uint64_t at, uint64_t len)
{
	struct seek_piece *last = s->count > 0 ? &s->pieces[s->count - 1] :
	    NULL;

	if (at > s->file_len || len > s->file_len - at)
		return -EBADMSG;
	if (last != NULL && !last->memory && last->at + last->len == at) {
		last->len += len;
		return 0;
	}
	last = new_piece(s);
	if (last == NULL)
		return -ENOMEM;
	*last = (struct seek_piece){ at, len, false };
	return 0;
}

/* Reads the rest of the current piece. */
ssize_t
seek_stream_read(void *arg, void *buf, size_t len)
{
	struct seek_stream *s = arg;
	const struct seek_piece *p;
	ssize_t n;

	while (s->piece < s->count && s->done == s->pieces[s->piece].len) {
		s->piece++;
		s->done = 0;
	}
	if (s->piece == s->count)
		return 0;
	p = &s->pieces[s->piece];
	if (len > p->len - s->done)
		len = (size_t)(p->len - s->done);
	if (p->memory) {
		memcpy(buf, s->mem.data + p->at + s->done, len);
		n = (ssize_t)len;
	} else {
		n = fdio_pread(s->fd, buf, len, (off_t)(p->at + s->done));
		s->read_B += n > 0 ? (uint64_t)n : 0;
	}
	s->done += n > 0 ? (uint64_t)n : 0;
	return n;
}

void
seek_stream_free(struct seek_stream *s)
{
	sys_free(s->pieces);
	sys_free(s->mem.data);
}

int
seek_stream_make(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	int rc = 0;

	s->plain = from->plain;
	s->size = to->plain - from->plain;
	while (rc == 0 && from < to) {
		const struct seek_unit *u = from + 1;

		while (u < to && u->frame == from->frame)
			u++;
		if (seek_within(from) || u->frame == from->frame)
			rc = m->seek->part(m, from, u, s);
		else
			rc = seek_extent(s, from->at, u->at - from->at);
		from = u;
	}
	return rc;
}

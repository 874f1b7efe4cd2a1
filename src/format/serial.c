/*
 * serial.c - decoding with a stream decoder, in the joiner
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/serial.h"

#include <errno.h>

int
serial_open(struct serial *d, const struct stream_ops *ops, uint64_t memlimit)
{
	*d = (struct serial){ .ops = ops };
	return ops->open(&d->ctx, memlimit);
}

void
serial_close(struct serial *d)
{
	if (d->ops != NULL)
		d->ops->close(d->ctx);
}

int
serial_feed(struct serial *d, const uint8_t *p, size_t len, bool eof,
    struct sink *out)
{
	struct stream_io io = { .in = p, .in_len = len, .eof = eof };
	const uint8_t *before;
	uint8_t *start;
	size_t room;
	int rc = STREAM_MORE;

	/*
	 * call again without input while the buffer is full, because there may
	 * be more output
	 */
	while (io.in_len > 0 || (d->within && (io.out_len == 0 || eof))) {
		start = sink_space(out, &room, &rc);
		if (start == NULL)
			return rc;
		io.out = start;
		io.out_len = room;
		d->within = true;
		before = io.in;
		rc = d->ops->run(d->ctx, &io);
		if (rc < 0)
			return rc;
		/* a decoder that makes no progress would loop forever */
		if (rc == STREAM_MORE && io.in == before &&
		    io.out_len == room && (eof || io.in_len > 0))
			return eof ? -ENODATA : -EBADMSG;
		sink_advance(out, room - io.out_len);
		if (rc == STREAM_END) {
			d->within = false;
			d->streams++;
		}
	}
	return 0;
}

int
serial_fill(void *job, struct input *in, struct slot *s)
{
	int rc = buf_reserve(&s->in, SERIAL_PIECE);
	ssize_t n;

	(void)job;
	if (rc != 0)
		return rc;
	n = input_read(in, s->in.data, SERIAL_PIECE);
	if (n < 0)
		return (int)n;
	s->in.len = (size_t)n;
	s->last = in->eof;
	return 0;
}

/*
 * gzip_resume.c - decompressing part of a gzip file, starting at a point
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/gzip/gzip_points.h"

#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"

#include <errno.h>

/*
 * Skips the trailer of a member that has ended, and the next member's header.
 */
static int
next_member(struct inflater *f, struct stream_io *io)
{
	uint8_t unused[8];
	size_t back = inflater_unused(f, unused);
	struct gzip_header h;

	io->in -= back;
	io->in_len += back;
	if (io->in_len < GZIP_TRAILER)
		return -EBADMSG;
	io->in += GZIP_TRAILER;
	io->in_len -= GZIP_TRAILER;
	if (gzip_header_parse(&h, io->in, io->in_len) != 1)
		return -EBADMSG;
	io->in += h.len;
	io->in_len -= h.len;
	inflater_start(f);
	return 0;
}

int
gzip_resume(struct inflater *f, const struct gzip_point *p,
    const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	struct stream_io io = { .in = in, .in_len = len, .out = out,
		.out_len = size, .eof = true };
	int rc = 0;

	if (p->bits > 7 || (p->bits != 0 && len == 0))
		return -EBADMSG;
	inflater_start(f);
	if (p->bits != 0) {
		inflater_prime(f, p->bits, *io.in++);
		io.in_len--;
	}
	inflater_saw(f, p->window, p->window_len);
	while (rc == 0 && io.out_len > 0) {
		rc = inflater_run(f, &io);
		if (rc == STREAM_END)
			rc = io.out_len == 0 ? 0 : next_member(f, &io);
	}
	return rc == 0 ? 0 : -EBADMSG;
}

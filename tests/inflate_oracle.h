/*
 * inflate_oracle.h - comparing the inflater with zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_INFLATE_ORACLE_H
#define COLDPRESS_INFLATE_ORACLE_H

#include "engine/deflate/inflater.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

/* The result for a raw stream. */
struct inflate_result {
	int rc;			/* STREAM_END, -EBADMSG or -ENODATA */
	size_t made;		/* in bytes; valid unless rc is -EBADMSG */
	size_t used;		/* in bytes; valid if rc is STREAM_END */
};

/* Produces at most cap bytes of output; any more gives -ENODATA. */
static struct inflate_result
inflate_by_zlib(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)in,
	    .avail_in = (uInt)len, .next_out = out, .avail_out = (uInt)cap };
	struct inflate_result r;
	int rc;

	if (inflateInit2(&z, -MAX_WBITS) != Z_OK)
		return (struct inflate_result){ .rc = -ENOMEM };
	rc = inflate(&z, Z_SYNC_FLUSH);
	r = (struct inflate_result){ .rc = rc == Z_STREAM_END ? STREAM_END :
	    rc == Z_DATA_ERROR ? -EBADMSG : -ENODATA,
	    .made = cap - z.avail_out, .used = len - z.avail_in };
	inflateEnd(&z);
	return r;
}

/* Inflates input in pieces of in_step bytes, with room for out_step. */
static struct inflate_result
inflate_in_steps(struct inflater *f, const uint8_t *in, size_t len,
    size_t in_step, uint8_t *out, size_t cap, size_t out_step)
{
	struct stream_io io = { .in = in, .out = out };
	const uint8_t *end = in + len;
	struct inflate_result r;
	uint8_t unused[8];
	int rc;

	inflater_start(f);
	do {
		size_t left = (size_t)(end - io.in) - io.in_len;
		size_t room = cap - (size_t)(io.out - out);

		if (io.in_len == 0)
			io.in_len = left < in_step ? left : in_step;
		io.eof = io.in + io.in_len == end;
		io.out_len = room < out_step ? room : out_step;
		rc = io.out_len == 0 ? -ENODATA : inflater_run(f, &io);
	} while (rc == STREAM_MORE);
	r = (struct inflate_result){ .rc = rc,
	    .made = (size_t)(io.out - out) };
	if (rc == STREAM_END)
		r.used = (size_t)(io.in - in) - inflater_unused(f, unused);
	if (rc == STREAM_END && memcmp(in + r.used, unused,
	    (size_t)(io.in - in) - r.used) != 0)
		r.rc = -EILSEQ;
	return r;
}

#endif

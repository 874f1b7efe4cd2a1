/*
 * stream.h - a decoder with piecewise input and output
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the serial way to decode a format, a fallback for the parallel ones.
 * A context belongs to one thread at a time.
 */
#ifndef COLDPRESS_STREAM_H
#define COLDPRESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_io {
	const uint8_t *in;	/* run() advances both pairs */
	size_t in_len;
	uint8_t *out;
	size_t out_len;
	bool eof;		/* no more input after these in_len bytes */
};

enum { STREAM_MORE = 0, STREAM_END = 1 };

struct stream_ops {
	/*
	 * Creates a context at the beginning of a stream.  memlimit caps the
	 * allocations whose size depends on the input.  Returns 0 or -ENOMEM.
	 */
	int (*open)(void **ctx, uint64_t memlimit);

	/*
	 * Decodes, and returns STREAM_MORE when the input or the output space
	 * is used up, or STREAM_END when the stream (member, frame) ends, with
	 * io->in after its last byte and the context ready for another; or
	 * -EBADMSG (the data is corrupt), -ENODATA (the stream is truncated at
	 * eof), -EFBIG (memlimit is too low), -ENOTSUP (a variant of the format
	 * that is not implemented) or -ENOMEM.
	 */
	int (*run)(void *ctx, struct stream_io *io);

	void (*close)(void *ctx);	/* ctx may be NULL */
};

#endif

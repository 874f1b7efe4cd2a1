/*
 * stream.h - the interface of streaming decoders
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Decodes a format serially, when it cannot be decoded in parallel.  A context
 * belongs to one thread at a time.
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
	 * Decodes until the input or the output space is used up, and returns
	 * STREAM_MORE; or until the stream (member, frame) ends, and returns
	 * STREAM_END with io->in after its last byte and the context ready for
	 * another stream.  Otherwise returns -EBADMSG (the data is corrupt),
	 * -ENODATA (the stream is truncated at eof), -EFBIG (memlimit is too
	 * low), -ENOTSUP (a variant of the format that is not implemented) or
	 * -ENOMEM.
	 */
	int (*run)(void *ctx, struct stream_io *io);

	void (*close)(void *ctx);	/* ctx may be NULL */
};

#endif

/*
 * stream.h - a decoder that takes its input and gives its output in pieces
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The serial way to decode a format, behind whatever is done in parallel.
 * A context belongs to one thread at a time.
 */
#ifndef COLDPRESS_STREAM_H
#define COLDPRESS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_io {
	const uint8_t *in;	/* both pairs are moved on by run() */
	size_t in_len;
	uint8_t *out;
	size_t out_len;
	bool eof;		/* no input follows the in_len bytes */
};

enum { STREAM_MORE = 0, STREAM_END = 1 };

struct stream_ops {
	/*
	 * A context at the beginning of a stream.  memlimit: the most bytes
	 * that it may allocate, as far as the input decides that.
	 * 0 or -ENOMEM.
	 */
	int (*open)(void **ctx, uint64_t memlimit);

	/*
	 * Decodes until the input or the room for output is used up: then
	 * STREAM_MORE; or until the stream (member, frame) ends: STREAM_END,
	 * with io->in after its last byte and the context ready for another.
	 * -EBADMSG: the data is wrong; -ENODATA: eof, and the stream is cut
	 * short; -EFBIG: memlimit is too low; -ENOTSUP: a variant of the
	 * format that is not implemented; -ENOMEM.
	 */
	int (*run)(void *ctx, struct stream_io *io);

	void (*close)(void *ctx);	/* ctx may be NULL */
};

#endif

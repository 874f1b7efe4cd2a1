/*
 * unlzma.h - decoding LZMA2 and LZMA
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What liblzma 5.4 accepts is accepted, with the same output, and nothing else.
 * Sources: the .xz file format 1.2.1, 5.3.1 (LZMA2), and Igor Pavlov's LZMA
 * specification.
 *
 * A context belongs to one thread at a time.
 */
#ifndef COLDPRESS_UNLZMA_H
#define COLDPRESS_UNLZMA_H

#include "engine/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unlzma;

/* Returns 0 or -ENOMEM. */
int unlzma_open(struct unlzma **u);
void unlzma_close(struct unlzma *u);		/* may be NULL */

/*
 * Decodes LZMA2 data that is completely in memory, for a dictionary of that
 * size, to out.  *used is set to the number of its bytes, up to its end marker.
 * Returns the number of bytes that it decodes to; -ENOBUFS if they are more than
 * cap; -EBADMSG; or -ENODATA if it is truncated.
 */
int64_t unlzma_whole(struct unlzma *u, uint32_t dictionary, const uint8_t *in,
    size_t len, size_t *used, uint8_t *out, size_t cap);

/*
 * Begins LZMA2 data that unlzma_run() decodes piece by piece.  Memory for the
 * dictionary is allocated, or used again if it has the same size.  Returns 0 or
 * -ENOMEM.
 */
int unlzma_start(struct unlzma *u, uint32_t dictionary);

struct unlzma_io {
	const uint8_t *in;	/* run() advances these */
	size_t in_len;
	bool eof;		/* no more input after these in_len bytes */
	const uint8_t *out;	/* output, until the next call */
	size_t out_len;
};

/*
 * Decodes some of the input, and sets the output, if there is any, also with an
 * error: it was decoded before.  Returns STREAM_MORE: call again, with more input
 * if all of it was taken and there was no output; STREAM_END after the end
 * marker; -EBADMSG, or -ENODATA if the data is truncated.
 */
int unlzma_run(struct unlzma *u, struct unlzma_io *io);

#endif

/*
 * serial.h - decoding with a stream decoder, in the joiner
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is the complete decoder for a format that cannot be decoded in parallel,
 * and the fallback for the others.
 */
#ifndef COLDPRESS_SERIAL_H
#define COLDPRESS_SERIAL_H

#include "engine/stream.h"
#include "format/codec.h"

struct serial {
	const struct stream_ops *ops;
	void *ctx;
	bool within;		/* a stream has begun but not ended */
	uint64_t streams;	/* streams that have ended */
};

/* Returns 0 or -ENOMEM. */
int serial_open(struct serial *d, const struct stream_ops *ops,
    uint64_t memlimit);
void serial_close(struct serial *d);

/*
 * Decodes len bytes, in which streams may end and begin.  eof is set if nothing
 * follows.  Returns 0, or -errno as stream_ops.run does.
 */
int serial_feed(struct serial *d, const uint8_t *p, size_t len, bool eof,
    struct sink *out);

/* Fills a slot with the next SERIAL_PIECE bytes of any input. */
enum { SERIAL_PIECE = 256 << 10 };
int serial_fill(void *job, struct input *in, struct slot *s);

#endif

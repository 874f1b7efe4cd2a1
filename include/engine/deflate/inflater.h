/*
 * inflater.h - raw inflate (RFC 1951) of a stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A context belongs to one thread at a time.
 */
#ifndef COLDPRESS_INFLATER_H
#define COLDPRESS_INFLATER_H

#include "engine/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INFLATER_WINDOW = 32 << 10 };

struct inflater;

/* 0 or -ENOMEM. */
int inflater_open(struct inflater **f);
void inflater_close(struct inflater *f);	/* may be NULL */

/* At the beginning of a stream, as after open. */
void inflater_start(struct inflater *f);

/*
 * Output that was made elsewhere, of blocks that came after those that were
 * run here; the next run begins with the block that follows.  Only at a
 * boundary or the beginning.
 */
void inflater_saw(struct inflater *f, const uint8_t *out, size_t len);

/*
 * As stream_ops.run.  After STREAM_END, the first inflater_unused() bytes of
 * unused had been taken in and belong to what follows, before io->in; the
 * next call is inflater_start().
 */
int inflater_run(struct inflater *f, struct stream_io *io);
size_t inflater_unused(const struct inflater *f, uint8_t unused[8]);

/*
 * Whether all that was given is decoded and written out, up to a byte's
 * boundary between two blocks.
 */
bool inflater_at_boundary(const struct inflater *f);

/* Writable bytes behind the room for a piece's output: it decodes faster. */
enum { INFLATER_SPARE = 322 };

/* What became of a piece. */
struct inflated {
	size_t used, made;	/* bytes in and out */
	bool final;		/* the stream's final block ended within */
};

/*
 * Decodes a piece that is in memory as a whole and needs nothing before it,
 * from a block's header either to the end of the final block, or to the last
 * byte of in, where a block must end.  0; -EBADMSG: it is no such piece, or
 * makes more than cap bytes.  The spare bytes behind out are overwritten.
 * Whatever f was doing is lost: the next call is inflater_start() or this.
 */
int inflater_piece(struct inflater *f, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r);

#endif

/*
 * inflater.h - streaming raw inflate (RFC 1951)
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

/* Returns 0 or -ENOMEM. */
int inflater_open(struct inflater **f);
void inflater_close(struct inflater *f);	/* may be NULL */

/* Resets to the beginning of a stream, as after open. */
void inflater_start(struct inflater *f);

/*
 * Supplies the first bits (at most 7) of a stream that does not begin on a byte
 * boundary: the most significant ones of byte.  To be called right after
 * inflater_start().
 */
void inflater_prime(struct inflater *f, unsigned bits, uint8_t byte);

/*
 * Makes the next run, and only that one, return INFLATER_BLOCK at the end of a
 * non-final block once it has produced at least `made` bytes.  The next run
 * continues there.
 */
enum { INFLATER_BLOCK = 3 };
void inflater_stop_after(struct inflater *f, size_t made);

/*
 * Makes all further runs, until the next call, mark the bytes that they copy
 * from the data before them: for a byte n bytes before the beginning of the
 * run, n being at most INFLATER_WINDOW, used_end[-n] is set to 1.  NULL turns
 * marking off.
 */
void inflater_mark(struct inflater *f, uint8_t *used_end);

/*
 * Returns how many bits have been taken from the input but not decoded.  If
 * that is not a multiple of 8, the first of them are a byte's most significant
 * bits.
 */
unsigned inflater_ahead(const struct inflater *f);

/*
 * Adds output that was produced elsewhere, from blocks that followed those run
 * here; the next run begins with the block after them.  To be called only at a
 * boundary or at the beginning.
 */
void inflater_saw(struct inflater *f, const uint8_t *out, size_t len);

/*
 * Implements stream_ops.run, and may also return INFLATER_BLOCK.  After
 * STREAM_END, the first inflater_unused() bytes of unused had been read ahead
 * and belong to what follows, before the bytes at io->in; the next call must be
 * inflater_start().
 */
int inflater_run(struct inflater *f, struct stream_io *io);
size_t inflater_unused(const struct inflater *f, uint8_t unused[8]);

/*
 * Returns whether all input has been decoded and written out, up to a byte
 * boundary between two blocks.
 */
bool inflater_at_boundary(const struct inflater *f);

/* Writable bytes needed after a piece's output space, for faster decoding. */
enum { INFLATER_SPARE = 322 };

/* The result of decoding a piece. */
struct inflated {
	size_t used, made;	/* bytes in and out */
	bool final;		/* the stream's final block ended in it */
};

/*
 * Decodes a piece that is completely in memory and needs no history, from a
 * block's header either to the end of the final block, or to the last byte of
 * in, where a block must end.  Returns 0, or -EBADMSG if it is not such a piece
 * or exceeds cap bytes when decoded.  The spare bytes after out are
 * overwritten.  The state of f is lost: the next call must be inflater_start()
 * or this one.
 */
int inflater_piece(struct inflater *f, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r);

#endif

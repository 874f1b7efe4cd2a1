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

/* Resets f to the start of a stream, as after inflater_open(). */
void inflater_start(struct inflater *f);

/*
 * Moves f to the start of a block elsewhere in the stream; the output before it
 * is what was decoded last, or what inflater_saw() is told next.
 */
void inflater_move(struct inflater *f);

/*
 * Supplies the first bits (at most 7) of a stream that does not begin on a byte
 * boundary.  They are the most significant bits of byte.  Call this right after
 * inflater_start() or inflater_move().
 */
void inflater_prime(struct inflater *f, unsigned bits, uint8_t byte);

/*
 * Makes the next call of inflater_run(), and only that one, return
 * INFLATER_BLOCK at the end of a non-final block once it has produced at least
 * `made` bytes.  The call after that continues there.
 */
enum { INFLATER_BLOCK = 3 };
void inflater_stop_after(struct inflater *f, size_t made);

/*
 * Makes later calls of inflater_run() record which earlier output they refer
 * to: for a byte n bytes before the output of the call, where n is at most
 * INFLATER_WINDOW, used_end[-n] is set to 1.  NULL turns recording off.
 */
void inflater_mark(struct inflater *f, uint8_t *used_end);

/*
 * Returns how many bits have been read from the input but not decoded.  If
 * their number is not a multiple of 8, the first of these bits are the most
 * significant bits of a byte.
 */
unsigned inflater_ahead(const struct inflater *f);

/*
 * Adds output that was decoded elsewhere from the blocks that follow.  The next
 * call of inflater_run() begins with the block after these.  Call this only at
 * a block boundary or at the start.
 */
void inflater_saw(struct inflater *f, const uint8_t *out, size_t len);

/* Returns the last output, *len bytes, at most INFLATER_WINDOW. */
const uint8_t *inflater_window(const struct inflater *f, size_t *len);

/*
 * Implements stream_ops.run, and may also return INFLATER_BLOCK.  After
 * STREAM_END, inflater_unused() stores the bytes that were read ahead, which
 * precede the bytes at io->in, and returns their number; the next call must be
 * inflater_start().
 */
int inflater_run(struct inflater *f, struct stream_io *io);
size_t inflater_unused(const struct inflater *f, uint8_t unused[8]);

/* Returns the length of all stored blocks that were begun since f was opened. */
uint64_t inflater_copied(const struct inflater *f);

/* Returns whether a block's header comes next, after the bits ahead. */
bool inflater_between(const struct inflater *f);

/*
 * Returns whether all input has been decoded and written out, up to a byte
 * boundary between two blocks.
 */
bool inflater_at_boundary(const struct inflater *f);

/*
 * Number of bytes after a piece's output space that must be writable, for
 * faster decoding.
 */
enum { INFLATER_SPARE = 322 };

/* The result of decoding a piece. */
struct inflated {
	size_t used, made;	/* bytes consumed and produced */
	bool final;		/* the stream's final block ended in the
				 * piece */
};

/*
 * Decodes a piece that is completely in memory and needs no history, from a
 * block's header either to the end of the final block, or to the last byte of
 * `in`, where a block must end.  Returns 0, or -EBADMSG if `in` is not such a
 * piece or decodes to more than cap bytes.  The spare bytes after `out` are
 * overwritten.  The state of f is lost: the next call must be inflater_start()
 * or inflater_piece().
 */
int inflater_piece(struct inflater *f, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *r);

/*
 * Decoding single blocks, anywhere in a stream.
 *
 * The output before a block may be unknown: with a unit of 2 bytes, each byte of
 * output is a uint16_t, and if the INFLATER_WINDOW of them before the block are
 * any values above 255, those that are still there afterwards show where the
 * unknown output was copied to.
 */
struct inflate_block {
	uint64_t bit;		/* where the block begins in the input; then,
				 * where it ends */
	uint8_t *begin, *out;	/* the output before it; then, with it */
	uint8_t *end;		/* of the space for output */
	unsigned unit;		/* bytes that a byte of output takes: 1 or 2 */
	uint64_t reached;	/* after -ENOBUFS: the bit where the space ended */
};

/*
 * Decodes the block at b->bit of in[0..len).  Returns INFLATER_BLOCK, or
 * STREAM_END if it was the final one; otherwise b has not moved: -ENOBUFS (the
 * space is too small), -ENODATA (the input ends in the block), or -EBADMSG
 * (invalid, or it refers to what is before `begin`).  The state of f is lost.
 */
int inflater_block(struct inflater *f, const uint8_t *in, size_t len,
    struct inflate_block *b);

/*
 * Returns whether a valid header of a block is at that bit of in[0..len).  The
 * state of f is lost.
 */
bool inflater_begins(struct inflater *f, const uint8_t *in, size_t len,
    uint64_t bit);

#endif

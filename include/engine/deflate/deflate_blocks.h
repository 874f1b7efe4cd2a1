/*
 * deflate_blocks.h - encoding matches as deflate blocks (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The back half of our own deflate encoder.  It decides where blocks begin,
 * their types and their codes.  A struct deflate_blocks belongs to one thread;
 * the output depends only on the calls, not on the machine.
 */
#ifndef COLDPRESS_DEFLATE_BLOCKS_H
#define COLDPRESS_DEFLATE_BLOCKS_H

#include "base/bytes.h"
#include "engine/deflate/deflate_codes.h"
#include "engine/deflate/deflate_seq.h"

#include <stddef.h>
#include <sys/types.h>

enum {
	DEFLATE_PIECES = 192,	/* maximum considered together */
	DEFLATE_SYMS = LITLEN_SYMS + DIST_SYMS,
	/* number of bytes after the output that may be overwritten */
	DEFLATE_BLOCKS_SLACK = 8
};

/*
 * A position between two tokens: some literals of *seq may precede it, but
 * never its match.
 */
struct deflate_cursor {
	const struct deflate_seq *seq;
	const uint8_t *in;
	uint32_t skip;		/* number of literals of *seq before the
				 * position */
};

struct deflate_piece {
	struct deflate_cursor at;	/* start of the piece */
	struct deflate_cursor last;	/* start of the piece's last part */
	uint64_t bytes;			/* input bytes */
	uint64_t extra;			/* bits after codes */
	uint32_t freq[DEFLATE_SYMS];	/* literals, lengths; distances */
};

enum { DEFLATE_HELD = 7 };

struct deflate_writer {
	uint8_t *next;
	uint64_t bits;		/* the bits not yet written, and their count */
	unsigned held;
};

/* How to search for boundaries: less thoroughly is faster. */
enum deflate_search { DEFLATE_THOROUGH, DEFLATE_QUICK, DEFLATE_FASTEST };

struct deflate_blocks {
	enum deflate_search search;	/* set by the caller */
	struct deflate_writer w;
	uint8_t *out, *end;
	uint64_t header;	/* bit offset of the last block's header, or
				 * UINT64_MAX */
	const uint8_t *stored;	/* bytes waiting for a stored block */
	size_t nstored;
	uint8_t length_sym[259];
	/* one more than DEFLATE_PIECES, for the end */
	struct deflate_piece pieces[DEFLATE_PIECES + 1];
};

/* Returns the maximum total size of the output for len bytes of input. */
static inline size_t
deflate_blocks_bound(size_t len)
{
	return len + (len / 65535 + 1) * 5 + 16 + DEFLATE_BLOCKS_SLACK;
}

/*
 * Starts writing at out, which has space for `room` bytes.  The last
 * DEFLATE_BLOCKS_SLACK bytes are not used for output.
 */
void deflate_blocks_begin(struct deflate_blocks *b, uint8_t *out,
    size_t room);

/*
 * Adds one or more blocks for n sequences, whose bytes begin at `in`.  A larger
 * n improves compression, because no block continues into the next call.
 * Returns 0, or -ENOBUFS if there is too little room; the caller must then
 * start over with deflate_blocks_begin().
 */
int deflate_blocks_add(struct deflate_blocks *b, const uint8_t *in,
    const struct deflate_seq *seqs, size_t n);

/*
 * If final is set, ends the stream: marks the last block as final, or writes an
 * empty final block, and pads the last byte with zeros.  Otherwise writes a
 * sync point, an empty stored block that ends at a byte boundary with 00 00 FF
 * FF.  Returns the number of bytes written since deflate_blocks_begin(), or
 * -ENOBUFS.
 */
ssize_t deflate_blocks_end(struct deflate_blocks *b, bool final);

/*
 * For src/engine/deflate/deflate_*.c only.
 *
 * deflate_split: fills b->pieces from *at onward, and merges them into blocks.
 * Advances *at to the start of the next piece.  Returns the number of blocks,
 * or 0 if there were no more tokens.
 */
unsigned deflate_split(struct deflate_blocks *b, struct deflate_cursor *at,
    const struct deflate_seq *end);

/* The cheaper encoding of a block, with the fixed codes or with its own. */
struct deflate_plan {
	uint64_t bits;			/* size of the whole block */
	bool fixed;
	uint8_t lens[DEFLATE_SYMS];
	/* code lengths as in the header: symbol, extra bits << 8 */
	unsigned nlit, ndist, npre, nitems;
	uint16_t items[DEFLATE_SYMS];
	uint8_t pre_lens[PRE_SYMS];
};

void deflate_plan_make(struct deflate_plan *plan, struct deflate_piece *p,
    bool fast);

/*
 * Writes the block between the two cursors.  The caller ensures that there is
 * enough room, and that the plan has a code for every symbol of the block.
 */
void deflate_emit(struct deflate_writer *out,
    const struct deflate_plan *plan,
    const struct deflate_cursor *from, const struct deflate_cursor *to);

/* Returns a distance's symbol: roughly 2 * log2(distance - 1). */
static inline unsigned
deflate_distance_sym(unsigned distance)
{
	unsigned d = distance - 1, log;

	if (d < 4)
		return d;
	log = 31 - (unsigned)__builtin_clz(d);
	return 2 * log + (d >> (log - 1) & 1);
}

static inline void
deflate_put(struct deflate_writer *w, uint64_t v, unsigned n)
{
	w->bits |= v << w->held;
	w->held += n;
}

/* Writes up to eight bytes; up to DEFLATE_HELD bits remain pending. */
static inline void
deflate_flush(struct deflate_writer *w)
{
	store_le64(w->next, w->bits);
	w->next += w->held >> 3;
	w->bits >>= w->held & 56;
	w->held &= 7;
}

#endif

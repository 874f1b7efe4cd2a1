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

#include "engine/deflate/deflate_codes.h"

#include <stddef.h>
#include <sys/types.h>

enum {
	DEFLATE_PIECES = 192,	/* maximum considered together */
	DEFLATE_SYMS = LITLEN_SYMS + DIST_SYMS,
	/* number of bytes after the output that may be overwritten */
	DEFLATE_BLOCKS_SLACK = 8
};

/*
 * What a search for matches finds: `literals` bytes copied from the input, then
 * a match of `length` bytes, `distance` bytes back.  A length of 0 means no
 * match, and occurs only at the end of a segment.  Lengths are 3 to 258,
 * distances 1 to 32,768.
 */
struct deflate_seq {
	uint32_t literals;
	uint16_t length;
	uint16_t distance;
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
size_t deflate_blocks_bound(size_t len);

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

#endif

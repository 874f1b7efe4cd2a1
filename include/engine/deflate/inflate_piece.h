/*
 * inflate_piece.h - raw inflate (RFC 1951) of a piece between sync points
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_INFLATE_PIECE_H
#define COLDPRESS_INFLATE_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writable bytes behind the piece, and behind the room for its output. */
enum { PIECE_IN_SPARE = 13, PIECE_OUT_SPARE = 8 };

struct piece_inflater;

/* One thread's.  0 or -ENOMEM. */
int piece_inflater_open(struct piece_inflater **f);
void piece_inflater_close(struct piece_inflater *f);

/* What became of a piece. */
struct inflated {
	size_t used, made;	/* bytes in and out */
	bool final;		/* the stream's final block ended within */
};

/*
 * Inflates a piece that is thought to begin at a block's header with nothing
 * before it.  0 if it decodes either to the end of the final block, or to
 * exactly the last byte of in with a sync point there.  Else -EBADMSG (no
 * such piece, or more than cap bytes of output).  The spare bytes behind in
 * and out are overwritten.
 */
int inflate_piece(struct piece_inflater *f, uint8_t *in, size_t len,
    uint8_t *out, size_t cap, struct inflated *result);

#endif

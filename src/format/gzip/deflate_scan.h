/*
 * deflate_scan.h - the pieces of a gzip, zlib or zip stream, and their reader
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * deflate_scan.c is the reader, deflate_decode.c the workers and the joiner.
 */
#ifndef COLDPRESS_DEFLATE_SCAN_H
#define COLDPRESS_DEFLATE_SCAN_H

#include "format/cutter.h"

#include <stdatomic.h>

/* The presumed type of a piece: inflate_notes.kind. */
enum { PIECE_PLAIN, PIECE_SYNC, PIECE_MEMBERS, PIECE_GUESS };

/* Decompressing gzip, zlib and zip. */
struct inflate_notes {
	int kind;		/* fill: PIECE_* */
	size_t skip;		/* fill: bytes of `in` before the unit */
	size_t used;		/* fill (members, guess) or work (to a sync
				 * point): bytes of `in` that the unit occupies;
				 * in a guess, the next piece begins there */
	size_t most;		/* fill, members: size of `out`, according to
				 * the trailers */
	bool ok;		/* work: `out` contains the unit's content */
	bool final;		/* work: a deflate stream ends in the piece */
	uint32_t check;		/* work, to a sync point: check of `out` */

	/* work, guess: the bits of `in` decoded, */
	uint32_t from, to;
	bool stored;		/* deflate_found.stored, */
	size_t copied;		/* bytes of the output from stored blocks, */
	size_t open;		/* and how many bytes of the output have to be
				 * filled in, at its beginning */
	unsigned places;	/* work: see deflate_marks.h */
};
SLOT_NOTES(inflate_notes)

enum {
	PLAIN_LEN = 512 << 10,	/* bytes of input in a piece without units */
	GUESS_MORE = 4,		/* a fourth is added, to guess the last block */
	READ_LEN = 64 << 10,	/* bytes read at a time while searching for the
				 * end of a piece */
	UNMARKED_OUT = 1 << 20,	/* maximum output of a piece of unknown size */
	MEMBERS_OUT = 2 << 20,	/* maximum output of a piece of members */
	MEMBER_MAX = 4 << 20,
	MEMBER_LEAST = 1 << 20	/* MEMBER_MAX under a memory limit */
};

/*
 * Limits the cost of wrong guesses: a worker's failed attempt adds its maximum
 * cost, in bytes, to the debt, and decoded data reduces the debt.  While the debt
 * is above the limit, no attempts are made.  For any input, the total cost of all
 * attempts therefore exceeds the cost of decoding by at most the limit.
 */
enum { DEBT_MOST = 8 << 20 };

struct deflate_reader {
	int mode;		/* PIECE_* */
	size_t plain;		/* bytes in a piece without units */
	bool guess;		/* there are threads to decode these */
	bool begun;
	size_t block;		/* unit output size given by the mark, or
				 * 0 */
	size_t block_max;	/* units marked as larger than this, and */
	size_t member_max;	/* longer members, are decoded serially */
	size_t since_sync;	/* input since the last sync point */
	bool linked;		/* units end with links (gzip_link.h) */
	bool lost;		/* the last link was not found */
	struct carry carry;

	/* set by the joiner: */
	atomic_llong debt;	/* cost of wrong guesses, in bytes */
	atomic_bool fast;	/* guesses would take longer than one thread */
};

/*
 * Implements pipeline_ops.fill, and sets the presumed type of the piece; job
 * begins with a struct deflate_reader.
 */
int deflate_scan(void *job, struct input *in, struct slot *s);

#endif

/*
 * bz2_impl.h - declarations shared by the bzip2 encoder and decoder
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_BZ2_IMPL_H
#define COLDPRESS_BZ2_IMPL_H

#include "base/bytes.h"
#include "engine/bzip2/bz2_block.h"

#include <string.h>

enum {
	BZ2_GROUP = 50,			/* symbols that share a table */
	BZ2_TABLES_MIN = 2,
	BZ2_TABLES_MAX = 6,
	BZ2_SYMBOLS_MAX = 258,		/* two for runs, 255, end of block */
	BZ2_SELECTORS_MAX = 18002,	/* enough for 900000 symbols */
	BZ2_CODE_MAX = 20,		/* longest code that bzip2 accepts, */
	BZ2_CODE_MADE = 17,		/* and longest code that it writes */
	BZ2_REFILLED = 56,		/* minimum number of bits after a
					 * refill */
	BZ2_RUN_PLAIN = 4,		/* equal bytes before a count */
	BZ2_RUN_MAX = 255
};

/*
 * Returns the index of the first of four equal bytes within p[0..len), or len.
 * Such runs are rare in most data, so all three users of RLE1 skip to the next
 * run in one step.
 */
size_t bz2_find_run(const uint8_t *p, size_t len);

/* The inverse of RLE1, in pieces. */
struct bz2_unrle {
	const uint8_t *block;
	size_t len, pos;
	unsigned run;		/* equal bytes before pos; 4: a count is next */
	unsigned owed;		/* bytes of a count still to be output */
};

void bz2_unrle_start(struct bz2_unrle *u, const uint8_t *block, size_t len);
/*
 * Outputs up to cap bytes.  Returns the number of bytes, 0 at the end, or
 * -EBADMSG if a count is missing there.
 */
ssize_t bz2_unrle_read(struct bz2_unrle *u, uint8_t *out, size_t cap);

/*
 * CRC-32 with polynomial 0x04c11db7, most significant bit first: it starts with
 * all ones and is inverted at the end.  The tables are filled once per context.
 */
struct bz2_crc {
	uint32_t slice[8][256];
};

void bz2_crc_init(struct bz2_crc *t);
uint32_t bz2_crc_update(const struct bz2_crc *t, uint32_t crc,
    const uint8_t *p, size_t len);

/* Undoes the bit flips of a randomised block, as written by bzip2 0.9. */
void bz2_derandomise(uint8_t *p, size_t len);

/*
 * Inverts the rotation sort in place: from the last column l[0..n), computes
 * the text, which is row `origin` of the sorted rotations.  counts contains the
 * frequency of each byte, and scratch has bz2_unsort_bytes(n) bytes.
 */
size_t bz2_unsort_bytes(size_t n);
void bz2_unsort(uint8_t *l, size_t n, size_t origin,
    const uint32_t counts[256], void *scratch);

/*
 * Computes the last column of the sorted rotations of text[0..n), and returns
 * the row of the text itself.  n is 1 or more.  text is followed by room for
 * BZ2_SORT_PAD more bytes; scratch has bz2_sort_bytes(n) bytes, aligned for any
 * type.
 */
enum { BZ2_SORT_PAD = 64 };

size_t bz2_sort_bytes(size_t n);
size_t bz2_sort(uint8_t *text, size_t n, uint8_t *last, void *scratch);

#endif

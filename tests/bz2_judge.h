/*
 * bz2_judge.h - decoding a stream block by block, and with libbz2
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_BZ2_JUDGE_H
#define COLDPRESS_TESTS_BZ2_JUDGE_H

#include "engine/bzip2/bz2_block.h"

#include <bzlib.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The result for a stream. */
struct verdict {
	bool good;
	size_t used;		/* input bytes used, if valid */
	uint8_t *out;
	size_t len, cap;
};

enum { JUDGE_PIECE = 65521 };

static inline void
judge_room(struct verdict *v)
{
	if (v->cap - v->len >= JUDGE_PIECE)
		return;
	v->cap = 2 * v->cap + 4 * JUDGE_PIECE;
	v->out = realloc(v->out, v->cap);
	if (v->out == NULL)
		abort();
}

static inline void
judge_lib(struct verdict *v, const uint8_t *in, size_t len)
{
	bz_stream s = { .next_in = (char *)(uintptr_t)in,
	    .avail_in = (unsigned)len };
	int rc;

	v->len = 0;
	if (BZ2_bzDecompressInit(&s, 0, 0) != BZ_OK)
		abort();
	do {
		judge_room(v);
		s.next_out = (char *)v->out + v->len;
		s.avail_out = JUDGE_PIECE;
		rc = BZ2_bzDecompress(&s);
		v->len += JUDGE_PIECE - s.avail_out;
	} while (rc == BZ_OK && (s.avail_in > 0 || s.avail_out == 0));
	v->good = rc == BZ_STREAM_END;
	v->used = len - s.avail_in;
	BZ2_bzDecompressEnd(&s);
}

static inline int
judge_blocks(struct bz2_decoder *d, struct verdict *v, const uint8_t *in,
    size_t len, uint64_t *bit, uint32_t *crc)
{
	int level = in[3] - '0', rc;

	while ((rc = bz2_magic_at(in, len, *bit)) == BZ2_AT_BLOCK) {
		uint32_t block_crc;
		ssize_t n;

		rc = bz2_decode_block(d, level, in, len, bit, &block_crc);
		if (rc != 0)
			return rc;
		*crc = bz2_crc_combine(*crc, block_crc);
		do {
			judge_room(v);
			n = bz2_decode_read(d, v->out + v->len, JUDGE_PIECE);
			v->len += n > 0 ? (size_t)n : 0;
		} while (n > 0);
		if (n < 0)
			return (int)n;
	}
	return rc;
}

static inline void
judge_own(struct bz2_decoder *d, struct verdict *v, const uint8_t *in,
    size_t len)
{
	uint64_t bit = 8 * BZ2_HEADER_BYTES;
	uint32_t crc = 0, stored;

	v->len = 0;
	v->good = false;
	if (len < BZ2_HEADER_BYTES || memcmp(in, "BZh", 3) != 0 ||
	    in[3] < '1' || in[3] > '9')
		return;
	if (judge_blocks(d, v, in, len, &bit, &crc) != BZ2_AT_END)
		return;
	v->good = bz2_read_trailer(in, len, &bit, &stored) == 0 &&
	    stored == crc;
	v->used = (size_t)(bit / 8);
}

/* Returns whether both agree. */
static inline bool
judge_agree(const struct verdict *a, const struct verdict *b)
{
	return a->good == b->good && (!a->good || (a->used == b->used &&
	    a->len == b->len && (a->len == 0 ||
	    memcmp(a->out, b->out, a->len) == 0)));
}

#endif

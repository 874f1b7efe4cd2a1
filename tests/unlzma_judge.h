/*
 * unlzma_judge.h - decoding LZMA2 with our decoder, two ways, and with liblzma
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_UNLZMA_JUDGE_H
#define COLDPRESS_TESTS_UNLZMA_JUDGE_H

#include "engine/lzma/unlzma.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

enum { JUDGE_ROOM = 512 << 10 };

/* What became of a stream. */
struct verdict {
	int rc;			/* 0, -EBADMSG, -ENODATA, or -EFBIG: there is
				 * too much output */
	size_t used, len;
	uint8_t *out;		/* JUDGE_ROOM bytes */
};

static inline void
judge_open(struct verdict *v)
{
	v->out = malloc(JUDGE_ROOM);
	if (v->out == NULL)
		abort();
}

static inline void
judge_lib(struct verdict *v, uint32_t dictionary, const uint8_t *in, size_t len)
{
	lzma_options_lzma o = { .dict_size = dictionary };
	lzma_filter f[2] = { { LZMA_FILTER_LZMA2, &o },
		{ LZMA_VLI_UNKNOWN, NULL } };
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret rc;

	if (lzma_raw_decoder(&s, f) != LZMA_OK)
		abort();
	s.next_in = in;
	s.avail_in = len;
	s.next_out = v->out;
	s.avail_out = JUDGE_ROOM;
	while ((rc = lzma_code(&s, LZMA_FINISH)) == LZMA_OK)
		;
	v->used = len - s.avail_in;
	v->len = JUDGE_ROOM - s.avail_out;
	v->rc = rc == LZMA_STREAM_END ? 0 : rc != LZMA_BUF_ERROR ? -EBADMSG :
	    s.avail_out == 0 ? -EFBIG : -ENODATA;
	lzma_end(&s);
}

/* The output goes to a buffer of exactly cap bytes. */
static inline void
judge_whole(struct unlzma *u, struct verdict *v, uint32_t dictionary,
    const uint8_t *in, size_t len, size_t cap)
{
	uint8_t *exact = malloc(len), *out = malloc(cap);
	int64_t n;

	if ((exact == NULL && len > 0) || (out == NULL && cap > 0))
		abort();
	if (len > 0)
		memcpy(exact, in, len);
	n = unlzma_whole(u, dictionary, exact, len, &v->used, out, cap);
	v->rc = n == -ENOBUFS ? -EFBIG : n < 0 ? (int)n : 0;
	v->len = n < 0 ? 0 : (size_t)n;
	if (v->len > 0)
		memcpy(v->out, out, v->len);
	free(out);
	free(exact);
}

/* In pieces of 1 to `most` bytes, which seed decides */
static inline void
judge_pieces(struct unlzma *u, struct verdict *v, uint32_t dictionary,
    const uint8_t *in, size_t len, size_t most, uint32_t seed)
{
	struct unlzma_io io = { .in = NULL };
	uint8_t *piece = NULL;
	size_t at = 0;

	*v = (struct verdict){ .out = v->out };
	if (unlzma_start(u, dictionary) != 0)
		abort();
	do {
		if (io.in_len == 0 && at < len) {
			seed = seed * 1664525 + 1013904223;
			io.in_len = 1 + (seed >> 8) % most;
			if (io.in_len > len - at)
				io.in_len = len - at;
			free(piece);
			piece = malloc(io.in_len);
			if (piece == NULL)
				abort();
			memcpy(piece, in + at, io.in_len);
			io.in = piece;
			at += io.in_len;
			io.eof = at == len;
		}
		io.eof = at == len;
		v->rc = unlzma_run(u, &io);
		if (io.out_len > JUDGE_ROOM - v->len) {
			v->rc = -EFBIG;
			break;
		}
		if (io.out_len > 0)
			memcpy(v->out + v->len, io.out, io.out_len);
		v->len += io.out_len;
		/* it must take all input, or give output */
		if (v->rc == STREAM_MORE && io.out_len == 0 && io.in_len > 0)
			abort();
		if (v->rc == STREAM_MORE && io.out_len == 0 && io.eof)
			abort();
	} while (v->rc == STREAM_MORE);
	v->used = at - io.in_len;
	if (v->rc == STREAM_END)
		v->rc = 0;
	free(piece);
}

static inline bool
judge_agree(const struct verdict *own, const struct verdict *lib)
{
	if (own->rc == -EFBIG || lib->rc == -EFBIG)
		return true;
	return (own->rc == 0) == (lib->rc == 0) && (own->rc != 0 ||
	    (own->used == lib->used && own->len == lib->len &&
	    memcmp(own->out, lib->out, own->len) == 0));
}

#endif

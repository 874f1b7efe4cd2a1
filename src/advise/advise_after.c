/*
 * advise_after.c - a part of a stream, compressed after what is before it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In a long stream, tables are full of what came before: matches are found
 * there, and searching takes longer than in a part by itself.  So the library
 * gets the bytes before a part as its history; the time starts when it has
 * taken them.
 */
#define ZSTD_STATIC_LINKING_ONLY	/* ZSTD_getCParams() */

#include "advise_frame.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/lzma/lzma_encode.h"
#include "engine/lzma/unlzma.h"

#include <errno.h>
#include <lzma.h>
#include <math.h>
#include <string.h>
#include <sys/types.h>
#include <zstd.h>

/* A library's way to compress after a history, and back. */
struct library {
	/* Returns the size, or -errno.  Sets t->cpu_s. */
	ssize_t (*pack)(int level, const uint8_t *data, size_t len,
	    size_t before, uint8_t *to, size_t room, struct advise_trial *t);
	/* Returns 0 if `to` receives len bytes from `packed`, or -errno.  Sets
	 * t->back_cpu_s. */
	int (*back)(int level, const uint8_t *packed, size_t size,
	    const uint8_t *history, size_t before, uint8_t *to, size_t len,
	    struct advise_trial *t);
};

/* With the parameters for a stream of unknown length, as pzc. */
static ssize_t
pack_zstd(int level, const uint8_t *data, size_t len, size_t before,
    uint8_t *to, size_t room, struct advise_trial *t)
{
	const ZSTD_compressionParameters p = ZSTD_getCParams(level, 0, 0);
	const struct {
		ZSTD_cParameter parameter;
		int value;
	} set[] = { { ZSTD_c_compressionLevel, level },
	    { ZSTD_c_windowLog, (int)p.windowLog },
	    { ZSTD_c_chainLog, (int)p.chainLog },
	    { ZSTD_c_hashLog, (int)p.hashLog },
	    { ZSTD_c_searchLog, (int)p.searchLog },
	    { ZSTD_c_minMatch, (int)p.minMatch },
	    { ZSTD_c_targetLength, (int)p.targetLength },
	    { ZSTD_c_strategy, (int)p.strategy } };
	ZSTD_CCtx *c = ZSTD_createCCtx();
	ZSTD_inBuffer in = { data, 0, 0 };
	ZSTD_outBuffer out = { to, room, 0 };
	size_t left = 1;

	if (c == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(set) / sizeof(*set); i++)
		ZSTD_CCtx_setParameter(c, set[i].parameter, set[i].value);
	/* the first call, without data, takes the history */
	if (!ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(c, len)) &&
	    !ZSTD_isError(ZSTD_CCtx_refPrefix(c, data - before, before)) &&
	    !ZSTD_isError(ZSTD_compressStream2(c, &out, &in,
	    ZSTD_e_continue))) {
		t->cpu_s = -advise_cpu_now(t);
		in.size = len;
		left = ZSTD_compressStream2(c, &out, &in, ZSTD_e_end);
		t->cpu_s += advise_cpu_now(t);
	}
	ZSTD_freeCCtx(c);
	return left != 0 ? -EIO : (ssize_t)out.pos;
}

static int
back_zstd(int level, const uint8_t *packed, size_t size,
    const uint8_t *history, size_t before, uint8_t *to, size_t len,
    struct advise_trial *t)
{
	ZSTD_DCtx *c = ZSTD_createDCtx();
	size_t n = 0;

	(void)level;
	if (c == NULL)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(c, ZSTD_d_windowLogMax, 30);
	t->back_cpu_s = -advise_cpu_now(t);
	if (!ZSTD_isError(ZSTD_DCtx_refPrefix(c, history, before)))
		n = ZSTD_decompressDCtx(c, to, len, packed, size);
	t->back_cpu_s += advise_cpu_now(t);
	ZSTD_freeDCtx(c);
	return n == len ? 0 : -EIO;
}

static ssize_t
pack_xz(int level, const uint8_t *data, size_t len, size_t before,
    uint8_t *to, size_t room, struct advise_trial *t)
{
	struct lzma2_params p;
	struct lzma2_encoder *e;
	ssize_t n;

	lzma2_params_of(&p, (unsigned)level);
	e = lzma2_encoder_new(&p);
	n = e == NULL ? -ENOMEM : lzma2_begin(e, data - before, before,
	    before + len);
	if (n == 0) {
		t->cpu_s = -advise_cpu_now(t);
		n = lzma2_finish(e, to, room);
		t->cpu_s += advise_cpu_now(t);
	}
	lzma2_encoder_free(e);
	return n;
}

/* Decodes len bytes of input, to `to` unless it is NULL.  Returns how many. */
static size_t
run_xz(struct unlzma *u, const uint8_t *in, size_t len, bool eof, uint8_t *to,
    size_t room)
{
	struct unlzma_io io = { .in = in, .in_len = len, .eof = eof };
	size_t n = 0;
	int rc = STREAM_MORE;

	while (rc == STREAM_MORE && (eof || io.in_len > 0)) {
		rc = unlzma_run(u, &io);
		if (to != NULL && io.out_len <= room - n)
			memcpy(to + n, io.out, io.out_len);
		else if (to != NULL)
			return 0;
		n += io.out_len;
	}
	return rc == (eof ? STREAM_END : STREAM_MORE) ? n : 0;
}

/* The decoder gets the history as chunks that are not compressed. */
static int
back_xz(int level, const uint8_t *packed, size_t size, const uint8_t *history,
    size_t before, uint8_t *to, size_t len, struct advise_trial *t)
{
	enum { CHUNK = 64 << 10, RESET = 1, STORED = 2 };
	struct lzma2_params p;
	struct unlzma *u = NULL;
	int rc;

	lzma2_params_of(&p, (unsigned)level);
	rc = unlzma_open(&u);
	if (rc == 0)
		rc = unlzma_start(u, p.dict_B);
	for (size_t at = 0, n; rc == 0 && at < before; at += n) {
		uint8_t head[3] = { at == 0 ? RESET : STORED };

		n = before - at < CHUNK ? before - at : CHUNK;
		store_be16(head + 1, (uint16_t)(n - 1));
		(void)run_xz(u, head, sizeof(head), false, NULL, 0);
		rc = run_xz(u, history + at, n, false, NULL, 0) == n ? 0 : -EIO;
	}
	t->back_cpu_s = -advise_cpu_now(t);
	if (rc == 0 && run_xz(u, packed, size, true, to, len) != len)
		rc = -EIO;
	t->back_cpu_s += advise_cpu_now(t);
	unlzma_close(u);
	return rc;
}

static const struct library zstd = { pack_zstd, back_zstd },
    xz = { pack_xz, back_xz };

/* Measures the way back; `to` has the part, compressed to t->size bytes. */
static int
time_part(const struct library *l, int level, const uint8_t *data, size_t len,
    size_t before, uint8_t *to, struct advise_trial *t)
{
	uint8_t *again = sys_malloc(len);
	double start;
	int rc;

	if (again == NULL)
		return -ENOMEM;
	/* these pages exist already where a coder uses a slot again */
	memset(again, 0, len);
	rc = l->back(level, to, (size_t)t->size, data - before, before, again,
	    len, t);
	start = advise_cpu_now(t);
	if (rc == 0 && lzma_crc64(data, len, 0) != lzma_crc64(again, len, 0))
		rc = -EIO;
	/* the checksum of an xz block, once each way */
	if (l == &xz) {
		start = (advise_cpu_now(t) - start) / 2;
		t->cpu_s += start;
		t->back_cpu_s += start;
	}
	sys_free(again);
	return rc;
}

int
advise_after(const struct advise_candidate *c, const uint8_t *data, size_t len,
    size_t before, struct advise_trial *t)
{
	const struct library *l = strcmp(c->format, "zstd") == 0 ? &zstd : &xz;
	size_t room = ZSTD_compressBound(len) + len / 16 + 64;
	uint8_t *to = sys_malloc(room);
	ssize_t n;
	int rc;

	if (to == NULL)
		return -ENOMEM;
	memset(to, 0, room);
	n = l->pack(c->level, data, len, before, to, room, t);
	t->size = n < 0 ? 0 : (uint64_t)n;
	rc = n < 0 ? (int)n : 0;
	if (rc == 0 && t->timed)
		rc = time_part(l, c->level, data, len, before, to, t);
	sys_free(to);
	return rc;
}

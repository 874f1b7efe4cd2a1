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

#include "base/sys.h"

#include <errno.h>
#include <lzma.h>
#include <math.h>
#include <string.h>
#include <zstd.h>

/* A library's way to compress after a history, and back. */
struct library {
	/* Returns the size; 0 if it fails.  Sets t->cpu_s. */
	size_t (*pack)(int level, const uint8_t *data, size_t len,
	    size_t before, uint8_t *to, size_t room, struct advise_trial *t);
	/* Returns whether `to` receives len bytes from `packed`. */
	bool (*back)(int level, const uint8_t *packed, size_t size,
	    const uint8_t *history, size_t before, uint8_t *to, size_t len);
};

/* With the parameters for a stream of unknown length, as pzc. */
static size_t
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
		return 0;
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
	return left != 0 ? 0 : out.pos;
}

static bool
back_zstd(int level, const uint8_t *packed, size_t size,
    const uint8_t *history, size_t before, uint8_t *to, size_t len)
{
	ZSTD_DCtx *c = ZSTD_createDCtx();
	size_t n = 0;

	(void)level;
	if (c == NULL)
		return false;
	ZSTD_DCtx_setParameter(c, ZSTD_d_windowLogMax, 30);
	if (!ZSTD_isError(ZSTD_DCtx_refPrefix(c, history, before)))
		n = ZSTD_decompressDCtx(c, to, len, packed, size);
	ZSTD_freeDCtx(c);
	return n == len;
}

/* The filter of an xz block, with a history. */
static void
xz_filters(lzma_filter filters[2], lzma_options_lzma *o, int level,
    const uint8_t *history, size_t before)
{
	lzma_lzma_preset(o, (uint32_t)level);
	o->preset_dict = history;
	o->preset_dict_size = (uint32_t)before;
	filters[0] = (lzma_filter){ LZMA_FILTER_LZMA2, o };
	filters[1] = (lzma_filter){ LZMA_VLI_UNKNOWN, NULL };
}

static size_t
pack_xz(int level, const uint8_t *data, size_t len, size_t before,
    uint8_t *to, size_t room, struct advise_trial *t)
{
	lzma_stream s = LZMA_STREAM_INIT;
	lzma_options_lzma o;
	lzma_filter filters[2];
	lzma_ret r;

	xz_filters(filters, &o, level, data - before, before);
	r = lzma_raw_encoder(&s, filters);
	s.next_in = data;
	s.avail_in = len;
	s.next_out = to;
	s.avail_out = room;
	t->cpu_s = -advise_cpu_now(t);
	if (r == LZMA_OK)
		r = lzma_code(&s, LZMA_FINISH);
	t->cpu_s += advise_cpu_now(t);
	lzma_end(&s);
	return r == LZMA_STREAM_END ? room - s.avail_out : 0;
}

static bool
back_xz(int level, const uint8_t *packed, size_t size, const uint8_t *history,
    size_t before, uint8_t *to, size_t len)
{
	lzma_options_lzma o;
	lzma_filter filters[2];
	size_t at = 0, n = 0;

	xz_filters(filters, &o, level, history, before);
	return lzma_raw_buffer_decode(filters, NULL, packed, &at, size, to, &n,
	    len) == LZMA_OK && n == len;
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
	bool same;

	if (again == NULL)
		return -ENOMEM;
	/* these pages exist already where a coder uses a slot again */
	memset(again, 0, len);
	start = advise_cpu_now(t);
	same = l->back(level, to, (size_t)t->size, data - before, before, again,
	    len);
	t->back_cpu_s = advise_cpu_now(t) - start;
	start = advise_cpu_now(t);
	same = same && lzma_crc64(data, len, 0) == lzma_crc64(again, len, 0);
	/* the checksum of an xz block, once each way */
	if (l == &xz) {
		start = (advise_cpu_now(t) - start) / 2;
		t->cpu_s += start;
		t->back_cpu_s += start;
	}
	sys_free(again);
	return same ? 0 : -EIO;
}

int
advise_after(const struct advise_candidate *c, const uint8_t *data, size_t len,
    size_t before, struct advise_trial *t)
{
	const struct library *l = strcmp(c->format, "zstd") == 0 ? &zstd : &xz;
	size_t room = ZSTD_compressBound(len) + len / 16 + 64;
	uint8_t *to = sys_malloc(room);
	int rc = 0;

	if (to == NULL)
		return -ENOMEM;
	memset(to, 0, room);
	t->size = l->pack(c->level, data, len, before, to, room, t);
	if (t->size == 0)
		rc = -EIO;
	else if (t->timed)
		rc = time_part(l, c->level, data, len, before, to, t);
	sys_free(to);
	return rc;
}

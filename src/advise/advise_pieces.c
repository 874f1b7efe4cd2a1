/*
 * advise_pieces.c - part of a layer, compressed file by file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * eStargz and zstd:chunked compress the pieces of each file by themselves, so
 * that one can be fetched without the others, and list them in an index.  What
 * follows a file, its padding and the next header, goes with its last piece
 * (lazy/pack/pack_cut.c).
 */
#include "advise_frame.h"

#include "base/sys.h"
#include "format/gzip/deflate_engine.h"
#include "format/tar/tar.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <zstd.h>

enum { GZIP_B = 18 };			/* header and trailer of a member */

/* What packs and unpacks; only one format's members are not NULL. */
struct pieces {
	struct deflate_engine *deflate;
	struct libdeflate_decompressor *inflate;
	ZSTD_CCtx *zstd;
	ZSTD_DCtx *unzstd;
	uint8_t *packed, *back;
	size_t room;
	struct advise_trial *trial;
};

/*
 * The bytes that a piece takes in the index, and in its compact form: measured
 * with layerpack on /usr/share/perl (1197 files) and /usr/lib/python3.11 (2512).
 */
static size_t
index_share(const struct pieces *s)
{
	return s->zstd != NULL ? 150 : 100;
}

static int
open_pieces(struct pieces *s, const struct advise_candidate *c, size_t len)
{
	int rc = 0;

	if (strcmp(c->format, "gzip") == 0) {
		s->room = deflate_engine_bound(len) + GZIP_B;
		rc = deflate_engine_open_steady(&s->deflate, c->level);
		s->inflate = libdeflate_alloc_decompressor();
	} else {
		s->room = ZSTD_compressBound(len);
		s->zstd = ZSTD_createCCtx();
		s->unzstd = ZSTD_createDCtx();
		if (s->zstd != NULL && ZSTD_isError(ZSTD_CCtx_setParameter(
		    s->zstd, ZSTD_c_compressionLevel, c->level)))
			return -EINVAL;
	}
	if (rc != 0)
		return rc;
	s->packed = sys_malloc(s->room);
	s->back = sys_malloc(len);
	return s->packed == NULL || s->back == NULL || (s->deflate == NULL ?
	    s->zstd == NULL || s->unzstd == NULL : s->inflate == NULL) ?
	    -ENOMEM : 0;
}

static void
close_pieces(struct pieces *s)
{
	if (s->deflate != NULL)
		deflate_engine_close(s->deflate);
	libdeflate_free_decompressor(s->inflate);
	ZSTD_freeCCtx(s->zstd);
	ZSTD_freeDCtx(s->unzstd);
	sys_free(s->packed);
	sys_free(s->back);
}

/* Compresses one piece.  Returns its size, or -EIO. */
static ssize_t
pack(struct pieces *s, const uint8_t *data, size_t len)
{
	size_t n;

	if (s->zstd == NULL)
		return deflate_engine_run(s->deflate, data, len, true,
		    s->packed, s->room);
	n = ZSTD_compress2(s->zstd, s->packed, s->room, data, len);
	return ZSTD_isError(n) ? -EIO : (ssize_t)n;
}

static bool
unpack(struct pieces *s, size_t packed, size_t len)
{
	size_t n = 0;

	if (s->zstd != NULL)
		n = ZSTD_decompressDCtx(s->unzstd, s->back, len, s->packed,
		    packed);
	else if (libdeflate_deflate_decompress(s->inflate, s->packed, packed,
	    s->back, len, &n) != LIBDEFLATE_SUCCESS)
		return false;
	return n == len;
}

static int
try_piece(struct pieces *s, const uint8_t *data, size_t len)
{
	struct advise_trial *t = s->trial;
	double start = advise_cpu_now(t);
	ssize_t n = pack(s, data, len);

	t->cpu_s += advise_cpu_now(t) - start;
	if (n < 0)
		return (int)n;
	t->size += (size_t)n + (s->zstd == NULL ? GZIP_B : 0) + index_share(s);
	if (!t->timed)
		return 0;
	start = advise_cpu_now(t);
	if (!unpack(s, (size_t)n, len))
		return -EIO;
	t->back_cpu_s += advise_cpu_now(t) - start;
	return memcmp(s->back, data, len) == 0 ? 0 : -EIO;
}

/* Returns where the data of the next file begins, or len. */
static size_t
next_file(const uint8_t *data, size_t at, size_t len)
{
	while (len - at > TAR_BLOCK) {
		int64_t size = tar_peek(data + at);

		at += TAR_BLOCK;
		if (size > 0)
			return at;
	}
	return len;
}

int
advise_try_pieces(const struct advise_candidate *c, const uint8_t *data,
    size_t len, struct advise_trial *t)
{
	struct pieces s = { .trial = t };
	int rc = open_pieces(&s, c, len);

	for (size_t at = 0; at < len && rc == 0;) {
		/* the unit may begin within a file, whose end is not known */
		int64_t size = at == 0 ? 0 : tar_peek(data + at - TAR_BLOCK);
		size_t whole = size < 0 || (uint64_t)size > len - at ?
		    len - at : (size_t)size;
		size_t skip = (whole + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
		size_t end = next_file(data, skip < len - at ? at + skip : len,
		    len);

		if (at == 0)
			whole = end;
		for (; whole > c->block && rc == 0; whole -= c->block) {
			rc = try_piece(&s, data + at, c->block);
			at += c->block;
		}
		/* the last piece, with the padding and the next header */
		if (rc == 0)
			rc = try_piece(&s, data + at, end - at);
		at = end;
	}
	close_pieces(&s);
	return rc;
}

/*
 * deflate_engine.c - compressing blocks to raw deflate, with several libraries
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Libraries are chosen by measured CPU time and size (the manual states the
 * versions).  ISA-L is best at level 1; our own encoder at levels 2 to 9, and
 * at level 1 without ISA-L; libdeflate above.  Some blocks of a binary are
 * compressed differently at levels 1 and 3: see struct grade.  zlib remains for
 * its strategies, which the others lack.
 */
#include "format/gzip/deflate_engine.h"

#include "base/sys.h"
#include "engine/deflate/deflate_blocks.h"
#include "engine/deflate/deflate_fast.h"
#include "engine/deflate/deflate_strong.h"
#include "engine/deflate/deflate_walk.h"

#include <errno.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#ifdef COLDPRESS_ISAL
#include <isa-l/igzip_lib.h>
#endif

enum library { FAST, STRONG, BINARY, LIBDEFLATE, ISAL, ZLIB };

/* Our own encoder, in its fast variant. */
struct fast {
	struct deflate_fast find;
	struct deflate_blocks blocks;
	struct deflate_seq seqs[1 << 15];
};

enum { FAST_KIB = (sizeof(struct fast) + 1023) / 1024 };

/*
 * Machine code has many bytes above 127; text, even with the headers and the
 * padding of a tar archive, has few.
 */
static bool
is_code(const uint8_t *in, size_t len)
{
	enum { SAMPLES = 4096, FEW = SAMPLES / 16 };
	size_t step = len / SAMPLES, high = 0;

	for (size_t i = 0; step > 0 && i < SAMPLES; i++)
		high += in[i * step] >> 7;
	return high >= FEW;
}

#ifdef COLDPRESS_ISAL
/*
 * Returns whether a binary contains large tables of 24-byte records, such as an
 * ELF file's relocations and symbols.  In such tables, many bytes equal the
 * byte 24 positions earlier.  The distance between samples is odd, because the
 * records are aligned.
 */
static bool
is_table(const uint8_t *in, size_t len)
{
	enum { RECORD = 24, SAMPLES = 4096, FEW = SAMPLES * 21 / 256,
	    FEW_HIGH = SAMPLES * 3 / 16 };
	size_t step = len / SAMPLES, equal = 0, high = 0;

	for (size_t i = RECORD; step > 0 && i < SAMPLES; i++) {
		const uint8_t *p = in + i * ((step - 1) | 1);

		equal += p[0] != 0 && p[0] == p[-RECORD];
		high += p[0] >> 7;
	}
	return equal >= FEW && high >= FEW_HIGH;
}
#endif

/*
 * For each pzc level: the library, and its level.  A block for which `binary`
 * returns true is compressed by our own encoder's search for binaries instead.
 * At level 3, the usual search would take a third longer to make machine code
 * 1.5 % smaller; level 4 makes that trade.  At level 1, of all the ways to
 * spend slightly more time than ISA-L does, this one saves the most
 * (doc/pzc.md).
 */
static const struct grade {
	enum library library;
	int level;
	unsigned memory_KiB;	/* that libraries allocate */
	bool (*binary)(const uint8_t *in, size_t len);
} grades[] = {
	{ LIBDEFLATE, 0, 64, NULL },
#ifdef COLDPRESS_ISAL
	{ ISAL, 2, 200, is_table },
#else
	{ FAST, 1, FAST_KIB, NULL },
#endif
	{ FAST, 2, FAST_KIB, NULL },
	{ STRONG, 3, 0, is_code },
	{ STRONG, 4, 0, NULL },
	{ STRONG, 5, 0, NULL },
	{ STRONG, 6, 0, NULL },
	{ STRONG, 7, 0, NULL },
	{ STRONG, 8, 0, NULL },
	{ STRONG, 9, 0, NULL },
	{ LIBDEFLATE, 10, 9500, NULL },
	{ LIBDEFLATE, 12, 9500, NULL },
	{ LIBDEFLATE, 12, 9500, NULL },
};

struct deflate_engine {
	const struct grade *grade;
	struct fast *fast;
	struct libdeflate_compressor *ld;
	struct deflate_strong *strong;
	z_stream z;
#ifdef COLDPRESS_ISAL
	struct isal_zstream isal;
	uint8_t *level_buf;
#endif
};

static const struct grade zlib_grade = { ZLIB, 0, 270, NULL };
static const struct grade steady_grade = { FAST, 1, FAST_KIB, NULL };

static const struct grade *
grade_for(const struct codec_options *o)
{
	return codec_number(o, "huffman") || codec_number(o, "rle") ?
	    &zlib_grade : &grades[o->level];
}

uint64_t
deflate_engine_memory(const struct codec_options *o)
{
	const struct grade *g = grade_for(o);

	return sizeof(struct deflate_engine) + (uint64_t)g->memory_KiB * 1024 +
	    (g->library == STRONG || g->binary != NULL ?
	    deflate_strong_memory() : 0);
}

/*
 * Stored blocks add at most 5 bytes per 65,535 bytes, and a sync point adds 6.
 */
size_t
deflate_engine_bound(size_t len)
{
	return len + len / 1024 + 512;
}

#ifdef COLDPRESS_ISAL
/*
 * The buffer size determines the number of tokens in a deflate block.  The
 * second smallest size gives the smallest output; with the smallest,
 * compression takes three times as long.
 */
enum { LEVEL_BUF = ISAL_DEF_LVL2_SMALL };
#endif

static int
open_engine(struct deflate_engine **out, const struct codec_options *o,
    const struct grade *grade)
{
	struct deflate_engine *e = sys_calloc(1, sizeof(*e));
	bool opened = true;
	int rc = 0;

	if (e == NULL)
		return -ENOMEM;
	e->grade = grade;
	switch (grade->library) {
	case FAST:
		e->fast = sys_malloc(sizeof(*e->fast));
		opened = e->fast != NULL;
		if (opened) {
			e->fast->find.more = grade->level > 1;
			e->fast->blocks.search = DEFLATE_FASTEST;
		}
		break;
	case LIBDEFLATE:
		e->ld = libdeflate_alloc_compressor(grade->level);
		opened = e->ld != NULL;
		break;
	case ISAL:
#ifdef COLDPRESS_ISAL
		e->level_buf = sys_malloc(LEVEL_BUF);
		opened = e->level_buf != NULL;
#endif
		break;
	case ZLIB:
		opened = deflateInit2(&e->z, o->level > 9 ? 9 : o->level,
		    Z_DEFLATED, -MAX_WBITS, 8, codec_number(o, "huffman") ?
		    Z_HUFFMAN_ONLY : Z_RLE) == Z_OK;
		break;
	case STRONG:
	case BINARY:
		rc = deflate_strong_open(&e->strong, grade->level);
		break;
	}
	if (!opened)
		rc = -ENOMEM;
	if (rc == 0 && grade->binary != NULL && e->strong == NULL)
		rc = deflate_strong_open(&e->strong, DEFLATE_STRONG_MIN);
	if (rc != 0) {
		deflate_engine_close(e);
		return rc;
	}
	*out = e;
	return 0;
}

int
deflate_engine_open(struct deflate_engine **out, const struct codec_options *o)
{
	return open_engine(out, o, grade_for(o));
}

/*
 * Avoids ISA-L, because in one process out of several thousand, version 2.30
 * makes a block one or two bytes longer or shorter than in the others.
 */
int
deflate_engine_open_steady(struct deflate_engine **out, int level)
{
	const struct codec_options o = { .level = level, .threads = 1 };
	const struct grade *g = grade_for(&o);

	return open_engine(out, &o, g->library == ISAL ? &steady_grade : g);
}

void
deflate_engine_close(struct deflate_engine *e)
{
	sys_free(e->fast);
	libdeflate_free_compressor(e->ld);
	deflate_strong_close(e->strong);
	deflateEnd(&e->z);	/* a stream that is not open is ignored */
#ifdef COLDPRESS_ISAL
	sys_free(e->level_buf);
#endif
	sys_free(e);
}

static ssize_t
run_fast(struct fast *f, const uint8_t *in, size_t len, bool last,
    uint8_t *out, size_t cap)
{
	size_t from = 0, n;

	deflate_fast_begin(&f->find, in, len);
	deflate_blocks_begin(&f->blocks, out, cap);
	while ((n = deflate_fast_find(&f->find, f->seqs,
	    sizeof(f->seqs) / sizeof(*f->seqs))) > 0) {
		int rc = deflate_blocks_add(&f->blocks, in + from, f->seqs, n);

		if (rc != 0)
			return rc;
		from = f->find.pos;
	}
	return deflate_blocks_end(&f->blocks, last);
}

static ssize_t
run_zlib(z_stream *z, const uint8_t *in, size_t len, bool last, uint8_t *out,
    size_t cap)
{
	int rc;

	deflateReset(z);
	z->next_in = (z_const Bytef *)(uintptr_t)in;
	z->avail_in = (uInt)len;
	z->next_out = out;
	z->avail_out = (uInt)cap;
	rc = deflate(z, last ? Z_FINISH : Z_SYNC_FLUSH);
	if (rc != (last ? Z_STREAM_END : Z_OK) || z->avail_out == 0)
		return -ENOBUFS;
	return (ssize_t)(cap - z->avail_out);
}

#ifdef COLDPRESS_ISAL
static ssize_t
run_isal(struct deflate_engine *e, const uint8_t *in, size_t len, bool last,
    uint8_t *out, size_t cap)
{
	struct isal_zstream *z = &e->isal;

	isal_deflate_init(z);
	z->level = (uint32_t)e->grade->level;
	z->level_buf = e->level_buf;
	z->level_buf_size = LEVEL_BUF;
	z->gzip_flag = IGZIP_DEFLATE;
	z->flush = last ? NO_FLUSH : SYNC_FLUSH;
	z->end_of_stream = last;
	z->next_in = (uint8_t *)(uintptr_t)in;
	z->avail_in = (uint32_t)len;
	z->next_out = out;
	z->avail_out = (uint32_t)cap;
	if (isal_deflate(z) != COMP_OK || z->avail_out == 0 ||
	    z->avail_in != 0)
		return -ENOBUFS;
	return (ssize_t)(cap - z->avail_out);
}
#endif

ssize_t
deflate_engine_run(struct deflate_engine *e, const uint8_t *in, size_t len,
    bool last, uint8_t *out, size_t cap)
{
	enum library library = e->grade->library;
	size_t n;

	/* always the shortest possible stream */
	if (len == 0 && last) {
		memcpy(out, "\3", 2);
		return 2;
	}
	if (e->grade->binary != NULL && e->grade->binary(in, len))
		library = BINARY;
	switch (library) {
	case FAST:
		return run_fast(e->fast, in, len, last, out, cap);
	case ZLIB:
		return run_zlib(&e->z, in, len, last, out, cap);
	case STRONG:
		return deflate_strong_run(e->strong, in, len, last, out, cap);
	case BINARY:
		return deflate_strong_run_binary(e->strong, in, len, last, out,
		    cap);
#ifdef COLDPRESS_ISAL
	case ISAL:
		return run_isal(e, in, len, last, out, cap);
#endif
	default:
		n = libdeflate_deflate_compress(e->ld, in, len, out, cap);
		if (n == 0)
			return -ENOBUFS;
		return last ? (ssize_t)n : deflate_make_nonfinal(out, n, cap);
	}
}

const char *
deflate_engine_versions(void)
{
	return
#ifdef COLDPRESS_ISAL
	    "ISA-L " COLDPRESS_ISAL_VERSION " (-1), "
	    "coldpress " COLDPRESS_VERSION " (-2 to -9, -d), "
#else
	    "coldpress " COLDPRESS_VERSION " (-1 to -9, -d), "
#endif
	    "libdeflate " LIBDEFLATE_VERSION_STRING
	    " (-0, -10 to -12, CRC-32), "
	    "zlib " ZLIB_VERSION " (-H, -U)";
}

/*
 * pack.c - compressing an image's units in one thread
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/pack.h"

#include "base/sys.h"
#include "format/gzip/deflate_engine.h"
#include "image/squashfs/format.h"
#include "image/squashfs/write/twins.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

/*
 * A block is not compressed if a quick attempt saves less than this fraction.
 * The attempt is not made if a sample of the block shows that it would succeed.
 */
enum {
	PROBE_SHARE = 128,
	PROBE_LEVEL = 1,
	SAMPLE_PIECE_B = 512,
	SAMPLE_PIECES = 16
};

struct sqw_pack {
	const struct sqw_data_options *o;
	struct sqw_codec *codec;
	ZSTD_CCtx *probe;		/* NULL if no attempt is made */
};

/* Returns whether the level is slow compared with a quick attempt. */
static bool
is_slow(const struct sqw_data_options *o)
{
	if (o->block <= SQUASHFS_META_B)
		return false;
	switch (o->method->compressor) {
	case SQUASHFS_ZSTD:
	case SQUASHFS_GZIP:
		return o->level >= 5;
	case SQUASHFS_LZ4:
		return strcmp(o->method->name, "lz4hc") == 0;
	default:
		return o->method->compressor != 0;
	}
}

size_t
sqw_pack_room(const struct sqw_data_options *o)
{
	return deflate_engine_bound(o->block);
}

int
sqw_pack_open(struct sqw_pack **out, const struct sqw_data_options *o)
{
	struct sqw_pack *k = sys_calloc(1, sizeof(*k));
	int rc = k == NULL ? -ENOMEM : sqw_codec_open(&k->codec, o->method,
	    o->level, o->block, o->dictionary, sqw_maker(o));

	*out = k;
	if (k != NULL)
		k->o = o;
	if (rc == 0 && !o->no_probe && !o->exact && !o->gensquashfs &&
	    is_slow(o)) {
		k->probe = ZSTD_createCCtx();
		rc = k->probe == NULL ? -ENOMEM : 0;
	}
	return rc;
}

void
sqw_pack_close(struct sqw_pack *k)
{
	if (k == NULL)
		return;
	sqw_codec_close(k->codec);
	ZSTD_freeCCtx(k->probe);
	sys_free(k);
}

/*
 * Returns whether some bytes are so much more frequent than others that an
 * entropy coder saves more than one byte in PROBE_SHARE: whether the squares of
 * a sample's frequencies add up to 5/4 of what they do if all are the same.
 * In 8 KiB of random bytes it is 1.03 of it.
 */
static bool
is_uneven(const uint8_t *in, size_t len)
{
	size_t piece = len / SAMPLE_PIECES < SAMPLE_PIECE_B ?
	    len / SAMPLE_PIECES : SAMPLE_PIECE_B;
	uint32_t counts[256] = { 0 };
	uint64_t squares = 0, n = piece * SAMPLE_PIECES;

	for (size_t i = 0; i < SAMPLE_PIECES; i++, in += len / SAMPLE_PIECES)
		for (size_t k = 0; k < piece; k++)
			counts[in[k]]++;
	for (size_t i = 0; i < 256; i++)
		squares += (uint64_t)counts[i] * counts[i];
	return squares * 256 * 4 > n * n * 5;
}

size_t
sqw_pack_block(struct sqw_pack *k, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t n;

	/* a quick attempt shows whether compression saves too little */
	if (k->probe != NULL && !is_uneven(in, len)) {
		n = ZSTD_compressCCtx(k->probe, out, cap, in, len,
		    PROBE_LEVEL);
		if (!ZSTD_isError(n) && n > len - len / PROBE_SHARE)
			return 0;
	}
	return sqw_codec_pack(k->codec, in, len, out, cap);
}

int
sqw_pack_unit(struct sqw_pack *k, struct slot *s)
{
	struct squashfs_notes *note = squashfs_notes(s);
	bool raw = note->raw || (note->is_fragment ? k->o->raw_fragments :
	    k->o->raw_data);
	uint32_t word = 0;
	uint64_t at;
	size_t n = 0;
	int rc;

	note->copied = false;

	if (s->in.len == 0 || (!note->is_fragment && !k->o->no_sparse &&
	    sqw_content_is_zero(s->in.data, s->in.len)))
		return 0;
	if (buf_reserve(&s->out, sqw_pack_room(k->o)) != 0)
		return -ENOMEM;
	if (!raw && k->o->known != NULL && k->o->known->find(k->o->known->arg,
	    s->in.data, s->in.len, &at, &word)) {
		note->copied = true;
		if ((word & SQUASHFS_BLOCK_RAW) == 0) {
			n = word;
			rc = k->o->known->read(k->o->known->arg, at,
			    s->out.data, n);
			if (rc != 0)
				return rc;
		}
	} else if (!raw)
		n = sqw_pack_block(k, s->in.data, s->in.len, s->out.data,
		    s->out.cap);
	s->out.len = n;
	note->word = (uint32_t)n;
	if (n == 0) {
		struct buf swap = s->out;

		s->out = s->in;
		s->in = swap;
		note->word = (uint32_t)s->out.len | SQUASHFS_BLOCK_RAW;
	}
	return 0;
}

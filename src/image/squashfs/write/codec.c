/*
 * codec.c - compressing blocks of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/packer/packer.h"
#include "format/gzip/deflate_engine.h"
#include "format/xz.h"
#include "image/squashfs/format.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdio.h>
#include <string.h>

enum {
	DICTIONARY_MIN = 4096, GENSQUASHFS_DICTIONARY_MIN = 8192,
	ZLIB_HEAD_B = 2, ZLIB_TAIL_B = 4
};

/* Values in the compressor options. */
enum { LZ4_VERSION = 1, LZ4_HC = 1, GZIP_WINDOW = 15, LZO1X_999 = 4 };

static const struct sqw_method methods[] = {
	{ "gzip", SQUASHFS_GZIP, 1, 12, 9, false },
	{ "zstd", SQUASHFS_ZSTD, 1, 22, 15, false },
	{ "lz4", SQUASHFS_LZ4, 0, 0, 0, false },
	{ "lz4hc", SQUASHFS_LZ4, 0, 0, 0, false },
	{ "xz", SQUASHFS_XZ, 0, (1 << SQW_FILTERS) - 1, 0, true },
#ifdef COLDPRESS_LZO
	{ "lzo", SQUASHFS_LZO, 1, 9, 8, false },
#endif
	{ "none", 0, 0, 0, 0, false },
};

enum { METHODS = sizeof(methods) / sizeof(*methods) };

struct sqw_codec {
	struct deflate_engine *deflate;
	struct packer *packer;
	uint32_t block;
	bool exact, larger;
	/*
	 * xz by our own encoder; or by liblzma, with filters or with a
	 * dictionary of another size
	 */
	struct lzma2_encoder *lzma2;
	bool tried;
	bool tunes;			/* as mksquashfs since 4.6 */
	uint32_t filters;		/* bits as in the compressor options */
	lzma_options_lzma lzma;
	uint8_t *other;			/* output of what is being tried */
	size_t other_cap;
};

const struct sqw_method *
sqw_method_by_name(const char *name)
{
	for (size_t i = 0; i < METHODS; i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

const char *
sqw_method_names(void)
{
	return "gzip zstd lz4 lz4hc xz "
#ifdef COLDPRESS_LZO
	    "lzo "
#endif
	    "none";
}

const char *const sqw_filters[SQW_FILTERS] = { "x86", "powerpc", "ia64",
    "arm", "armthumb", "sparc" };

size_t
sqw_settings(const struct sqw_method *m, int level, uint32_t block,
    uint8_t s[SQW_SETTINGS_MAX])
{
	memset(s, 0, SQW_SETTINGS_MAX);
	if (m->compressor == SQUASHFS_LZ4) {
		store_le32(s, LZ4_VERSION);
		store_le32(s + 4, strcmp(m->name, "lz4hc") == 0 ? LZ4_HC : 0);
		return 8;
	}
	if (level == m->level_default || m->compressor == 0)
		return 0;
	switch (m->compressor) {
	case SQUASHFS_GZIP:	/* the format has no levels above 9 */
		store_le32(s, level > 9 ? 9 : (uint32_t)level);
		store_le16(s + 4, GZIP_WINDOW);
		return 8;
	case SQUASHFS_ZSTD:
		store_le32(s, (uint32_t)level);
		return 4;
	case SQUASHFS_XZ:	/* the dictionary is as large as a block */
		store_le32(s, block);
		store_le32(s + 4, (uint32_t)level);
		return 8;
	case SQUASHFS_LZO:
		store_le32(s, LZO1X_999);
		store_le32(s + 4, (uint32_t)level);
		return 8;
	default:
		return 0;
	}
}

size_t
sqw_settings_more(const struct sqw_method *m, int level, uint32_t block,
    uint32_t dictionary, unsigned strategies, uint8_t s[SQW_SETTINGS_MAX])
{
	size_t n = sqw_settings(m, level, block, s);

	if (m->filters && dictionary != 0 && dictionary != block) {
		store_le32(s, dictionary);
		store_le32(s + 4, (uint32_t)level);
		return 8;
	}
	if (m->compressor == SQUASHFS_GZIP && strategies != 0) {
		store_le32(s, level > 9 ? 9 : (uint32_t)level);
		store_le16(s + 4, GZIP_WINDOW);
		store_le16(s + 6, (uint16_t)strategies);
		return 8;
	}
	return n;
}

/*
 * Compares the settings with those that sqw_settings_more() writes for each
 * method and level, so the two functions cannot diverge.
 */
static int
find_settings(int compressor, const uint8_t *settings, size_t len,
    uint32_t block, uint32_t dictionary, unsigned strategies,
    const struct sqw_method **out, int *level)
{
	uint8_t s[SQW_SETTINGS_MAX];

	for (const struct sqw_method *m = methods; m < methods + METHODS; m++)
		for (*level = m->level_min; m->compressor == compressor &&
		    *level <= m->level_max; ++*level)
			if (sqw_settings_more(m, *level, block, dictionary,
			    strategies, s) == len &&
			    (len == 0 || memcmp(s, settings, len) == 0)) {
				*out = m;
				return 0;
			}
	return -ENOTSUP;
}

int
sqw_settings_read(int compressor, const uint8_t *settings, size_t len,
    uint32_t block, const struct sqw_method **out, int *level)
{
	return find_settings(compressor, settings, len, block, 0, 0, out,
	    level);
}

int
sqw_settings_read_more(int compressor, const uint8_t *settings, size_t len,
    uint32_t block, const struct sqw_method **out, int *level,
    uint32_t *dictionary, unsigned *strategies)
{
	uint32_t unit;

	*dictionary = 0;
	*strategies = 0;
	if (compressor == SQUASHFS_XZ && len == 8) {
		*dictionary = load_le32(settings);
		unit = *dictionary & -*dictionary;
		/* what liblzma can be asked for: 2^n or 3 * 2^n */
		/* gensquashfs gives smaller blocks 8 KiB */
		if (*dictionary < DICTIONARY_MIN ||
		    (*dictionary > block &&
		    *dictionary != GENSQUASHFS_DICTIONARY_MIN) ||
		    (*dictionary / unit != 1 && *dictionary / unit != 3))
			return -ENOTSUP;
		if (*dictionary == block)
			*dictionary = 0;
	} else if (compressor == SQUASHFS_GZIP && len == 8) {
		*strategies = load_le16(settings + 6);
		if (*strategies >= 1U << SQW_STRATEGIES)
			return -ENOTSUP;
	}
	return find_settings(compressor, settings, len, block, *dictionary,
	    *strategies, out, level);
}

/* Opens what pack_xz() uses.  Returns 0 or -ENOMEM. */
static int
open_xz(struct sqw_codec *c, uint32_t filters, uint32_t dictionary)
{
	struct lzma2_params p;

	c->tried = true;
	c->tunes = c->exact;
	c->filters = filters;
	if (lzma_lzma_preset(&c->lzma, LZMA_PRESET_DEFAULT))
		return -ENOMEM;
	c->lzma.dict_size = dictionary != 0 ? dictionary : c->block <
	    DICTIONARY_MIN ? DICTIONARY_MIN : c->block;
	c->other_cap = xz_small_bound(c->block);
	c->other = sys_malloc(c->other_cap);
	if (!c->exact) {
		lzma2_params_of(&p, LZMA_PRESET_DEFAULT);
		p.dict_B = c->lzma.dict_size;
		/* enough for liblzma's size; filters are for the smallest */
		if (filters == 0)
			p.depth = p.dict_B < 1 << 20 ? 32 : 24;
		c->lzma2 = lzma2_encoder_new(&p);
		if (c->lzma2 == NULL ||
		    lzma2_encoder_reserve(c->lzma2, c->block) != 0)
			return -ENOMEM;
	}
	return c->other == NULL ? -ENOMEM : 0;
}

int
sqw_codec_open(struct sqw_codec **out, const struct sqw_method *m, int level,
    uint32_t block, uint32_t dictionary, enum sqw_maker maker)
{
	bool exact = maker != SQW_OURS;
	struct sqw_codec *c = sys_calloc(1, sizeof(*c));
	struct packer_name name;
	char text[sizeof(name.text)];
	int rc = 0;

	if (c == NULL)
		return -ENOMEM;
	c->block = block;
	c->exact = exact;
	c->larger = maker == SQW_GENSQUASHFS &&
	    m->compressor == SQUASHFS_LZ4;
	if (m->compressor == SQUASHFS_GZIP && !exact) {
		rc = deflate_engine_open_steady(&c->deflate, level);
	} else if (m->filters && (!exact || level != 0 || dictionary != 0)) {
		rc = open_xz(c, (uint32_t)level, dictionary);
	} else if (m->compressor != 0) {
		if (m->level_min == m->level_max || m->filters)
			snprintf(text, sizeof(text), "%s", m->name);
		else
			snprintf(text, sizeof(text), "%s-%d", m->name, level);
		rc = packer_by_name(maker == SQW_GENSQUASHFS &&
		    m->compressor == SQUASHFS_LZO ?
		    packers_gensquashfs : packers_squashfs, text, &name) != 0 ?
		    -EINVAL : packer_open(&c->packer, &name, block);
	}
	if (rc != 0) {
		sqw_codec_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

void
sqw_codec_close(struct sqw_codec *c)
{
	if (c == NULL)
		return;
	if (c->deflate != NULL)
		deflate_engine_close(c->deflate);
	packer_close(c->packer);
	lzma2_encoder_free(c->lzma2);
	sys_free(c->other);
	sys_free(c);
}

/* Compresses to RFC 1950: a two-byte header, and an Adler-32 at the end. */
static size_t
pack_deflate(struct sqw_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	ssize_t n;

	if (cap < ZLIB_HEAD_B + ZLIB_TAIL_B)
		return 0;
	n = deflate_engine_run(c->deflate, in, len, true, out + ZLIB_HEAD_B,
	    cap - ZLIB_HEAD_B - ZLIB_TAIL_B);
	if (n < 0)
		return 0;
	out[0] = 0x78;
	out[1] = 0xda;
	store_be32(out + ZLIB_HEAD_B + n, libdeflate_adler32(1, in, len));
	return ZLIB_HEAD_B + (size_t)n + ZLIB_TAIL_B;
}

/*
 * Compresses with one filter, or without a filter for LZMA_VLI_UNKNOWN.
 * Returns 0 if the output does not fit.
 */
static size_t
encode_filtered(struct sqw_codec *c, lzma_vli id, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	lzma_options_lzma lzma = c->lzma;
	lzma_filter filters[] = { { id, NULL },
		{ LZMA_FILTER_LZMA2, &lzma },
		{ LZMA_VLI_UNKNOWN, NULL } };
	size_t n = 0;

	/* instructions are aligned to 2, 4 and 16 bytes */
	if (c->tunes && id == LZMA_FILTER_ARMTHUMB) {
		lzma.lp = 1;
	} else if (c->tunes && (id == LZMA_FILTER_POWERPC ||
	    id == LZMA_FILTER_ARM || id == LZMA_FILTER_SPARC)) {
		lzma.lp = lzma.lc = 2;
	} else if (c->tunes && id == LZMA_FILTER_IA64) {
		lzma.pb = lzma.lp = 4;
		lzma.lc = 0;
	}

	return lzma_stream_buffer_encode(filters + (id == LZMA_VLI_UNKNOWN),
	    LZMA_CHECK_CRC32, NULL, in, len, out, &n, cap) == LZMA_OK ? n : 0;
}

/* Compresses with our encoder or, exactly as others do, with liblzma. */
static size_t
encode_plain(struct sqw_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	size_t n;

	if (c->lzma2 == NULL)
		return encode_filtered(c, LZMA_VLI_UNKNOWN, in, len, out, cap);
	n = xz_encode_small(c->lzma2, c->lzma.dict_size, in, len, c->other,
	    c->other_cap);
	if (n > cap)
		return 0;
	memcpy(out, c->other, n);
	return n;
}

/*
 * As in mksquashfs, a block is compressed without a filter and with each
 * selected filter, and the smallest result is kept.  A filter that wins only
 * because liblzma found better matches than our encoder is not needed: then
 * liblzma without a filter does as well, for readers that know no filters.
 */
static size_t
pack_xz(struct sqw_codec *c, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	/* indexed by the bit in the compressor options */
	static const lzma_vli ids[SQW_FILTERS] = { LZMA_FILTER_X86,
		LZMA_FILTER_POWERPC, LZMA_FILTER_IA64, LZMA_FILTER_ARM,
		LZMA_FILTER_ARMTHUMB, LZMA_FILTER_SPARC };
	size_t most = cap < len ? cap : len - 1;
	size_t best = encode_plain(c, in, len, out, most), n;
	bool filtered = false;

	for (unsigned i = 0; i < SQW_FILTERS; i++) {
		n = (c->filters & 1U << i) == 0 ? 0 :
		    encode_filtered(c, ids[i], in, len, c->other,
		    best == 0 ? most : best - 1);
		if (n > 0) {
			memcpy(out, c->other, n);
			best = n;
			filtered = true;
		}
	}
	if (!filtered || c->lzma2 == NULL)
		return best;
	n = encode_filtered(c, LZMA_VLI_UNKNOWN, in, len, c->other, best);
	if (n > 0) {
		memcpy(out, c->other, n);
		best = n;
	}
	return best;
}

size_t
sqw_codec_pack(struct sqw_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap)
{
	size_t n;

	if (c->deflate != NULL) {
		n = pack_deflate(c, in, len, out, cap);
		return n < len ? n : 0;
	}
	if (c->tried)
		return pack_xz(c, in, len, out, cap);
	if (c->packer == NULL)
		return 0;
	/*
	 * zstd may fail for want of room although its output would be shorter;
	 * mksquashfs always gives it a whole block
	 */
	n = packer_pack(c->packer, in, len, c->exact ? c->block :
	    cap < len ? cap : len);
	if (n >= len && (!c->larger || n > cap))
		return 0;
	memcpy(out, packer_out(c->packer), n);
	return n;
}

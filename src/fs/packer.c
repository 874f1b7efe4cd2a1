/*
 * packer.c - what filesystems compress a block with
 * SPDX-License-Identifier: BSD-2-Clause
 */
#define ZSTD_STATIC_LINKING_ONLY	/* frames without a magic number */

#include "packer.h"

#include "args.h"
#include "lzjb.h"
#include "sys.h"
#include "zle.h"

#include <errno.h>
#include <lz4.h>
#include <stdbool.h>
#include <string.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

struct packer {
	const struct packer_kind *kind;
	void *state;
	size_t room;
	uint8_t out[];
};

/* gzip: a zlib stream; one deflater serves all blocks */

static void *
gzip_open(int level, size_t most)
{
	z_stream *z = sys_calloc(1, sizeof(*z));

	(void)most;
	if (z != NULL && deflateInit(z, level) != Z_OK) {
		sys_free(z);
		return NULL;
	}
	return z;
}

static void
gzip_close(void *state)
{
	if (state != NULL)
		deflateEnd(state);
	sys_free(state);
}

static size_t
gzip_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	z_stream *z = state;

	deflateReset(z);
	z->next_in = in;
	z->avail_in = (uInt)len;
	z->next_out = out;
	z->avail_out = (uInt)cap;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

/* lz4: a block, without a frame */

static void *
lz4_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc((size_t)LZ4_sizeofState());
}

static size_t
lz4_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	int n = LZ4_compress_fast_extState(state, (const char *)in,
	    (char *)out, (int)len, (int)cap, 1);

	return n > 0 ? (size_t)n : 0;
}

/* zstd: a frame without magic number, size and checksum */

static void *
zstd_open(int level, size_t most)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	(void)most;
	if (c == NULL ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_format,
	    ZSTD_f_zstd1_magicless)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel,
	    level)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 0)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag,
	    0))) {
		ZSTD_freeCCtx(c);
		return NULL;
	}
	return c;
}

static void
zstd_close(void *state)
{
	ZSTD_freeCCtx(state);
}

static size_t
zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t n = ZSTD_compress2(state, out, cap, in, len);

	return ZSTD_isError(n) ? 0 : n;
}

/* lzjb and zle, our own */

static void *
lzjb_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc(LZJB_TABLE * sizeof(uint16_t));
}

static size_t
lzjb_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	return lzjb_compress(in, len, out, cap, state);
}

static void *
zle_open(int level, size_t most)
{
	(void)level;
	(void)most;
	return sys_malloc(1);
}

static size_t
zle_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	(void)state;
	return zle_compress(in, len, out, cap);
}

const struct packer_kind packer_kinds[] = {
	{ "lzjb", 0, 0, 0, lzjb_open, sys_free, lzjb_pack },
	{ "zle", 0, 0, 0, zle_open, sys_free, zle_pack },
	{ "lz4", 0, 0, 0, lz4_open, sys_free, lz4_pack },
	{ "gzip", 1, 9, 6, gzip_open, gzip_close, gzip_pack },
	{ "zstd-fast", -1000, -1, -1, zstd_open, zstd_close, zstd_pack },
	{ "zstd", 1, 19, 3, zstd_open, zstd_close, zstd_pack },
	{ .name = NULL }
};

/* Names */

/* The level behind the kind's name; or -EINVAL. */
static int
take_level(const struct packer_kind *k, const char *text, int *level)
{
	bool minus = k->level_least < 0;
	int64_t n = k->level_default, lo = k->level_least,
	    hi = k->level_most;

	if (*text == '-' && lo != hi) {
		int rc = args_int(text + 1, minus ? -hi : lo, minus ? -lo : hi,
		    &n);

		if (rc != 0)
			return -EINVAL;
		n = minus ? -n : n;
	} else if (*text != '\0') {
		return -EINVAL;
	}
	*level = (int)n;
	return 0;
}

int
packer_by_name(const char *text, struct packer_name *name)
{
	*name = (struct packer_name){ .kind = NULL };
	if (strlen(text) >= sizeof(name->text))
		return -EINVAL;
	strcpy(name->text, text);
	if (strcmp(text, "off") == 0)
		return 0;
	for (const struct packer_kind *k = packer_kinds; k->name != NULL;
	    k++) {
		size_t n = strlen(k->name);

		if (strncmp(text, k->name, n) == 0 &&
		    take_level(k, text + n, &name->level) == 0) {
			name->kind = k;
			return 0;
		}
	}
	return -EINVAL;
}

/* One of them */

int
packer_open(struct packer **out, const struct packer_name *name, size_t most)
{
	struct packer *p;

	*out = NULL;
	if (name->kind == NULL)
		return 0;
	p = sys_malloc(sizeof(*p) + most);
	if (p == NULL)
		return -ENOMEM;
	*p = (struct packer){ .kind = name->kind, .room = most };
	p->state = p->kind->open(name->level, most);
	if (p->state == NULL) {
		sys_free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void
packer_close(struct packer *p)
{
	if (p != NULL)
		p->kind->close(p->state);
	sys_free(p);
}

size_t
packer_pack(struct packer *p, const uint8_t *in, size_t len, size_t cap)
{
	return p->kind->pack(p->state, in, len, p->out,
	    cap < p->room ? cap : p->room);
}

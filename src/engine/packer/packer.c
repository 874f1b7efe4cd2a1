/*
 * packer.c - the block compressors used by filesystems, by name, and ZFS's
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/packer/packer.h"

#include "base/args.h"
#include "base/sys.h"
#include "engine/other/zfs_blocks.h"
#include "engine/packer/packer_kinds.h"

#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>
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

struct zstd_packer {
	ZSTD_CCtx *c;
	int level;
};

/* What a packer works with that needs nothing but a table. */
union packer_table {
	uint16_t lzjb[LZJB_TABLE];
	uint32_t zfs_lz4[LZ4_ZFS_TABLE];
	LZ4_stream_t lz4;
	LZ4_streamHC_t lz4hc;
};

void *
packer_table_open(const struct packer_name *name, size_t most)
{
	(void)name;
	(void)most;
	return sys_malloc(sizeof(union packer_table));
}

/* zlib streams, with one deflater for all blocks */

void *
packer_zlib_open(const struct packer_name *name, size_t most)
{
	z_stream *z = sys_calloc(1, sizeof(*z));

	(void)most;
	if (z != NULL && deflateInit(z, name->level) != Z_OK) {
		sys_free(z);
		return NULL;
	}
	return z;
}

void
packer_zlib_close(void *state)
{
	if (state != NULL)
		deflateEnd(state);
	sys_free(state);
}

size_t
packer_zlib_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	z_stream *z = state;

	deflateReset(z);
	z->next_in = in;
	z->avail_in = (uInt)len;
	z->next_out = out;
	z->avail_out = (uInt)cap;
	return deflate(z, Z_FINISH) == Z_STREAM_END ? z->total_out : 0;
}

/* zstd: frames that record their size; the level is passed for each block */

void *
packer_zstd_open(const struct packer_name *name, size_t most)
{
	struct zstd_packer *z = sys_malloc(sizeof(*z));

	(void)most;
	if (z == NULL)
		return NULL;
	*z = (struct zstd_packer){ ZSTD_createCCtx(), name->level };
	if (z->c != NULL)
		return z;
	sys_free(z);
	return NULL;
}

void
packer_zstd_close(void *state)
{
	struct zstd_packer *z = state;

	ZSTD_freeCCtx(z->c);
	sys_free(z);
}

size_t
packer_zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	const struct zstd_packer *z = state;
	size_t n = ZSTD_compressCCtx(z->c, out, cap, in, len, z->level);

	return ZSTD_isError(n) ? 0 : n;
}

/* ZFS's lzjb, zle and lz4: our own */

static size_t
lzjb_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	return lzjb_compress(in, len, out, cap, state);
}

static size_t
zle_pack(void *state, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	(void)state;
	return zle_compress(in, len, out, cap, 0);
}

static size_t
zfs_zle_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	(void)state;
	return zle_compress(in, len, out, cap, ZLE_SPARE);
}

static size_t
zfs_lz4_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	return lz4_zfs_compress(in, len, out, cap, state);
}

/* The tables */

const struct packer_kind packers_zfs[] = {
	{ "lzjb", 0, 0, 0, packer_table_open, sys_free, lzjb_pack },
	{ "zle", 0, 0, 0, packer_table_open, sys_free, zfs_zle_pack },
	{ "lz4", 0, 0, 0, packer_table_open, sys_free, zfs_lz4_pack },
	{ "gzip", 1, 9, 6, packer_zlib_open, packer_zlib_close,
	    packer_zlib_pack },
	{ "zstd-fast", -1000, -1, -1, packer_zfs_zstd_open,
	    packer_zfs_zstd_close, packer_zfs_zstd_pack },
	{ "zstd", 1, 19, 3, packer_zfs_zstd_open, packer_zfs_zstd_close,
	    packer_zfs_zstd_pack },
	{ .name = NULL }
};

const struct packer_kind packers_zfs_fuse[] = {
	{ "lzjb", 0, 0, 0, packer_table_open, sys_free, lzjb_pack },
	{ "zle", 0, 0, 0, packer_table_open, sys_free, zle_pack },
	{ "gzip", 1, 9, 6, packer_zlib_open, packer_zlib_close,
	    packer_zlib_pack },
	{ .name = NULL }
};

int
packer_by_name(const struct packer_kind *kinds, const char *text,
    struct packer_name *name)
{
	*name = (struct packer_name){ .kind = NULL };
	if (strlen(text) >= sizeof(name->text))
		return -EINVAL;
	strcpy(name->text, text);
	if (strcmp(text, "off") == 0)
		return 0;
	for (const struct packer_kind *k = kinds; k->name != NULL; k++) {
		size_t n = strlen(k->name);
		bool minus = k->level_min < 0;
		int64_t level = k->level_default;
		int lo = k->level_min, hi = k->level_max;

		if (strncmp(text, k->name, n) != 0)
			continue;
		if (text[n] == '-' && lo != hi) {
			if (args_int(text + n + 1, minus ? -hi : lo,
			    minus ? -lo : hi, &level) != 0)
				continue;
			level = minus ? -level : level;
		} else if (text[n] != '\0') {
			continue;
		}
		name->level = (int)level;
		name->kind = k;
		return 0;
	}
	return -EINVAL;
}

int
packer_open(struct packer **out, const struct packer_name *name, size_t most)
{
	struct packer *p;

	*out = NULL;
	if (name->kind == NULL)
		return 0;
	p = sys_malloc(sizeof(*p) + most + PACKER_ZSTD_SLACK);
	if (p == NULL)
		return -ENOMEM;
	*p = (struct packer){ .kind = name->kind, .room = most };
	p->state = p->kind->open(name, most);
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

const uint8_t *
packer_out(const struct packer *p)
{
	return p->out;
}

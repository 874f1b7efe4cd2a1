/*
 * packer.c - the block compressors used by filesystems, by name
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/packer/packer.h"

#include "base/args.h"
#include "base/sys.h"
#include "engine/packer/packer_kinds.h"

#include <errno.h>
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

/* Shared by several tables */

void *
packer_zlib_open(int level, size_t most)
{
	z_stream *z = sys_calloc(1, sizeof(*z));

	(void)most;
	if (z != NULL && deflateInit(z, level) != Z_OK) {
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

void *
packer_zstd_open(int level, size_t most)
{
	struct packer_zstd *z = sys_calloc(1, sizeof(*z));

	(void)most;
	if (z == NULL)
		return NULL;
	z->level = level;
	z->c = ZSTD_createCCtx();
	if (z->c == NULL) {
		packer_zstd_close(z);
		return NULL;
	}
	return z;
}

void
packer_zstd_close(void *state)
{
	struct packer_zstd *z = state;

	if (z != NULL)
		ZSTD_freeCCtx(z->c);
	sys_free(z);
}

size_t
packer_zstd_pack(void *state, const uint8_t *in, size_t len, uint8_t *out,
    size_t cap)
{
	const struct packer_zstd *z = state;
	size_t n = ZSTD_compressCCtx(z->c, out, cap, in, len, z->level);

	return ZSTD_isError(n) ? 0 : n;
}

/* Names */

/* Returns the level that follows the kind's name, or -EINVAL. */
static int
take_level(const struct packer_kind *k, const char *text, int *level)
{
	bool minus = k->level_min < 0;
	int64_t n = k->level_default, lo = k->level_min,
	    hi = k->level_max;

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
packer_by_name(const struct packer_kind *kinds, const char *text,
    struct packer_name *name)
{
	*name = (struct packer_name){ .kind = NULL };
	if (strlen(text) >= sizeof(name->text))
		return -EINVAL;
	strcpy(name->text, text);
	if (strcmp(text, "off") == 0)
		return 0;
	for (const struct packer_kind *k = kinds; k->name != NULL;
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

/* A single packer */

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

const uint8_t *
packer_out(const struct packer *p)
{
	return p->out;
}

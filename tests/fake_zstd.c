/*
 * fake_zstd.c - a library with the interface of zstd, for --libzstd
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It compresses nothing, but returns a size that depends on the level only,
 * provided that it is used as OpenZFS uses zstd 1.4.5: with a new context, and
 * these four parameters alone, for each record, and with room for whole sectors
 * less the header.  VERSION is its version, and LESS leaves out a function.
 */
#include <stddef.h>
#include <stdlib.h>

#ifndef VERSION
#define VERSION 10405
#endif

enum { FORMAT = 10, LEVEL = 100, CONTENT_SIZE = 200, CHECKSUM = 201 };
enum { HEADER = 8, SECTOR = 512, PER_LEVEL = 1000, AT_ZERO = 20000 };

struct context {
	int format, level, content_size, checksum, wrong, used;
};

struct parameters {
	unsigned of[7];
};

unsigned ZSTD_versionNumber(void);
unsigned ZSTD_isError(size_t code);
struct context *ZSTD_createCCtx(void);
size_t ZSTD_freeCCtx(struct context *c);
size_t ZSTD_CCtx_reset(struct context *c, int what);
size_t ZSTD_CCtx_setParameter(struct context *c, int what, int value);
size_t ZSTD_CCtx_refPrefix(struct context *c, const void *p, size_t len);
size_t ZSTD_compressBound(size_t len);
size_t ZSTD_compress2(struct context *c, void *out, size_t cap, const void *in,
    size_t len);

unsigned
ZSTD_versionNumber(void)
{
	return VERSION;
}

unsigned
ZSTD_isError(size_t code)
{
	return code == (size_t)-1;
}

struct context *
ZSTD_createCCtx(void)
{
	struct context *c = calloc(1, sizeof(*c));

	if (c != NULL)
		*c = (struct context){ -1, 0, -1, -1, 0, 0 };
	return c;
}

size_t
ZSTD_freeCCtx(struct context *c)
{
	free(c);
	return 0;
}

size_t
ZSTD_CCtx_reset(struct context *c, int what)
{
	(void)what;
	c->wrong = 1;
	return 0;
}

size_t
ZSTD_CCtx_setParameter(struct context *c, int what, int value)
{
	int *to = what == FORMAT ? &c->format : what == LEVEL ? &c->level :
	    what == CONTENT_SIZE ? &c->content_size :
	    what == CHECKSUM ? &c->checksum : &c->wrong;

	*to = to == &c->wrong ? 1 : value;
	return 0;
}

size_t
ZSTD_CCtx_refPrefix(struct context *c, const void *p, size_t len)
{
	(void)p;
	(void)len;
	c->wrong = 1;
	return 0;
}

/* The real library has this, too, but with another result. */
size_t
ZSTD_compressBound(size_t level)
{
	return AT_ZERO + level * PER_LEVEL;
}

size_t
ZSTD_compress2(struct context *c, void *out, size_t cap, const void *in,
    size_t len)
{
	size_t n = ZSTD_compressBound((size_t)c->level);

	(void)out;
	(void)in;
	(void)len;
	return c->wrong || c->used++ || c->format != 1 ||
	    c->content_size != 0 || c->checksum != 0 ||
	    (cap + HEADER) % SECTOR != 0 || n > cap ? (size_t)-1 : n;
}

#ifndef LESS
struct parameters ZSTD_getCParams(int level, unsigned long long len,
    size_t dictionary);

struct parameters
ZSTD_getCParams(int level, unsigned long long len, size_t dictionary)
{
	(void)level;
	(void)len;
	(void)dictionary;
	return (struct parameters){ { 0 } };
}
#endif

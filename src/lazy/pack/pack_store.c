/*
 * pack_store.c - text kept for later, compressed in memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_store.h"

#include <errno.h>

/*
 * Base-2 logarithms that limit an encoder to a 4 MiB window and 2 MiB of
 * tables.
 */
enum { WINDOW_LOG = 22, HASH_LOG = 18, CHAIN_LOG = 18, ROOM = 128 << 10 };

ZSTD_CCtx *
pack_store_encoder(int level, int window, int hash, int chain)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	if (c == NULL)
		return NULL;
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, window);
	ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, hash);
	ZSTD_CCtx_setParameter(c, ZSTD_c_chainLog, chain);
	return c;
}

int
pack_store_open(struct pack_store *s, int level)
{
	*s = (struct pack_store){ .encoder = pack_store_encoder(level,
		WINDOW_LOG, HASH_LOG, CHAIN_LOG) };
	return s->encoder == NULL ? -ENOMEM : 0;
}

void
pack_store_close(struct pack_store *s)
{
	ZSTD_freeCCtx(s->encoder);
	s->encoder = NULL;
	strbuf_free(&s->frame);
}

static int
compress_text(struct pack_store *s, ZSTD_inBuffer *in, ZSTD_EndDirective mode)
{
	size_t left;

	do {
		char *room = strbuf_room(&s->frame, ROOM);
		ZSTD_outBuffer out = { room, ROOM, 0 };

		if (room == NULL)
			return -ENOMEM;
		left = ZSTD_compressStream2(s->encoder, &out, in, mode);
		if (ZSTD_isError(left))
			return -ENOMEM;
		s->frame.len += out.pos;
	} while (in->pos < in->size || (mode == ZSTD_e_end && left > 0));
	return 0;
}

int
pack_store_add(struct pack_store *s, const void *data, size_t len)
{
	ZSTD_inBuffer in = { data, len, 0 };

	s->content += len;
	return compress_text(s, &in, ZSTD_e_continue);
}

int
pack_store_end(struct pack_store *s)
{
	ZSTD_inBuffer in = { NULL, 0, 0 };
	int rc = compress_text(s, &in, ZSTD_e_end);

	ZSTD_freeCCtx(s->encoder);
	s->encoder = NULL;
	return rc;
}

int
pack_reader_open(struct pack_reader *r, const struct pack_store *s)
{
	*r = (struct pack_reader){ .decoder = ZSTD_createDCtx(),
		.in = { s->frame.data, s->frame.len, 0 } };
	return r->decoder == NULL ? -ENOMEM : 0;
}

void
pack_reader_close(struct pack_reader *r)
{
	ZSTD_freeDCtx(r->decoder);
}

int
pack_reader_next(struct pack_reader *r, void *buf, size_t size, size_t *n)
{
	ZSTD_outBuffer out = { buf, size, 0 };
	size_t before;

	do {
		before = out.pos + r->in.pos;
		/* for our own frame, the only possible error is -ENOMEM */
		if (ZSTD_isError(ZSTD_decompressStream(r->decoder, &out,
		    &r->in)))
			return -ENOMEM;
	} while (out.pos < size && out.pos + r->in.pos > before);
	*n = out.pos;
	return 0;
}

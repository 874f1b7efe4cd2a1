/*
 * pack_trace.c - storing a second copy of the data touched at startup
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "pack_order.h"
#include "lazy/toc/toc_trace.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	PIECE = 256 << 10,
	SMALL = 8 << 20,		/* up to this size, the highest level is
					 * used */
	SMALL_LEVEL = 19, LARGE_LEVEL = 9,
	/* limits the encoder to less than 40 MiB of memory */
	HASH_LOG = 20, CHAIN_LOG = 21
};

struct trace {
	struct pack *p;
	ZSTD_CCtx *encoder;
	struct digest *digest;		/* digest of the output */
	uint8_t *in, *out;
	size_t out_len;			/* bytes not wrapped yet */
};

static int
flush(struct trace *t)
{
	int rc = t->out_len == 0 ? 0 : pack_out_wrapped(t->p, t->out,
	    t->out_len);

	t->out_len = 0;
	return rc;
}

static int
encode_trace(struct trace *t, const void *data, size_t len, bool last)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t max = t->p->wrapping->max, left;
	int rc = 0;

	do {
		ZSTD_outBuffer out = { t->out, max, t->out_len };

		left = ZSTD_compressStream2(t->encoder, &out, &in,
		    last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return -ENOMEM;
		t->out_len = out.pos;
		if (out.pos == max || (last && left == 0))
			rc = flush(t);
	} while (rc == 0 && (in.pos < in.size || (last && left > 0)));
	return rc;
}

static int
write_records(struct trace *t, const struct pack_touch *touches, size_t count)
{
	uint8_t record[TRACE_RECORD];
	int rc;

	store_le32(record, (uint32_t)count);
	rc = encode_trace(t, record, 4, false);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		store_le32(record, touches[i].entry);
		store_le64(record + 4, touches[i].offset);
		store_le64(record + 12, touches[i].length);
		rc = encode_trace(t, record, sizeof(record), false);
	}
	return rc;
}

static int
write_data(struct trace *t, const struct pack_touch *touch)
{
	uint64_t at = touch->at, left = touch->length;
	int rc = 0;

	while (rc == 0 && left > 0) {
		size_t n = left < PIECE ? (size_t)left : PIECE;

		rc = pack_order_read(t->p->order, at, t->in, n);
		if (rc == 0)
			rc = encode_trace(t, t->in, n, false);
		at += n;
		left -= n;
	}
	return rc;
}

static int
open_encoder(struct trace *t, uint64_t content)
{
	int level = content <= SMALL ? SMALL_LEVEL : LARGE_LEVEL;

	t->encoder = ZSTD_createCCtx();
	t->in = sys_malloc(PIECE);
	t->out = sys_malloc(t->p->wrapping->max);
	if (t->encoder == NULL || t->in == NULL || t->out == NULL)
		return -ENOMEM;
	ZSTD_CCtx_setParameter(t->encoder, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(t->encoder, ZSTD_c_windowLog,
	    TRACE_WINDOW_LOG);
	ZSTD_CCtx_setParameter(t->encoder, ZSTD_c_hashLog, HASH_LOG);
	ZSTD_CCtx_setParameter(t->encoder, ZSTD_c_chainLog, CHAIN_LOG);
	ZSTD_CCtx_setPledgedSrcSize(t->encoder, content);
	return 0;
}

static int
write_pieces(struct trace *t, const struct pack_touch *touches, size_t count)
{
	int rc = write_records(t, touches, count);

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = write_data(t, &touches[i]);
	return rc != 0 ? rc : encode_trace(t, NULL, 0, true);
}

int
pack_trace_write(struct pack *p, uint8_t digest[LAYER_DIGEST])
{
	struct trace t = { .p = p };
	struct pack_result *r = p->r;
	uint64_t content = 4, at = p->out.at;
	uint8_t whole[DIGEST_MAX];
	size_t count;
	const struct pack_touch *touches = pack_order_touches(p->order,
	    &count);
	int rc;

	if (count == 0)
		return 0;
	for (size_t i = 0; i < count; i++)
		content += TRACE_RECORD + touches[i].length;
	rc = count > TRACE_RECORDS_MAX ? -EFBIG : open_encoder(&t, content);
	if (rc == 0)
		rc = digest_new(&t.digest, p->sha256);
	if (rc == 0)
		rc = digest_start(t.digest);
	p->out.also = t.digest;
	if (rc == 0)
		rc = write_pieces(&t, touches, count);
	p->out.also = NULL;
	if (rc == 0)
		rc = digest_end(t.digest, whole);
	if (rc == 0) {
		memcpy(digest, whole, LAYER_DIGEST);
		r->trace_offset = at;
		r->trace_length = p->out.at - at;
		r->trace_content = content;
	}
	ZSTD_freeCCtx(t.encoder);
	digest_free(t.digest);
	sys_free(t.in);
	sys_free(t.out);
	return rc;
}

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
	uint8_t *out;
	size_t out_len;			/* bytes not wrapped yet */
};

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
		if (out.pos == max || (last && left == 0)) {
			rc = out.pos == 0 ? 0 :
			    pack_out_wrapped(t->p, t->out, out.pos);
			t->out_len = 0;
		}
	} while (rc == 0 && (in.pos < in.size || (last && left > 0)));
	return rc;
}

int
pack_trace_write(struct pack *p, uint8_t digest[LAYER_DIGEST])
{
	struct trace t = { .p = p };
	struct pack_result *r = p->r;
	uint64_t content = 4, from = p->out.at;
	uint8_t whole[DIGEST_MAX], record[TRACE_RECORD];
	size_t count;
	const struct pack_touch *touches = pack_order_touches(p->order,
	    &count);
	uint8_t *in = NULL;
	int rc;

	if (count == 0)
		return 0;
	if (count > TRACE_RECORDS_MAX)
		return -EFBIG;
	for (size_t i = 0; i < count; i++)
		content += TRACE_RECORD + touches[i].length;
	t.encoder = pack_store_encoder(content <= SMALL ? SMALL_LEVEL :
	    LARGE_LEVEL, TRACE_WINDOW_LOG, HASH_LOG, CHAIN_LOG);
	t.out = sys_malloc(p->wrapping->max);
	in = sys_malloc(PIECE);
	rc = t.encoder == NULL || in == NULL || t.out == NULL ? -ENOMEM :
	    digest_new_sha256(&p->out.also);
	if (rc == 0)
		rc = digest_start(p->out.also);
	if (rc != 0)
		goto out;
	ZSTD_CCtx_setPledgedSrcSize(t.encoder, content);

	store_le32(record, (uint32_t)count);
	rc = encode_trace(&t, record, 4, false);
	for (size_t i = 0; rc == 0 && i < count; i++) {
		store_le32(record, touches[i].entry);
		store_le64(record + 4, touches[i].offset);
		store_le64(record + 12, touches[i].length);
		rc = encode_trace(&t, record, sizeof(record), false);
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		uint64_t at = touches[i].at, left = touches[i].length;

		while (rc == 0 && left > 0) {
			size_t n = left < PIECE ? (size_t)left : PIECE;

			rc = pack_order_read(p->order, at, in, n);
			if (rc == 0)
				rc = encode_trace(&t, in, n, false);
			at += n;
			left -= n;
		}
	}
	if (rc == 0)
		rc = encode_trace(&t, NULL, 0, true);
	if (rc == 0)
		rc = digest_end(p->out.also, whole);
	if (rc == 0) {
		memcpy(digest, whole, LAYER_DIGEST);
		r->trace_offset = from;
		r->trace_length = p->out.at - from;
		r->trace_content = content;
	}
out:
	ZSTD_freeCCtx(t.encoder);
	digest_free(p->out.also);
	p->out.also = NULL;
	sys_free(in);
	sys_free(t.out);
	return rc;
}

/*
 * pack_out.c - appending bytes to a layer, counting and hashing them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/base64.h"
#include "base/fdio.h"
#include "base/hex.h"

int
pack_out_write(struct pack_out *out, const void *data, size_t len)
{
	int rc = digest_add(out->digest, data, len);

	if (rc == 0 && out->also != NULL)
		rc = digest_add(out->also, data, len);
	out->at += len;
	return rc != 0 ? rc : fdio_write(out->fd, data, len);
}

int
pack_out_wrapped(struct pack *p, const void *data, size_t len)
{
	uint8_t around[TOC_WRAPPING_AROUND];
	int rc;

	p->wrapping->head(around, len);
	rc = pack_out_write(&p->out, around, p->wrapping->before);
	if (rc == 0)
		rc = pack_out_write(&p->out, data, len);
	p->wrapping->tail(around);
	return rc != 0 ? rc : pack_out_write(&p->out, around,
	    p->wrapping->after);
}

void
pack_put_digest(struct strbuf *b, const uint8_t digest[LAYER_DIGEST])
{
	char text[HEX_SHA256];

	hex_write_sha256(text, digest);
	strbuf_str(b, text);
}

void
pack_put_base64(struct strbuf *b, const void *data, size_t len)
{
	char *to;

	strbuf_char(b, '"');
	to = strbuf_room(b, base64_len(len) + 1);
	if (to == NULL)
		return;
	base64_write(to, data, len);
	b->len += base64_len(len);
	strbuf_char(b, '"');
}

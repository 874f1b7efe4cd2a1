/*
 * sha256.c - computing SHA-256 digests, one or two at a time
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sha256.h"

#include "base/bytes.h"

#include <string.h>

void
sha256_start(struct sha256 *s)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372,
		0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->h, start, sizeof(s->h));
	s->len = 0;
}

/* Adds the beginning of a piece that does not fill a block by itself. */
static void
take_head(struct sha256_piece *p)
{
	struct sha256 *s = p->s;
	size_t have = s->len % SHA256_BLOCK, n = SHA256_BLOCK - have;

	if (have == 0)
		return;
	if (n > p->len)
		n = p->len;
	memcpy(s->part + have, p->data, n);
	if (have + n == SHA256_BLOCK)
		sha256_blocks(s->h, s->part, 1);
	s->len += n;
	p->data += n;
	p->len -= n;
}

/* Adds the end of a piece whose blocks are done. */
static void
take_rest(struct sha256_piece *p)
{
	if (p->len == 0)
		return;
	memcpy(p->s->part, p->data, p->len);
	p->s->len += p->len;
	p->data += p->len;
	p->len = 0;
}

static void
pass(struct sha256_piece *p, size_t blocks)
{
	p->s->len += blocks * SHA256_BLOCK;
	p->data += blocks * SHA256_BLOCK;
	p->len -= blocks * SHA256_BLOCK;
}

static void
take_blocks(struct sha256_piece *p)
{
	size_t n = p->len / SHA256_BLOCK;

	sha256_blocks(p->s->h, p->data, n);
	pass(p, n);
}

void
sha256_add(struct sha256 *s, const void *data, size_t len)
{
	struct sha256_piece p = { s, data, len };

	take_head(&p);
	take_blocks(&p);
	take_rest(&p);
}

void
sha256_add_two(struct sha256_piece *p, struct sha256_piece *q)
{
	size_t n;

	take_head(p);
	take_head(q);
	n = (p->len < q->len ? p->len : q->len) / SHA256_BLOCK;
	sha256_blocks_of_two(p->s->h, p->data, q->s->h, q->data, n);
	pass(p, n);
	pass(q, n);
	if (p->len < SHA256_BLOCK)
		take_rest(p);
	if (q->len < SHA256_BLOCK)
		take_rest(q);
}

void
sha256_end(struct sha256 *s, uint8_t out[SHA256_B])
{
	uint8_t pad[2 * SHA256_BLOCK] = { 0 };
	size_t have = s->len % SHA256_BLOCK;
	/* the padding needs room for a bit and the be64 bit count */
	size_t n = have + 9 > SHA256_BLOCK ? 2 : 1;

	memcpy(pad, s->part, have);
	pad[have] = 0x80;
	store_be64(pad + n * SHA256_BLOCK - 8, s->len * 8);
	sha256_blocks(s->h, pad, n);
	for (int i = 0; i < 8; i++)
		store_be32(out + 4 * i, s->h[i]);
}

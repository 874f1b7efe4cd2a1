/*
 * sha256.c - computing SHA-256 digests, one or several at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Without SHA instructions, single digests are computed with OpenSSL's block
 * function.
 */
#define OPENSSL_SUPPRESS_DEPRECATED	/* for SHA256_Update() */

#include "sha256.h"

#include "base/bytes.h"

#include <openssl/sha.h>
#include <string.h>

enum {
	NI_LANES = 2,
	AVX2_LANES = 8,
	AVX2_LEAST = 3		/* with fewer pieces, one at a time is faster */
};

const uint32_t sha256_k[SHA256_BLOCK] __attribute__((aligned(32))) = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5,
	0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
	0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
	0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5,
	0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

unsigned
sha256_lanes(void)
{
	if (sha256_ni_usable())
		return NI_LANES;
	return sha256_avx2_usable() ? AVX2_LANES : 0;
}

void
sha256_start(struct sha256 *s)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372,
		0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->h, start, sizeof(s->h));
	s->len = 0;
}

/* Blocks */

/*
 * OpenSSL's EVP interface neither accepts nor returns the state between blocks;
 * the older interface does.
 */
static void
by_openssl(uint32_t h[8], const uint8_t *p, size_t count)
{
	SHA256_CTX c = { .num = 0 };

	memcpy(c.h, h, sizeof(c.h));
	SHA256_Update(&c, p, count * SHA256_BLOCK);
	memcpy(h, c.h, sizeof(c.h));
}

static void
single(struct sha256 *s, const uint8_t *p, size_t count)
{
	if (s->lanes == NI_LANES)
		sha256_ni_blocks(s->h, p, count);
	else
		by_openssl(s->h, p, count);
}

/* Unused lanes repeat the work of the first lane. */
static void
eight(struct sha256_piece *const p[], unsigned count, size_t blocks)
{
	uint32_t unused[SHA256_LANES_MAX][8], *h[SHA256_LANES_MAX];
	const uint8_t *data[SHA256_LANES_MAX];

	for (unsigned i = 0; i < SHA256_LANES_MAX; i++) {
		h[i] = i < count ? p[i]->s->h : unused[i];
		data[i] = p[i < count ? i : 0]->data;
		if (i >= count)
			memcpy(unused[i], p[0]->s->h, sizeof(unused[i]));
	}
	sha256_avx2_eight(h, data, blocks);
}

static void
add_blocks(struct sha256_piece *const p[], unsigned count, size_t blocks)
{
	unsigned lanes = p[0]->s->lanes;

	if (lanes == NI_LANES && count == 2)
		sha256_ni_two(p[0]->s->h, p[0]->data, p[1]->s->h, p[1]->data,
		    blocks);
	else if (lanes == AVX2_LANES && count >= AVX2_LEAST)
		eight(p, count, blocks);
	else
		for (unsigned i = 0; i < count; i++)
			single(p[i]->s, p[i]->data, blocks);
}

/* Pieces */

static void
pass(struct sha256_piece *p, size_t bytes)
{
	p->s->len += bytes;
	p->data += bytes;
	p->len -= bytes;
}

/* Adds the start of a piece to an incomplete block. */
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
		single(s, s->part, 1);
	pass(p, n);
}

/* Adds the rest of a piece, once its whole blocks have been added. */
static void
take_rest(struct sha256_piece *p)
{
	if (p->len == 0 || p->len >= SHA256_BLOCK)
		return;
	memcpy(p->s->part, p->data, p->len);
	pass(p, p->len);
}

void
sha256_add_many(struct sha256_piece *const p[], unsigned count)
{
	size_t blocks = SIZE_MAX;

	for (unsigned i = 0; i < count; i++) {
		take_head(p[i]);
		if (p[i]->len / SHA256_BLOCK < blocks)
			blocks = p[i]->len / SHA256_BLOCK;
	}
	if (blocks > 0)
		add_blocks(p, count, blocks);
	for (unsigned i = 0; i < count; i++) {
		pass(p[i], blocks * SHA256_BLOCK);
		take_rest(p[i]);
	}
}

void
sha256_add(struct sha256 *s, const void *data, size_t len)
{
	struct sha256_piece p = { s, data, len }, *all[] = { &p };

	sha256_add_many(all, 1);
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
	single(s, pad, n);
	for (int i = 0; i < 8; i++)
		store_be32(out + 4 * i, s->h[i]);
}

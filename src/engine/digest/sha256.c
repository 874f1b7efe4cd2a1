/*
 * sha256.c - computing SHA-256 digests, one or several at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: FIPS 180-4, section 6.2; Intel, "Intel SHA Extensions".  Without SHA
 * instructions, single digests are computed with OpenSSL's block function.
 */
#define OPENSSL_SUPPRESS_DEPRECATED	/* for SHA256_Update() */

#include "sha256.h"

#include "base/bytes.h"
#include "base/cpu.h"

#include <openssl/sha.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

enum {
	NI_LANES = 2,
	AVX2_LANES = 8,
	AVX2_LEAST = 3		/* with fewer pieces, one at a time is faster */
};

#if defined(__x86_64__)

/* The round constants. */
static const uint32_t sha256_k[SHA256_BLOCK] __attribute__((aligned(32))) = {
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

/*
 * The SHA instructions take the eight words of the state as (A, B, E, F) and
 * (C, D, G, H), the first in the highest position, and do two rounds each.
 * SHA256RNDS2 has a latency of about four cycles, and one can start every two
 * cycles.  The next one for the same digest has to wait for the result, but one
 * for another digest does not.
 */

#define NI __attribute__((target("sha,ssse3,sse4.1")))
#define NI_INLINE static inline __attribute__((always_inline)) NI

struct ni_state {
	__m128i abef, cdgh;
};

/* The last sixteen words of the message schedule, four per vector. */
struct ni_words {
	__m128i w[4];
};

bool
sha256_ni_usable(void)
{
	enum { SSSE3 = 1 << 9, SSE4_1 = 1 << 19, SHA = 1 << 29 };
	unsigned a, b, c, d;

	if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & SSSE3) == 0 ||
	    (c & SSE4_1) == 0)
		return false;
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
	    (b & SHA) != 0;
}

NI_INLINE struct ni_state
load_state(const uint32_t h[8])
{
	__m128i dcba = _mm_loadu_si128((const void *)h);
	__m128i hgfe = _mm_loadu_si128((const void *)(h + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
	__m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);

	return (struct ni_state){ _mm_alignr_epi8(cdab, efgh, 8),
	    _mm_blend_epi16(efgh, cdab, 0xf0) };
}

NI_INLINE void
store_state(uint32_t h[8], struct ni_state s)
{
	__m128i feba = _mm_shuffle_epi32(s.abef, 0x1b);
	__m128i dchg = _mm_shuffle_epi32(s.cdgh, 0xb1);

	_mm_storeu_si128((void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

NI_INLINE struct ni_words
ni_load_words(const uint8_t *p)
{
	const __m128i be32 = _mm_set_epi64x(0x0c0d0e0f08090a0b,
	    0x0405060700010203);
	struct ni_words m;

	for (int i = 0; i < 4; i++)
		m.w[i] = _mm_shuffle_epi8(_mm_loadu_si128(
		    (const void *)(p + 16 * i)), be32);
	return m;
}

/*
 * Performs rounds 4 i to 4 i + 3, and computes the words needed 16 rounds
 * later.
 */
NI_INLINE void
four_rounds(struct ni_state *s, struct ni_words *m, int i)
{
	__m128i w = m->w[i % 4], last = m->w[(i + 3) % 4], k;

	k = _mm_add_epi32(w, _mm_load_si128((const void *)(sha256_k + 4 * i)));
	s->cdgh = _mm_sha256rnds2_epu32(s->cdgh, s->abef, k);
	s->abef = _mm_sha256rnds2_epu32(s->abef, s->cdgh,
	    _mm_shuffle_epi32(k, 0x0e));
	if (i >= 12)
		return;
	w = _mm_sha256msg1_epu32(w, m->w[(i + 1) % 4]);
	w = _mm_add_epi32(w, _mm_alignr_epi8(last, m->w[(i + 2) % 4], 4));
	m->w[i % 4] = _mm_sha256msg2_epu32(w, last);
}

NI_INLINE void
add_state(struct ni_state *s, struct ni_state before)
{
	s->abef = _mm_add_epi32(s->abef, before.abef);
	s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

/* Adds blocks at p to h. */
static NI void
ni_blocks(uint32_t h[8], const uint8_t *p, size_t count)
{
	struct ni_state s = load_state(h);

	for (; count > 0; count--, p += SHA256_BLOCK) {
		struct ni_state before = s;
		struct ni_words m = ni_load_words(p);

#pragma GCC unroll 16
		for (int i = 0; i < 16; i++)
			four_rounds(&s, &m, i);
		add_state(&s, before);
	}
	store_state(h, s);
}

/* Adds as many blocks at p and q to two digests. */
static NI void
ni_two(uint32_t h[8], const uint8_t *p, uint32_t i[8],
    const uint8_t *q, size_t count)
{
	struct ni_state s = load_state(h), t = load_state(i);

	for (; count > 0; count--, p += SHA256_BLOCK, q += SHA256_BLOCK) {
		struct ni_state s_before = s, t_before = t;
		struct ni_words m = ni_load_words(p), n = ni_load_words(q);

#pragma GCC unroll 16
		for (int k = 0; k < 16; k++) {
			four_rounds(&s, &m, k);
			four_rounds(&t, &n, k);
		}
		add_state(&s, s_before);
		add_state(&t, t_before);
	}
	store_state(h, s);
	store_state(i, t);
}

/* With AVX2, each vector holds one word of all eight digests. */

#define AVX2_INLINE EACH WITH_AVX2

/* One word of each digest. */
typedef uint32_t lanes __attribute__((vector_size(32)));

bool
sha256_avx2_usable(void)
{
	return have_avx2();
}

AVX2_INLINE lanes
rotate(lanes x, int n)
{
	return x >> n | x << (32 - n);
}

/* Transposes an 8 by 8 matrix: row i becomes column i. */
AVX2_INLINE void
transpose(lanes m[8])
{
	__m256i r[8], t[8];

	for (int i = 0; i < 8; i++)
		r[i] = (__m256i)m[i];
	for (int i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
	}
	for (int i = 0; i < 8; i += 4)
		for (int k = 0; k < 2; k++) {
			r[i + 2 * k] = _mm256_unpacklo_epi64(t[i + k],
			    t[i + k + 2]);
			r[i + 2 * k + 1] = _mm256_unpackhi_epi64(t[i + k],
			    t[i + k + 2]);
		}
	for (int i = 0; i < 4; i++) {
		m[i] = (lanes)_mm256_permute2x128_si256(r[i], r[i + 4], 0x20);
		m[i + 4] = (lanes)_mm256_permute2x128_si256(r[i], r[i + 4],
		    0x31);
	}
}

/* Loads eight words of each block, starting at byte `at`. */
AVX2_INLINE void
avx2_load_words(lanes w[8], const uint8_t *const p[8], size_t at)
{
	const __m256i be32 = _mm256_broadcastsi128_si256(_mm_set_epi64x(
	    0x0c0d0e0f08090a0b, 0x0405060700010203));

	for (int i = 0; i < 8; i++)
		w[i] = (lanes)_mm256_shuffle_epi8(_mm256_loadu_si256(
		    (const void *)(p[i] + at)), be32);
	transpose(w);
}

/* Computes the word of the message schedule that replaces w[i]. */
AVX2_INLINE void
schedule(lanes w[16], int i)
{
	lanes a = w[(i + 1) % 16], b = w[(i + 14) % 16];

	w[i] += (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[(i + 9) % 16] +
	    (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
}

/*
 * Performs round i.  The words of the state are not moved; the first is s[-i %
 * 8].
 */
AVX2_INLINE void
one_round(lanes s[8], lanes w, uint32_t constant, int i)
{
	lanes a = s[-i & 7], b = s[(1 - i) & 7], c = s[(2 - i) & 7];
	lanes e = s[(4 - i) & 7], f = s[(5 - i) & 7], g = s[(6 - i) & 7];
	lanes *d = &s[(3 - i) & 7], *h = &s[(7 - i) & 7];
	lanes t = *h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
	    (g ^ (e & (f ^ g))) + (w + constant);

	*d += t;
	*h = t + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
	    ((a & b) | (c & (a | b)));
}

AVX2_INLINE void
one_block(lanes s[8], const uint8_t *const p[8])
{
	lanes before[8], w[16];

	for (int i = 0; i < 8; i++)
		before[i] = s[i];
	avx2_load_words(w, p, 0);
	avx2_load_words(w + 8, p, 32);
	for (int k = 0; k < SHA256_BLOCK; k += 16) {
#pragma GCC unroll 16
		for (int i = 0; i < 16; i++) {
			one_round(s, w[i], sha256_k[k + i], i);
			if (k < 48)
				schedule(w, i);
		}
	}
	for (int i = 0; i < 8; i++)
		s[i] += before[i];
}

/*
 * Adds count blocks at each p[i] to h[i].  The eight pieces may overlap; the
 * digests may not.
 */
WITH_AVX2 static void
avx2_eight(uint32_t *const h[8], const uint8_t *const p[8],
    size_t count)
{
	const uint8_t *at[8];
	lanes s[8];

	for (int i = 0; i < 8; i++) {
		at[i] = p[i];
		s[i] = (lanes)_mm256_loadu_si256((const void *)h[i]);
	}
	transpose(s);
	for (; count > 0; count--) {
		one_block(s, at);
		for (int i = 0; i < 8; i++)
			at[i] += SHA256_BLOCK;
	}
	transpose(s);
	for (int i = 0; i < 8; i++)
		_mm256_storeu_si256((void *)h[i], (__m256i)s[i]);
}

/*
 * Adds blocks of up to `lanes` pieces.  Returns false if OpenSSL is faster.
 */
static bool
by_vectors(struct sha256_piece *const p[], unsigned count, size_t blocks)
{
	uint32_t unused[SHA256_LANES_MAX][8], *h[SHA256_LANES_MAX];
	const uint8_t *data[SHA256_LANES_MAX];

	if (p[0]->s->lanes == NI_LANES) {
		if (count == 2)
			ni_two(p[0]->s->h, p[0]->data, p[1]->s->h, p[1]->data,
			    blocks);
		else
			ni_blocks(p[0]->s->h, p[0]->data, blocks);
		return true;
	}
	if (count < AVX2_LEAST)
		return false;
	/* unused lanes repeat the work of the first */
	for (unsigned i = 0; i < SHA256_LANES_MAX; i++) {
		h[i] = i < count ? p[i]->s->h : unused[i];
		data[i] = p[i < count ? i : 0]->data;
		if (i >= count)
			memcpy(unused[i], p[0]->s->h, sizeof(unused[i]));
	}
	avx2_eight(h, data, blocks);
	return true;
}

#else

bool
sha256_ni_usable(void)
{
	return false;
}

bool
sha256_avx2_usable(void)
{
	return false;
}

static bool
by_vectors(struct sha256_piece *const p[], unsigned count, size_t blocks)
{
	(void)p;
	(void)count;
	(void)blocks;
	return false;
}

#endif

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

/*
 * OpenSSL's EVP interface neither accepts nor returns the state between blocks;
 * the older interface does.
 */
static void
add_blocks(struct sha256_piece *const p[], unsigned count, size_t blocks)
{
	if (by_vectors(p, count, blocks))
		return;
	for (unsigned i = 0; i < count; i++) {
		SHA256_CTX c = { .num = 0 };

		memcpy(c.h, p[i]->s->h, sizeof(c.h));
		SHA256_Update(&c, p[i]->data, blocks * SHA256_BLOCK);
		memcpy(p[i]->s->h, c.h, sizeof(c.h));
	}
}

static void
add_own(struct sha256 *s, const uint8_t *data, size_t blocks)
{
	struct sha256_piece p = { s, data, 0 }, *all[] = { &p };

	add_blocks(all, 1, blocks);
}

static void
advance(struct sha256_piece *p, size_t bytes)
{
	p->s->len += bytes;
	p->data += bytes;
	p->len -= bytes;
}

void
sha256_add_many(struct sha256_piece *const p[], unsigned count)
{
	size_t blocks = SIZE_MAX;

	/* the starts of the pieces complete blocks */
	for (unsigned i = 0; i < count; i++) {
		struct sha256 *s = p[i]->s;
		size_t have = s->len % SHA256_BLOCK, n = SHA256_BLOCK - have;

		if (n > p[i]->len)
			n = p[i]->len;
		if (have > 0) {
			memcpy(s->part + have, p[i]->data, n);
			if (have + n == SHA256_BLOCK)
				add_own(s, s->part, 1);
			advance(p[i], n);
		}
		if (p[i]->len / SHA256_BLOCK < blocks)
			blocks = p[i]->len / SHA256_BLOCK;
	}
	if (blocks > 0)
		add_blocks(p, count, blocks);
	/* what is left of a piece that ends waits for the next */
	for (unsigned i = 0; i < count; i++) {
		advance(p[i], blocks * SHA256_BLOCK);
		if (p[i]->len == 0 || p[i]->len >= SHA256_BLOCK)
			continue;
		memcpy(p[i]->s->part, p[i]->data, p[i]->len);
		advance(p[i], p[i]->len);
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
	add_own(s, pad, n);
	for (int i = 0; i < 8; i++)
		store_be32(out + 4 * i, s->h[i]);
}

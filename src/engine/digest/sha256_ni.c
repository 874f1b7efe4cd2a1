/*
 * sha256_ni.c - SHA-256 with x86's SHA instructions
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: FIPS 180-4, section 6.2; Intel, "Intel SHA Extensions".  The
 * instructions take the eight words of the state as (A, B, E, F) and (C, D, G,
 * H), the first in the highest position, and do two rounds each.
 *
 * SHA256RNDS2 has a latency of about four cycles, and one can start every two
 * cycles.  The next one for the same digest has to wait for the result, but one
 * for another digest does not.
 */
#include "sha256.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define NI __attribute__((target("sha,ssse3,sse4.1")))
#define NI_INLINE static inline __attribute__((always_inline)) NI

struct state {
	__m128i abef, cdgh;
};

/* The last sixteen words of the message schedule, four per vector. */
struct words {
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

NI_INLINE struct state
load_state(const uint32_t h[8])
{
	__m128i dcba = _mm_loadu_si128((const void *)h);
	__m128i hgfe = _mm_loadu_si128((const void *)(h + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1);
	__m128i efgh = _mm_shuffle_epi32(hgfe, 0x1b);

	return (struct state){ _mm_alignr_epi8(cdab, efgh, 8),
	    _mm_blend_epi16(efgh, cdab, 0xf0) };
}

NI_INLINE void
store_state(uint32_t h[8], struct state s)
{
	__m128i feba = _mm_shuffle_epi32(s.abef, 0x1b);
	__m128i dchg = _mm_shuffle_epi32(s.cdgh, 0xb1);

	_mm_storeu_si128((void *)h, _mm_blend_epi16(feba, dchg, 0xf0));
	_mm_storeu_si128((void *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

NI_INLINE struct words
load_words(const uint8_t *p)
{
	const __m128i be32 = _mm_set_epi64x(0x0c0d0e0f08090a0b,
	    0x0405060700010203);
	struct words m;

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
four_rounds(struct state *s, struct words *m, int i)
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
add_state(struct state *s, struct state before)
{
	s->abef = _mm_add_epi32(s->abef, before.abef);
	s->cdgh = _mm_add_epi32(s->cdgh, before.cdgh);
}

NI void
sha256_ni_blocks(uint32_t h[8], const uint8_t *p, size_t count)
{
	struct state s = load_state(h);

	for (; count > 0; count--, p += SHA256_BLOCK) {
		struct state before = s;
		struct words m = load_words(p);

#pragma GCC unroll 16
		for (int i = 0; i < 16; i++)
			four_rounds(&s, &m, i);
		add_state(&s, before);
	}
	store_state(h, s);
}

NI void
sha256_ni_two(uint32_t h[8], const uint8_t *p, uint32_t i[8],
    const uint8_t *q, size_t count)
{
	struct state s = load_state(h), t = load_state(i);

	for (; count > 0; count--, p += SHA256_BLOCK, q += SHA256_BLOCK) {
		struct state s_before = s, t_before = t;
		struct words m = load_words(p), n = load_words(q);

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

#else

bool
sha256_ni_usable(void)
{
	return false;
}

/* These are never called. */
void
sha256_ni_blocks(uint32_t h[8], const uint8_t *p, size_t count)
{
	(void)h;
	(void)p;
	(void)count;
}

void
sha256_ni_two(uint32_t h[8], const uint8_t *p, uint32_t i[8],
    const uint8_t *q, size_t count)
{
	sha256_ni_blocks(h, p, count);
	sha256_ni_blocks(i, q, count);
}

#endif

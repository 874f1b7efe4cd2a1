/*
 * sha256_avx2.c - SHA-256 of eight inputs at a time with AVX2
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: FIPS 180-4, section 6.2.  Each vector holds one word of all eight
 * digests.
 */
#include "sha256.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define AVX2 __attribute__((target("avx2")))
#define AVX2_INLINE static inline __attribute__((always_inline)) AVX2

/* One word of each digest. */
typedef uint32_t lanes __attribute__((vector_size(32)));

bool
sha256_avx2_usable(void)
{
	return __builtin_cpu_supports("avx2") != 0;
}

AVX2_INLINE lanes
rotate(lanes x, int n)
{
	return x >> n | x << (32 - n);
}

/*
 * Transposes an 8 by 8 matrix: row i becomes column i.
 */
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
load_words(lanes w[8], const uint8_t *const p[8], size_t at)
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
	load_words(w, p, 0);
	load_words(w + 8, p, 32);
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

AVX2 void
sha256_avx2_eight(uint32_t *const h[8], const uint8_t *const p[8],
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

#else

bool
sha256_avx2_usable(void)
{
	return false;
}

/* Never called. */
void
sha256_avx2_eight(uint32_t *const h[8], const uint8_t *const p[8],
    size_t count)
{
	(void)h;
	(void)p;
	(void)count;
}

#endif

/*
 * bz2_made.c - data and streams shared by the bzip2 tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bz2_made.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

uint32_t
number(struct state *s)
{
	s->seed ^= s->seed >> 12;
	s->seed ^= s->seed << 25;
	s->seed ^= s->seed >> 27;
	return (uint32_t)(s->seed * UINT64_C(0x2545f4914f6cdd1d) >> 32);
}

int
setup(void **state)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -1;
	s->seed = 1;
	s->dec = bz2_decoder_new(9);
	s->enc[1] = bz2_encoder_new(1);
	s->enc[9] = bz2_encoder_new(9);
	s->data = malloc(DATA_MAX);
	s->packed = malloc(PACKED_MAX);
	s->block = malloc(bz2_rle_cap(9));
	s->bits = malloc(bz2_encode_bound(9));
	*state = s;
	return s->dec == NULL || s->enc[1] == NULL || s->enc[9] == NULL ||
	    s->data == NULL || s->packed == NULL || s->block == NULL ||
	    s->bits == NULL ? -1 : 0;
}

int
teardown(void **state)
{
	struct state *s = *state;

	bz2_decoder_free(s->dec);
	for (int i = 0; i <= BZ2_LEVEL_MAX; i++)
		bz2_encoder_free(s->enc[i]);
	free(s->data);
	free(s->packed);
	free(s->block);
	free(s->bits);
	free(s->own.out);
	free(s->lib.out);
	free(s);
	return 0;
}

size_t
pack(struct state *s, int level, size_t len, size_t piece)
{
	uint8_t *to = s->packed;
	struct bz2_join j;
	struct bz2_rle r;
	size_t at = 0, n;
	uint32_t crc;

	to += bz2_join_header(&j, level, to);
	do {
		bz2_rle_start(&r, level, s->block);
		while (at < len && !bz2_rle_full(&r)) {
			n = len - at < piece ? len - at : piece;
			at += bz2_rle_fill(&r, s->data + at, n);
		}
		n = bz2_rle_end(&r);
		assert_true(n <= bz2_rle_cap(level));
		if (n > 0) {
			int64_t bits = bz2_encode_block(s->enc[level],
			    s->block, n, s->bits, bz2_encode_bound(9), &crc);

			assert_true(bits > 0);
			to += bz2_join_block(&j, s->bits, (uint64_t)bits, crc,
			    to);
		}
	} while (at < len);
	to += bz2_join_trailer(&j, to);
	return (size_t)(to - s->packed);
}

void
assert_same_verdict(struct state *s, const uint8_t *in, size_t len)
{
	judge_own(s->dec, &s->own, in, len);
	judge_lib(&s->lib, in, len);
	assert_true(judge_agree(&s->own, &s->lib));
}

static uint8_t
byte_of(struct state *s, int kind, size_t i, size_t len)
{
	const uint8_t *d = s->data;

	switch (kind) {
	case NOISE:
		return (uint8_t)number(s);
	case LETTERS:
		return (uint8_t)('a' + number(s) % 4);
	case PAIRS:
		return "ab"[i & 1];
	case TRIPLES:
		return "aab"[i % 3];
	case WORDS:
		return number(s) % 6 == 0 || i < 3000 ?
		    (uint8_t)(' ' + number(s) % 90) :
		    d[i - 1 - number(s) % 7 * (i % 400)];
	case MORSE:
		return (uint8_t)__builtin_parityll(i);
	case RAMP:
		return (uint8_t)i;
	case STEPS:
		return (uint8_t)(i / 4);
	case RUNS:
		return i > 0 && number(s) % 100 != 0 ? d[i - 1] :
		    (uint8_t)number(s);
	case COUNTS:
		/* runs of a byte whose value is also the count of a long run */
		return number(s) % 2000 == 0 ? (uint8_t)number(s) : 251;
	case PERIOD:
		return i < 1000 ? (uint8_t)number(s) : d[i - 1000];
	case COPIES:
		return i < len / 2 ? (uint8_t)(number(s) % 50) :
		    d[i - len / 2];
	case ONE_OTHER:
		return i == len / 2;
	case SKEWED:
		return (uint8_t)__builtin_ctz(number(s) | 1U << 30);
	default:
		return 0;
	}
}

void
make(struct state *s, int kind, size_t len)
{
	if (kind == FIBONACCI) {
		size_t a = 1, b = 2;

		memcpy(s->data, "ab", 2);
		for (; b < len; a = b - a) {
			size_t n = a < len - b ? a : len - b;

			memcpy(s->data + b, s->data, n);
			b += n;
		}
		return;
	}
	for (size_t i = 0; i < len; i++)
		s->data[i] = byte_of(s, kind, i, len);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/lzma/lzma_encode.h"
#include "format/xz.h"

#include "../src/engine/lzma/lzma_chain.h"
#include "rnd.h"

#include <errno.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MOST = 5 << 20, KINDS = 9, WAYS = 3 };

/* Matches by trees, by chains, and the parse of the fast levels. */
static void
params_of(struct lzma2_params *p, unsigned way)
{
	lzma2_params_of(p, way == 2 ? 1 : 6);
	if (way == 1)
		p->dict_B = 128 << 10;
}

/* Makes data of a kind. */
static void
fill(uint8_t *p, size_t n, unsigned kind)
{
	uint32_t seed = 7 + kind;

	for (size_t i = 0; i < n; i++) {
		switch (kind) {
		case 0:			/* one long run */
			p[i] = 0;
			break;
		case 1:			/* stored chunks */
			p[i] = (uint8_t)rnd(&seed);
			break;
		case 2:			/* few values: deep trees */
			p[i] = "ab"[rnd(&seed) % 8 == 0];
			break;
		case 3:			/* records that differ in one byte */
			p[i] = i % 24 == 5 ? (uint8_t)rnd(&seed) :
			    (uint8_t)(i % 24);
			break;
		case 4:			/* noise, then text, and again */
			p[i] = i >> 16 & 1 ? (uint8_t)rnd(&seed) :
			    (uint8_t)"the cat and the mat"[rnd(&seed) % 19];
			break;
		case 5:			/* numbers that grow */
			p[i] = (uint8_t)(i / 4 >> 8 * (i % 4));
			break;
		case 6:			/* noise that repeats after 64 KiB */
			p[i] = i >= 65536 ? p[i - 65536] :
			    (uint8_t)rnd(&seed);
			break;
		case 7:			/* noise that repeats, with errors */
			p[i] = i < 5000 || rnd(&seed) % 40 == 0 ?
			    (uint8_t)rnd(&seed) : p[i - 4999];
			break;
		default:		/* words */
			p[i] = (uint8_t)(rnd(&seed) % 4 == 0 ? ' ' :
			    'a' + rnd(&seed) % 5);
		}
	}
}

/* Encodes what follows a history, and compares what liblzma makes of it. */
static size_t
check_after(struct lzma2_encoder *e, const struct lzma2_params *p,
    const uint8_t *in, size_t before, size_t len)
{
	size_t rest = len - before, cap = lzma2_bound(rest), at = 0, got = 0;
	uint8_t *out = malloc(cap), *back = malloc(rest + 1);
	lzma_options_lzma lzma = { .dict_size = p->dict_B, .preset_dict = in,
		.preset_dict_size = (uint32_t)before };
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &lzma },
	    { LZMA_VLI_UNKNOWN, NULL } };
	ssize_t n;

	assert_non_null(out);
	assert_non_null(back);
	if (before == 0) {
		n = lzma2_encode(e, in, len, out, cap);
	} else {
		assert_int_equal(lzma2_begin(e, in, before, len), 0);
		n = lzma2_finish(e, out, cap);
	}
	assert_true(n > 0 && (size_t)n <= cap);
	assert_int_equal(lzma_raw_buffer_decode(filters, NULL, out, &at,
	    (size_t)n, back, &got, rest + 1), LZMA_OK);
	assert_int_equal(at, n);
	assert_int_equal(got, rest);
	assert_memory_equal(back, in + before, rest);
	free(out);
	free(back);
	return (size_t)n;
}

static size_t
check(struct lzma2_encoder *e, const struct lzma2_params *p, const uint8_t *in,
    size_t len)
{
	return check_after(e, p, in, 0, len);
}

static uint8_t *
made(size_t n, unsigned kind)
{
	uint8_t *p = malloc(n + 1);

	assert_non_null(p);
	fill(p, n, kind);
	return p;
}

/* Every kind, with sizes around those of chunks and segments. */
static void
every_size(void **state)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 4, 5, 8, 63, 64, 65, 79,
	    80, 81, 273, 274, 1000, 4095, 4096, 4097, 4369, 8192, 16383, 16384,
	    16385, 32768, 65535, 65536, 65537, 200000 };

	(void)state;
	for (unsigned k = 0; k < KINDS * WAYS; k++) {
		uint8_t *in = made(200000, k / WAYS);
		struct lzma2_params p;
		struct lzma2_encoder *e;

		params_of(&p, k % WAYS);
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			/* exactly as long: no byte beyond may be read */
			uint8_t *copy = malloc(sizes[i] + 1);

			assert_non_null(copy);
			memcpy(copy + 1, in, sizes[i]);
			check(e, &p, copy + 1, sizes[i]);
			free(copy);
		}
		lzma2_encoder_free(e);
		free(in);
	}
}

static void
every_level(void **state)
{
	(void)state;
	for (unsigned level = LZMA2_LEVEL_MIN; level <= LZMA2_LEVEL_MAX;
	    level++) {
		struct lzma2_params p;
		struct lzma2_encoder *e;

		lzma2_params_of(&p, level);
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		for (unsigned kind = 0; kind < KINDS; kind++) {
			uint8_t *in = made(150000, kind);

			check(e, &p, in, 150000);
			free(in);
		}
		lzma2_encoder_free(e);
	}
}

/* A block does not remember the one before. */
static void
reused(void **state)
{
	(void)state;
	for (unsigned way = 0; way < WAYS; way++) {
		struct lzma2_params p;
		struct lzma2_encoder *e;

		params_of(&p, way);
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		for (size_t n = 1; n < 12; n++) {
			check(e, &p, (const uint8_t *)"aaaaaaaaaaaa", n);
			check(e, &p, (const uint8_t *)"abcdefghijkl", n);
		}
		lzma2_encoder_free(e);
	}
}

/* Every period up to more than the longest match. */
static void
every_period(void **state)
{
	struct lzma2_params p;
	struct lzma2_encoder *e;
	uint8_t in[3000];
	uint32_t seed = 3;

	(void)state;
	for (unsigned way = 0; way < WAYS; way++) {
		params_of(&p, way);
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		for (size_t period = 1; period <= 300; period++) {
			for (size_t i = 0; i < sizeof(in); i++)
				in[i] = i < period ? (uint8_t)rnd(&seed) :
				    in[i - period];
			assert_true(check(e, &p, in, sizeof(in)) <
			    period + 60);
		}
		lzma2_encoder_free(e);
	}
}

static void
every_property(void **state)
{
	uint8_t *in = made(30000, 3);

	(void)state;
	for (unsigned i = 0; i < 5 * 5 * 5; i++) {
		struct lzma2_params p;
		struct lzma2_encoder *e;

		lzma2_params_of(&p, 6);
		p.lc = i % 5;
		p.lp = i / 5 % 5;
		p.pb = i / 25;
		if (p.lc + p.lp > 4)
			continue;
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		check(e, &p, in, 30000);
		lzma2_encoder_free(e);
	}
	free(in);
}

/*
 * What repeats at the far end of a dictionary is found, and what is one byte
 * further is not: liblzma would refuse that.
 */
static void
far_end(void **state)
{
	struct lzma2_params p;
	struct lzma2_encoder *e;
	uint8_t *in = made(400000, 1);

	(void)state;
	lzma2_params_of(&p, 6);
	/* the last is searched in the other way */
	for (p.dict_B = 4096; p.dict_B <= 300 << 10; p.dict_B = p.dict_B ==
	    128 << 10 ? 300 << 10 : 2 * p.dict_B) {
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		for (size_t more = 0; more < 2; more++) {
			size_t n, back = p.dict_B + more;

			fill(in, 400000, 1);
			for (size_t i = back; i < 400000; i++)
				in[i] = in[i - back];
			n = check(e, &p, in, 400000);
			assert_true(more == 0 ? n < back + 6000 : n >
			    (back < 300000 ? 300000 : 390000));
		}
		lzma2_encoder_free(e);
	}
	free(in);
}

/* What follows a history, for a decoder that has it. */
static void
every_history(void **state)
{
	enum { LEN = 150000 };
	static const size_t histories[] = { 1, 2, 3, 7, 100, 16383, 16384,
	    16385, 65536, 100001, LEN - 1, LEN };
	struct lzma2_params p;
	struct lzma2_encoder *e;

	(void)state;
	for (unsigned way = 0; way < WAYS; way++) {
		params_of(&p, way);
		e = lzma2_encoder_new(&p);
		assert_non_null(e);
		for (size_t k = 0; k < KINDS * sizeof(histories) /
		    sizeof(*histories); k++) {
			unsigned kind = (unsigned)(k % KINDS);
			size_t before = histories[k / KINDS], n;
			uint8_t *in = made(LEN, kind);

			n = check_after(e, &p, in, before, LEN);
			/* noise that was seen before is found */
			if (kind == 6 && before >= 65536)
				assert_true(n < 200 + (LEN - before) / 100);
			free(in);
		}
		lzma2_encoder_free(e);
	}
}

/* The chunks of 2 MiB of a long run, and a block that reuses the encoder. */
static void
long_block(void **state)
{
	struct lzma2_params p;
	struct lzma2_encoder *e;
	uint8_t *in = made(MOST, 0);

	(void)state;
	lzma2_params_of(&p, 3);
	e = lzma2_encoder_new(&p);
	assert_non_null(e);
	assert_true(check(e, &p, in, MOST) < 2000);
	fill(in, MOST / 4, 4);
	check(e, &p, in, MOST);
	assert_int_equal(lzma2_encode(e, in, MOST, in + MOST / 2, 100),
	    -ENOBUFS);
	lzma2_encoder_free(e);
	free(in);
}

/*
 * A byte less than a block takes is not enough, and nothing is written after
 * it.  What one packed chunk takes is.
 */
static void
exact_room(void **state)
{
	static const size_t sizes[] = { 1, 5, 100, 4000, 70000 };
	struct lzma2_params p;
	struct lzma2_encoder *e;
	unsigned single = 0;

	(void)state;
	lzma2_params_of(&p, 6);
	e = lzma2_encoder_new(&p);
	assert_non_null(e);
	for (unsigned i = 0; i < KINDS * sizeof(sizes) / sizeof(*sizes); i++) {
		size_t len = sizes[i / KINDS], cap = lzma2_bound(len);
		uint8_t *in = made(len, i % KINDS), *out = malloc(cap);
		ssize_t want;

		assert_non_null(out);
		want = lzma2_encode(e, in, len, out, cap);
		assert_true(want > 0);
		/* a header of six bytes, and the end marker */
		if (out[0] >= 0xe0 && want == 7 + (out[3] << 8) + out[4] + 1) {
			assert_int_equal(lzma2_encode(e, in, len, out,
			    (size_t)want), want);
			single++;
		}
		for (ssize_t room = want - 1; room >= 0; room /= 8, room--) {
			out[room] = 0x5a;
			assert_int_equal(lzma2_encode(e, in, len, out,
			    (size_t)room), -ENOBUFS);
			assert_int_equal(out[room], 0x5a);
		}
		free(in);
		free(out);
	}
	assert_true(single > KINDS);
	lzma2_encoder_free(e);
}

enum { LEN = 4500, DICT = 1000, NICE = 40 };

/* Compares the matches at i with a search of everything. */
static void
nearest(const uint8_t *in, uint32_t i, const struct find_pair *p,
    uint32_t count)
{
	uint32_t limit = LEN - i < NICE ? LEN - i : NICE, best = 0, dist = 0;

	for (uint32_t d = 1; d <= i && d <= DICT; d++) {
		uint32_t n = 0;

		while (n < limit && in[i + n] == in[i + n - d])
			n++;
		if (n > best) {
			best = n;
			dist = d - 1;
		}
	}
	for (uint32_t k = 0; k < count; k++) {
		assert_true(k == 0 || (p[k].len > p[k - 1].len &&
		    p[k].dist > p[k - 1].dist));
		assert_true(p[k].dist < i && p[k].dist < DICT);
		assert_memory_equal(in + i, in + i - p[k].dist - 1, p[k].len);
		assert_true(!p[k].again || memcmp(in + i + p[k].len + 1,
		    in + i + p[k].len - p[k].dist, 2) == 0);
	}
	if (best < 4)
		return;
	assert_true(count > 0);
	assert_int_equal(p[count - 1].len, best);
	assert_int_equal(p[count - 1].dist, dist);
}

static void
by_trees(void **state)
{
	struct finder f;

	(void)state;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		uint8_t *in = made(LEN, kind);

		memset(&f, 0, sizeof(f));
		assert_int_equal(finder_open(&f, NICE, LEN), 0);
		assert_int_equal(finder_begin(&f, in, LEN, DICT), 0);
		for (uint32_t i = 0; i < LEN - 3; i++) {
			uint32_t count;
			const struct find_pair *p = finder_at(&f, i, &count);

			nearest(in, i, p, count);
		}
		finder_close(&f);
		free(in);
	}
}

/*
 * With some choice of groups, or little; each position, or some of them.  What
 * precedes the block goes on in it, but is no match.
 */
static void
by_chains(void **state)
{
	(void)state;
	for (unsigned k = 0; k < KINDS * 4; k++) {
		uint8_t *all = made(DICT + LEN, k / 4), *in = all + DICT;
		struct chain *c = calloc(1, sizeof(*c));

		assert_non_null(c);
		assert_int_equal(chain_open(c, NICE, NICE, LEN,
		    k % 2 == 0 ? 15 : 2), 0);
		for (unsigned twice = 0; twice < 2; twice++) {
			assert_int_equal(chain_begin(c, in, LEN, DICT), 0);
			for (uint32_t i = 0; i < LEN; i += 1 + k % 4 / 2 * 7) {
				uint32_t count;
				const struct find_pair *p = chain_at(c, i,
				    &count);

				if (i < LEN - 3)
					nearest(in, i, p, count);
				else
					assert_int_equal(count, 0);
				/* the same again */
				assert_ptr_equal(chain_at(c, i, &count), p);
			}
		}
		chain_close(c);
		free(c);
		free(all);
	}
}

/* Streams of one block, which liblzma and our decoder read. */
static void
small_streams(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 5, 100, 4096, 70000 };
	struct lzma2_params p;
	struct lzma2_encoder *e;
	struct unlzma *u;

	(void)state;
	lzma2_params_of(&p, 6);
	p.dict_B = 128 << 10;
	e = lzma2_encoder_new(&p);
	assert_non_null(e);
	assert_int_equal(unlzma_open(&u), 0);
	for (unsigned i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
		size_t len = sizes[i / 2], cap = xz_small_bound(len), n;
		uint8_t *in = malloc(len), *out = malloc(cap);
		uint8_t *back = malloc(len);
		uint64_t memory = 16 << 20;
		size_t used = 0, got = 0;
		uint32_t seed = 1;

		assert_true(in != NULL && out != NULL && back != NULL);
		for (size_t k = 0; k < len; k++) {
			seed = seed * 1664525 + 1013904223;
			in[k] = i % 2 == 0 ? (uint8_t)(seed >> 24) :
			    "ab"[seed >> 31];
		}
		n = xz_encode_small(e, p.dict_B, in, len, out, cap);
		assert_true(n > 0 && n <= cap && n % 4 == 0);
		assert_int_equal(lzma_stream_buffer_decode(&memory, 0, NULL,
		    out, &used, n, back, &got, len), LZMA_OK);
		assert_int_equal(used, n);
		assert_int_equal(got, len);
		assert_memory_equal(back, in, len);
		memset(back, 0, len);
		assert_int_equal(xz_decode_small(u, out, n, back, len, 1 << 20),
		    (int64_t)len);
		assert_memory_equal(back, in, len);
		/* too little room, which is not exceeded */
		for (size_t room = n - 1; room > 0; room = room / 4 * 3) {
			out[room] = 0x5a;
			assert_int_equal(xz_encode_small(e, p.dict_B, in, len,
			    out, room), 0);
			assert_int_equal(out[room], 0x5a);
		}
		free(in);
		free(out);
		free(back);
	}
	unlzma_close(u);
	lzma2_encoder_free(e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size),
		cmocka_unit_test(every_level),
		cmocka_unit_test(reused),
		cmocka_unit_test(every_period),
		cmocka_unit_test(every_property),
		cmocka_unit_test(far_end),
		cmocka_unit_test(every_history),
		cmocka_unit_test(long_block),
		cmocka_unit_test(small_streams),
		cmocka_unit_test(exact_room),
		cmocka_unit_test(by_trees),
		cmocka_unit_test(by_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * test_unlzma.c - our LZMA2 decoder and liblzma agree
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "unlzma_judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { PLAIN = 300000, PACKED = 2 * PLAIN };

struct made {
	uint8_t plain[PLAIN], packed[PACKED];
	size_t len;
};

static struct unlzma *u;
static struct verdict lib, own;
static struct made m;

/* Text whose words repeat near and far, runs, short periods, and noise */
static void
fill(uint8_t *p, size_t len, uint32_t seed)
{
	size_t n = 0;

	while (n < len) {
		uint32_t r = (seed = seed * 1664525 + 1013904223) >> 8;
		size_t run = 1 + r % 600, back = 1 + (r >> 10) % 70;

		if (run > len - n)
			run = len - n;
		if ((r >> 20 & 7) == 0)
			back = n == 0 ? 1 : 1 + (r * 2654435761u >> 4) % n;
		if ((r >> 20 & 7) < 3) {
			for (; run > 0; run--, n++)
				p[n] = n < back ? 'x' : p[n - back];
			continue;
		}
		if ((r >> 20 & 7) > 3)
			run = (run + 7) / 8;
		for (; run > 0; run--) {
			seed = seed * 1664525 + 1013904223;
			p[n++] = (r >> 20 & 7) == 3 ? (uint8_t)(seed >> 24) :
			    (uint8_t)("etaoin shrdlu\n{}"[seed >> 28]);
		}
	}
}

/* Encodes m.plain; at each `flush` bytes, if not 0, with a flush. */
static void
make(const lzma_options_lzma *o, size_t len, size_t flush)
{
	lzma_options_lzma next = *o;
	lzma_filter f[2] = { { LZMA_FILTER_LZMA2, &next },
		{ LZMA_VLI_UNKNOWN, NULL } };
	lzma_stream s = LZMA_STREAM_INIT;
	size_t at = 0;
	lzma_ret rc;

	assert_int_equal(lzma_raw_encoder(&s, f), LZMA_OK);
	s.next_out = m.packed;
	s.avail_out = PACKED;
	while (flush > 0 && at + flush < len) {
		s.next_in = m.plain + at;
		s.avail_in = flush;
		while ((rc = lzma_code(&s, LZMA_SYNC_FLUSH)) == LZMA_OK)
			;
		assert_int_equal(rc, LZMA_STREAM_END);
		at += flush;
		/* other properties from here on */
		next.lc = at / flush % 4;
		next.pb = at / flush % 5;
		assert_int_equal(lzma_filters_update(&s, f), LZMA_OK);
	}
	s.next_in = m.plain + at;
	s.avail_in = len - at;
	while ((rc = lzma_code(&s, LZMA_FINISH)) == LZMA_OK)
		;
	assert_int_equal(rc, LZMA_STREAM_END);
	m.len = PACKED - s.avail_out;
	lzma_end(&s);
}

/* Compares the verdicts on a stream. */
static void
judge(uint32_t dictionary, const uint8_t *in, size_t len, uint32_t seed)
{
	static const size_t most[] = { 1, 9, 300, 70000, 1 << 20 };

	judge_lib(&lib, dictionary, in, len);
	judge_pieces(u, &own, dictionary, in, len, most[seed % 5], seed);
	if (!judge_agree(&own, &lib))
		fail_msg("pieces: %d of liblzma, %d of ours, seed %u", lib.rc,
		    own.rc, seed);
	/* as much output, and no more, if the input is short */
	if (lib.rc == -ENODATA && own.rc == -ENODATA) {
		assert_int_equal(own.len, lib.len);
		assert_memory_equal(own.out, lib.out, lib.len);
	}
	judge_whole(u, &own, dictionary, in, len, lib.rc == 0 ? lib.len :
	    JUDGE_ROOM);
	if (!judge_agree(&own, &lib) || (lib.rc == 0 && own.rc != 0))
		fail_msg("whole: %d of liblzma, %d of ours, seed %u", lib.rc,
		    own.rc, seed);
}

static void
good(uint32_t dictionary, size_t len, uint32_t seed)
{
	judge(dictionary, m.packed, m.len, seed);
	assert_int_equal(lib.rc, 0);
	assert_int_equal(lib.len, len);
	assert_memory_equal(lib.out, m.plain, len);
	if (len == 0)
		return;
	/* one byte too little room */
	judge_whole(u, &own, dictionary, m.packed, m.len, len - 1);
	assert_int_equal(own.rc, -EFBIG);
}

static void
every_property(void **state)
{
	lzma_options_lzma o;
	uint32_t seed = 0;

	(void)state;
	for (uint32_t lc = 0; lc <= 4; lc++)
		for (uint32_t lp = 0; lc + lp <= 4; lp++)
			for (uint32_t pb = 0; pb <= 4; pb++, seed++) {
				assert_false(lzma_lzma_preset(&o, seed % 7));
				o.lc = lc;
				o.lp = lp;
				o.pb = pb;
				o.dict_size = 4096 << seed % 9;
				fill(m.plain, PLAIN / 4, seed);
				make(&o, PLAIN / 4, 0);
				good(o.dict_size, PLAIN / 4, seed);
			}
}

static void
every_encoder(void **state)
{
	static const lzma_match_finder finders[] = { LZMA_MF_HC3, LZMA_MF_HC4,
		LZMA_MF_BT2, LZMA_MF_BT3, LZMA_MF_BT4 };
	static const uint32_t nice[] = { 4, 8, 16, 64, 273 };
	static const uint32_t sizes[] = { 4096, 4100, 5000, 65536, 100000,
		1 << 20 };
	lzma_options_lzma o;

	(void)state;
	for (uint32_t seed = 0; seed < 60; seed++) {
		assert_false(lzma_lzma_preset(&o, 6));
		o.mf = finders[seed % 5];
		o.nice_len = nice[seed / 5 % 5];
		if (o.nice_len < (o.mf & 15))
			o.nice_len = o.mf & 15;
		o.mode = seed / 2 % 2 ? LZMA_MODE_FAST : LZMA_MODE_NORMAL;
		o.dict_size = sizes[seed % 6];
		fill(m.plain, PLAIN, seed + 1000);
		make(&o, PLAIN, seed % 4 == 3 ? 10000 + seed : 0);
		good(o.dict_size, PLAIN, seed);
		/* a larger one than was used, and a smaller one */
		judge(o.dict_size * 2, m.packed, m.len, seed);
		judge(o.dict_size / 2, m.packed, m.len, seed);
	}
}

static void
lengths(void **state)
{
	lzma_options_lzma o;

	(void)state;
	assert_false(lzma_lzma_preset(&o, 1));
	o.dict_size = 4096;
	fill(m.plain, PLAIN, 5);
	for (size_t len = 0; len < 700; len += len < 60 ? 1 : 7) {
		make(&o, len, 0);
		good(o.dict_size, len, (uint32_t)len);
	}
	/* one run, so that nearly all is the longest match */
	memset(m.plain, 'a', PLAIN);
	for (size_t len = 4000; len < 9000; len += 61) {
		make(&o, len, 0);
		good(o.dict_size, len, (uint32_t)len);
	}
	make(&o, PLAIN, 0);
	good(o.dict_size, PLAIN, 0);
	/* noise, which is stored */
	fill(m.plain, PLAIN, 6);
	for (size_t i = 0; i < PLAIN; i++)
		m.plain[i] = (uint8_t)(i * i * 2654435761u >> 13 ^ i >> 5);
	make(&o, PLAIN, 0);
	good(o.dict_size, PLAIN, 3);
}

/* Several streams in one, without the marker between them */
static void
joined(void **state)
{
	static uint8_t all[4 * PACKED];
	lzma_options_lzma o;
	size_t len = 0;

	(void)state;
	for (uint32_t i = 0; i < 12; i++) {
		assert_false(lzma_lzma_preset(&o, i % 4));
		o.dict_size = 4096;
		o.lp = i % 3;
		o.lc = i % 2;
		fill(m.plain, PLAIN / 6, i + 50);
		make(&o, i * 4000, i % 5 == 4 ? 3000 : 0);
		memcpy(all + len, m.packed, m.len);
		len += m.len - 1;
	}
	all[len++] = 0;
	for (uint32_t seed = 0; seed < 10; seed++) {
		judge(4096, all, len, seed);
		assert_int_equal(lib.rc, 0);
	}
}

/* Chunks that refer to what a reset forgot, or that need a reset first */
static void
resets(void **state)
{
	static const uint8_t text[] = "abcabcabcabcabcabcabcabcabcabcabcabcabc"
	    "abcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabcabc";
	static uint8_t p[4096];
	lzma_options_lzma o;

	(void)state;
	assert_false(lzma_lzma_preset(&o, 6));
	o.dict_size = 4096;
	memcpy(m.plain, text, sizeof(text));
	make(&o, sizeof(text), 0);
	for (unsigned first = 0; first < 256; first++)
		for (unsigned second = 0; second < 256; second++) {
			size_t n = 0, chunk = m.len - 1;

			/* a stored chunk, and the packed one, twice */
			memcpy(p, "\1\0\2abc", 6);
			n = 6;
			memcpy(p + n, m.packed, chunk);
			p[n] = (uint8_t)first;
			n += chunk;
			memcpy(p + n, m.packed, chunk);
			p[n] = (uint8_t)second;
			if (second >= 0x80 && second < 0xc0) {
				/* it has no properties */
				memmove(p + n + 5, p + n + 6, chunk - 6);
				n--;
			}
			n += chunk;
			p[n++] = 0;
			judge(4096, p, n, first + second);
			judge(4096, p + 6, n - 6, first + second);
		}
}

/* A byte that begins no chunk is refused before more input is there. */
static void
unknown_chunk(void **state)
{
	(void)state;
	for (unsigned first = 3; first < 0x80; first++) {
		uint8_t byte = (uint8_t)first;
		struct unlzma_io io = { .in = &byte, .in_len = 1 };

		assert_int_equal(unlzma_start(u, 4096), 0);
		assert_int_equal(unlzma_run(u, &io), -EBADMSG);
	}
}

static void
damaged(void **state)
{
	lzma_options_lzma o;
	uint32_t bad = 0;

	(void)state;
	for (uint32_t row = 0; row < 6; row++) {
		size_t len = row < 3 ? 900 : 9000;
		size_t step = row < 3 ? 1 : 37;

		assert_false(lzma_lzma_preset(&o, 6));
		o.dict_size = 4096;
		o.pb = row % 3;
		fill(m.plain, len, row + 7);
		make(&o, len, row % 3 == 1 ? 300 : 0);
		for (size_t bit = 0; bit < 8 * m.len; bit += step) {
			m.packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
			judge(o.dict_size, m.packed, m.len, (uint32_t)bit);
			bad += lib.rc != 0;
			m.packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		for (size_t n = 0; n < m.len; n += step)
			judge(o.dict_size, m.packed, n, (uint32_t)n);
	}
	assert_true(bad > 1000);
}

static int
open_all(void **state)
{
	(void)state;
	judge_open(&lib);
	judge_open(&own);
	return unlzma_open(&u);
}

static int
close_all(void **state)
{
	(void)state;
	free(lib.out);
	free(own.out);
	unlzma_close(u);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_property),
		cmocka_unit_test(every_encoder),
		cmocka_unit_test(lengths),
		cmocka_unit_test(joined),
		cmocka_unit_test(resets),
		cmocka_unit_test(unknown_chunk),
		cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, open_all, close_all);
}

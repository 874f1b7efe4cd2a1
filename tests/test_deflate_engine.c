/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/gzip/deflate_engine.h"

#include "engine/deflate/deflate_strong.h"
#include "rnd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LEN = 512 << 10, CAP = 2 * LEN, RECORD = 24 };

struct block {
	uint8_t in[LEN], out[CAP], same[CAP];
};

static void
fill_text(uint8_t *p)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < LEN; i++)
		p[i] = (uint8_t)("etaoin shrdlu\n"[rnd(&seed) % 14]);
}

/* Every fourth byte is 128 or more, as in machine code. */
static void
fill_code(uint8_t *p)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < LEN; i++)
		p[i] = (uint8_t)(rnd(&seed) & rnd(&seed));
}

/* Records as in a table of relocations: an address, a type and an addend. */
static void
fill_table(uint8_t *p, bool high)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < LEN; i++) {
		size_t at = i % RECORD;
		unsigned fixed = high ? 0x88 : 0x08;

		p[i] = (uint8_t)(at % 8 > 2 ? 0 : at / 8 == 1 ? fixed :
		    rnd(&seed) & 0xff);
	}
	for (size_t i = 0; !high && i < LEN; i++)
		p[i] &= 0x7f;
}

/* Returns whether the level uses the search for binaries for the block. */
static bool
as_binary(struct block *b, int level)
{
	const struct codec_options o = { .level = level, .threads = 1 };
	struct deflate_strong *s;
	struct deflate_engine *e;
	ssize_t got, n;

	assert_int_equal(deflate_strong_open(&s, DEFLATE_STRONG_MIN), 0);
	n = deflate_strong_run_binary(s, b->in, LEN, true, b->same, CAP);
	deflate_strong_close(s);
	assert_int_equal(deflate_engine_open(&e, &o), 0);
	got = deflate_engine_run(e, b->in, LEN, true, b->out, CAP);
	assert_true(got > 0);
	deflate_engine_close(e);
	return got == n && memcmp(b->out, b->same, (size_t)n) == 0;
}

static void
text(void **state)
{
	struct block *b = *state;

	fill_text(b->in);
	assert_false(as_binary(b, 1));
	assert_false(as_binary(b, 3));
}

static void
code(void **state)
{
	struct block *b = *state;

	fill_code(b->in);
	assert_false(as_binary(b, 1));
	assert_false(as_binary(b, 2));
	assert_true(as_binary(b, 3));
	assert_false(as_binary(b, 4));
}

/* Only the records of a binary count, not the columns of a text. */
static void
table(void **state)
{
	struct block *b = *state;
	bool isal = strstr(deflate_engine_versions(), "ISA-L") != NULL;

	fill_table(b->in, true);
	assert_int_equal(as_binary(b, 1), isal);
	assert_true(as_binary(b, 3));
	fill_table(b->in, false);
	assert_false(as_binary(b, 1));
	assert_false(as_binary(b, 3));
}

static int
setup(void **state)
{
	*state = malloc(sizeof(struct block));
	return *state == NULL;
}

static int
teardown(void **state)
{
	free(*state);
	return 0;
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(text),
		cmocka_unit_test(code),
		cmocka_unit_test(table),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

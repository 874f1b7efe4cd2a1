/*
 * test_adapt.c - adapting the level to the time that workers stall
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pipeline/adapt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { WALL = 1000000, THREADS = 4 };

/*
 * Makes `count` checks of workers that are idle for that percentage of the
 * time.
 */
static int
look(struct adapt_state *a, int idle, int count)
{
	int level = a->level;

	for (int i = 0; i < count; i++)
		level = adapt_look(a, WALL, (uint64_t)idle * WALL / 100 *
		    THREADS, THREADS);
	return level;
}

static void
up_when_idle(void **state)
{
	struct adapt_state a = { .level = 3, .min = 1, .max = 9 };

	(void)state;
	assert_int_equal(look(&a, 50, 1), 4);
	assert_int_equal(look(&a, ADAPT_IDLE_UP, 1), 5);
	assert_int_equal(look(&a, 100, 10), 9);
}

static void
down_when_busy(void **state)
{
	struct adapt_state a = { .level = 9, .min = 2, .max = 9 };

	(void)state;
	assert_int_equal(look(&a, 0, 1), 8);
	assert_int_equal(look(&a, ADAPT_IDLE_DOWN, 1), 7);
	assert_int_equal(look(&a, 0, 10), 2);
}

static void
stays_between(void **state)
{
	struct adapt_state a = { .level = 5, .min = 1, .max = 9 };

	(void)state;
	assert_int_equal(look(&a, ADAPT_IDLE_DOWN + 1, 50), 5);
	assert_int_equal(look(&a, ADAPT_IDLE_UP - 1, 50), 5);
}

/* If one level is too low and the next one too high, changes become rare. */
static void
settles(void **state)
{
	struct adapt_state a = { .level = 5, .min = 1, .max = 9 };
	int moves = 0, level = 5;

	(void)state;
	for (int i = 0; i < 400; i++) {
		int now = look(&a, a.level <= 5 ? 60 : 0, 1);

		assert_in_range(now, 5, 6);
		moves += now != level;
		level = now;
	}
	assert_in_range(moves, 2, 400 / ADAPT_HOLD_MAX + 4);
	/* and it adapts again when the pipe changes */
	assert_int_equal(look(&a, 90, 40), 9);
	assert_int_equal(look(&a, 0, 60), 1);
}

static void
counts_blocks(void **state)
{
	struct adapt a;
	char text[64];

	(void)state;
	adapt_start(&a, 12, 1, 9);
	assert_int_equal(adapt_take(&a), 9);
	assert_int_equal(adapt_take(&a), 9);
	atomic_store(&a.level, 3);
	assert_int_equal(adapt_take(&a), 3);
	adapt_text(&a, text, sizeof(text));
	assert_string_equal(text, "3x1 9x2");
	adapt_text(&a, text, 4);
	assert_string_equal(text, "3x1");
}

/*
 * The workers are checked once they have completed one piece each, on average,
 * and enough time has passed.
 */
static void
watches(void **state)
{
	struct adapt a;
	struct pipeline_watch w = { .now_ns = 5000000000, .threads = 2 };

	(void)state;
	adapt_start(&a, 5, 1, 9);
	adapt_watch(&a, &w);
	w.now_ns += 1000000;
	w.idle_ns = 2000000;
	adapt_watch(&a, &w);
	adapt_watch(&a, &w);
	assert_int_equal(adapt_take(&a), 5);
	w.now_ns += 99000000;
	w.idle_ns += 100000000;
	adapt_watch(&a, &w);
	assert_int_equal(adapt_take(&a), 6);
	w.now_ns += 1000000000;
	adapt_watch(&a, &w);
	assert_int_equal(adapt_take(&a), 6);
	adapt_watch(&a, &w);
	assert_int_equal(adapt_take(&a), 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(up_when_idle),
		cmocka_unit_test(down_when_busy),
		cmocka_unit_test(stays_between),
		cmocka_unit_test(settles),
		cmocka_unit_test(counts_blocks),
		cmocka_unit_test(watches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

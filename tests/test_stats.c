/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static int
near(double a, double b)
{
	return fabs(a - b) < 1e-9;
}

/* Compares with R's quantile(), whose default is type 7. */
static void
quantiles(void **state)
{
	double v[] = { 7, 1, 3, 100, 5 };
	double even[] = { 1, 2, 3, 4 };

	(void)state;
	stats_sort(v, 5);
	assert_true(near(stats_quantile(v, 5, 0.5), 5));
	assert_true(near(stats_quantile(v, 5, 0.25), 3));
	assert_true(near(stats_quantile(v, 5, 0.9), 62.8));
	assert_true(near(stats_quantile(v, 5, 0), 1));
	assert_true(near(stats_quantile(v, 5, 1), 100));
	assert_true(near(stats_quantile(even, 4, 0.5), 2.5));
	assert_true(near(stats_quantile(even, 4, 0.25), 1.75));
	assert_true(near(stats_quantile(even, 1, 0.75), 1));
	assert_true(isnan(stats_quantile(even, 0, 0.5)));
}

/* 10 % of 5 runs rounds down to none, as in datamash's trimmean:0.1. */
static void
trimmed(void **state)
{
	double v[] = { 1, 2, 3, 4, 100 };
	size_t cut = 9;

	(void)state;
	assert_true(near(stats_trimmed(v, 5, 0.1, &cut), 22));
	assert_int_equal(cut, 0);
	assert_true(near(stats_trimmed(v, 5, 0.2, &cut), 3));
	assert_int_equal(cut, 1);
	assert_true(near(stats_trimmed(v, 5, 0.49, NULL), 3));
	assert_true(isnan(stats_trimmed(v, 0, 0.1, &cut)));
}

/* The ranks match any table of confidence intervals for the median. */
static void
interval(void **state)
{
	static const struct {
		size_t n, rank;
		double conf;
	} rows[] = {
		{ 6, 1, 0.96875 }, { 7, 1, 0.984375 }, { 8, 1, 0.9921875 },
		{ 9, 2, 0.9609375 }, { 10, 2, 0.978515625 },
		{ 20, 6, 0.958610535 }, { 30, 10, 0.957226055 },
		{ 100, 40, 0.964799800 },
	};
	struct stats_interval r;
	double v[1000];

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		v[i] = (double)i + 1;
	for (size_t n = 0; n < 6; n++)
		assert_int_equal(stats_median_interval(v, n, 0.95, &r),
		    -ERANGE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = rows[i].n;

		assert_int_equal(stats_median_interval(v, n, 0.95, &r), 0);
		assert_true(near(r.lo, (double)rows[i].rank));
		assert_true(near(r.hi, (double)(n + 1 - rows[i].rank)));
		assert_true(fabs(r.conf - rows[i].conf) < 1e-8);
	}
	/* 2^-1000 is still a number, but 2^-5000 is not */
	assert_int_equal(stats_median_interval(v, 1000, 0.95, &r), 0);
	assert_true(near(r.lo, 469) && near(r.hi, 532));
}

static void
sign_test(void **state)
{
	(void)state;
	for (size_t i = 0; i < 21; i++)
		assert_int_equal(stats_sign_next(i, 0.95), i < 6 ? 6 :
		    i < 9 ? 9 : i < 12 ? 12 : i < 15 ? 15 : i < 17 ? 17 :
		    i < 20 ? 20 : 23);
	assert_true(near(stats_sign_p(0, 6), 0.03125));
	assert_true(near(stats_sign_p(6, 0), 0.03125));
	assert_true(near(stats_sign_p(5, 5), 1));
	assert_true(fabs(stats_sign_p(9, 21) - 0.0427739453) < 1e-9);
	assert_true(near(stats_sign_p(0, 0), 1));
	assert_true(stats_sign_p(2000, 3000) > 0);
	assert_true(stats_sign_p(2000, 3000) < 1e-40);
}

/*
 * Compares with R's wilcox.test() on the depression scores of Hollander and
 * Wolfe (1973).
 */
static void
signed_rank(void **state)
{
	static const double v[] = { 0.952, -0.147, 1.022, 0.43, 0.62, 0.59,
		0.49, -0.08, 0.01 };
	static const double ties[] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	static const double up[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	const double infinite[] = { 1, INFINITY };
	static double many[STATS_RANK_MAX];
	struct stats_centre r;

	(void)state;
	assert_int_equal(stats_signed_rank(v, 9, 0.95, &r), 0);
	assert_true(near(r.value, 0.46));
	assert_true(near(r.p, 0.0390625));
	assert_true(r.bounded && near(r.interval.lo, 0.01));
	assert_true(near(r.interval.hi, 0.786));
	assert_true(near(r.interval.conf, 1 - 0.0390625));
	/* five values give no interval, but six do */
	assert_int_equal(stats_signed_rank(up, 5, 0.95, &r), 0);
	assert_false(r.bounded);
	assert_true(near(r.p, 0.0625));
	assert_int_equal(stats_signed_rank(up, 6, 0.95, &r), 0);
	assert_true(r.bounded && near(r.interval.lo, 1));
	/* P(W <= 8) for n = 10 is 25 / 1024 */
	assert_int_equal(stats_signed_rank(up, 10, 0.95, &r), 0);
	assert_true(near(r.interval.conf, 1 - 2 * 25.0 / 1024));
	/* the interval contains 0, so p is above its level */
	assert_int_equal(stats_signed_rank(ties, 8, 0.95, &r), 0);
	assert_true(r.interval.lo <= 0 && r.p > 0.05);
	assert_int_equal(stats_signed_rank(v, 0, 0.95, &r), -ERANGE);
	assert_int_equal(stats_signed_rank(v, STATS_RANK_MAX + 1, 0.95, &r),
	    -ERANGE);
	for (size_t i = 0; i < STATS_RANK_MAX; i++)
		many[i] = (double)i;
	assert_int_equal(stats_signed_rank(many, STATS_RANK_MAX, 0.95, &r), 0);
	assert_true(near(r.value, (STATS_RANK_MAX - 1) / 2.0));
	assert_int_equal(stats_signed_rank(infinite, 2, 0.95, &r), -EDOM);
	assert_true(isnan(r.value) && !r.bounded);
}

/* R: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.6), "holm") */
static void
holm(void **state)
{
	double p[] = { 0.01, 0.04, 0.03, 0.005, 0.6 };
	static const double want[] = { 0.04, 0.09, 0.09, 0.025, 0.6 };
	double zero[] = { 0, 0.04 };

	(void)state;
	stats_holm(p, 5);
	for (int i = 0; i < 5; i++)
		assert_true(near(p[i], want[i]));
	stats_holm(zero, 2);
	assert_true(near(zero[0], 0) && near(zero[1], 0.04));
	stats_holm(zero, 0);
}

/*
 * Compares with the generator's published first outputs for the seed 1234567.
 */
static void
generator(void **state)
{
	uint64_t s = 1234567;
	uint32_t order[7], seen = 0;

	(void)state;
	assert_true(stats_random(&s) == 6457827717110365317U);
	assert_true(stats_random(&s) == 3203168211198807973U);
	stats_shuffle(&s, order, 7);
	for (int i = 0; i < 7; i++)
		seen |= 1U << order[i];
	assert_int_equal(seen, 127);
}

/* All 24 permutations of 4 elements are about equally frequent. */
static void
shuffle(void **state)
{
	uint32_t count[256] = { 0 }, order[4];
	uint64_t s = 3;
	int orders = 0;

	(void)state;
	for (int i = 0; i < 24000; i++) {
		stats_shuffle(&s, order, 4);
		count[order[0] << 6 | order[1] << 4 | order[2] << 2 |
		    order[3]]++;
	}
	for (int i = 0; i < 256; i++) {
		if (count[i] == 0)
			continue;
		orders++;
		assert_in_range(count[i], 850, 1150);
	}
	assert_int_equal(orders, 24);
}

/* Returns a number in 0..1, excluding both ends. */
static double
uniform(uint64_t *s)
{
	return ((double)(stats_random(s) >> 11) + 0.5) * 0x1p-53;
}

static double
normal(uint64_t *s)
{
	double r = sqrt(-2 * log(uniform(s)));

	return r * cos(2 * acos(-1) * uniform(s));
}

/*
 * Returns simulated timing noise: mostly small, sometimes six times larger; its
 * deviation is sd.  With 4 % between the runs of a pair, the median ratio of 30
 * pairs is off by 0.44 %, as in traces of user and system time on a busy
 * machine.
 */
static double
noise(uint64_t *s, double sd)
{
	double narrow = sd / sqrt(0.8 + 0.2 * 36);

	return normal(s) * (uniform(s) < 0.2 ? 6 * narrow : narrow);
}

/*
 * Simulates n pairs of runs on a drifting machine: a slowly changing load with
 * jumps slows both runs of a pair equally, and each has its own noise.  Returns
 * the sorted ratios in v.
 */
static void
pairs(uint64_t *s, double *v, size_t n, double ratio, double sd)
{
	double load = 0;

	for (size_t i = 0; i < n; i++) {
		double a, b;

		load = 0.9 * load + noise(s, 0.3);
		if (uniform(s) < 0.05)
			load += 2 * uniform(s);
		a = exp(load + noise(s, sd));
		b = exp(load + noise(s, sd)) * ratio;
		v[i] = b / a;
	}
	stats_sort(v, n);
}

enum { DRAWS = 20000 };

/*
 * Computes the percentages of intervals that contain ratio, and that exclude 1.
 */
static void
simulate(uint64_t seed, size_t n, double ratio, double sd, double *holds,
    double *resolved)
{
	int inside = 0, clear = 0;
	double v[64];

	for (int i = 0; i < DRAWS; i++) {
		struct stats_interval r;

		pairs(&seed, v, n, ratio, sd);
		assert_int_equal(stats_median_interval(v, n, 0.95, &r), 0);
		inside += r.lo <= ratio && ratio <= r.hi;
		clear += r.hi < 1 || r.lo > 1;
	}
	*holds = 100.0 * inside / DRAWS;
	*resolved = 100.0 * clear / DRAWS;
	printf("n %zu, ratio %.2f, noise %.3f: holds %.2f %%, "
	    "resolved %.2f %%\n", n, ratio, sd, *holds, *resolved);
}

static void
coverage(void **state)
{
	static const size_t sizes[] = { 20, 30, 50 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		double holds, resolved;

		simulate(20261120, sizes[i], 1.07, 0.2, &holds, &resolved);
		assert_true(holds >= 94 && holds <= 97);
		/* the same command twice: false alarms */
		simulate(4711, sizes[i], 1, 0.2, &holds, &resolved);
		assert_true(resolved <= 6);
	}
}

static void
power(void **state)
{
	double holds, resolved;

	(void)state;
	simulate(1, 30, 1.02, 0.04 / sqrt(2), &holds, &resolved);
	assert_true(resolved >= 80);
}

/* Compares with R's wilcox.test() and its example from Hollander and Wolfe. */
static void
rank_sum(void **state)
{
	static const double x[] = { 0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91,
		1.64, 0.73, 1.46 };
	static const double y[] = { 1.15, 0.88, 0.90, 0.74, 1.21 };
	static const double infinite[] = { 1, INFINITY };
	static double many[STATS_RANK_MAX + 1];
	struct stats_centre r, back;

	(void)state;
	assert_int_equal(stats_rank_sum(x, 10, y, 5, 0.95, &r), 0);
	assert_true(near(r.p, 764.0 / 3003));
	assert_true(near(r.value, 0.305));
	assert_true(r.bounded && near(r.interval.lo, -0.15));
	assert_true(near(r.interval.hi, 0.76));
	assert_true(near(r.interval.conf, 1 - 120.0 / 3003));
	/* the other way round, only the signs change */
	assert_int_equal(stats_rank_sum(y, 5, x, 10, 0.95, &back), 0);
	assert_true(near(back.p, r.p) && near(back.value, -r.value));
	assert_true(near(back.interval.lo, -r.interval.hi));
	/* of 20 orders, 1 is extreme on either side */
	assert_int_equal(stats_rank_sum(x + 5, 3, y + 2, 3, 0.89, &r), 0);
	assert_true(r.bounded && near(r.p, 0.1));
	assert_int_equal(stats_rank_sum(x + 5, 3, y + 2, 3, 0.95, &r), 0);
	assert_false(r.bounded);
	assert_int_equal(stats_rank_sum(x, 0, y, 5, 0.95, &r), -ERANGE);
	assert_int_equal(stats_rank_sum(x, 5, y, 0, 0.95, &r), -ERANGE);
	assert_int_equal(stats_rank_sum(y, 5, many, STATS_RANK_MAX + 1, 0.95,
	    &r), -ERANGE);
	assert_int_equal(stats_rank_sum(y, 1, many, STATS_RANK_MAX, 0.95, &r),
	    0);
	assert_int_equal(stats_rank_sum(many, STATS_RANK_MAX, y, 1, 0.95, &r),
	    0);
	assert_int_equal(stats_rank_sum(many, STATS_RANK_MAX + 1, y, 5, 0.95,
	    &r), -ERANGE);
	assert_int_equal(stats_rank_sum(y, 5, infinite, 2, 0.95, &r), -EDOM);
	assert_true(isnan(r.value) && !r.bounded);
	/* where the normal approximation begins, it differs little */
	for (size_t i = 0; i <= STATS_EXACT_SUM_MAX; i++)
		many[i] = (double)(i * 7919 % 101) / 50;
	assert_int_equal(stats_rank_sum(many, STATS_EXACT_SUM_MAX, x, 10, 0.95,
	    &r), 0);
	assert_int_equal(stats_rank_sum(many, STATS_EXACT_SUM_MAX + 1, x, 10,
	    0.95, &back), 0);
	assert_true(fabs(r.p - back.p) < 0.1);
	assert_true(fabs(r.interval.hi - back.interval.hi) < 0.1);
}

/* The approximations hold what they promise, on the null hypothesis. */
static void
approximations(void **state)
{
	static double x[STATS_EXACT_MAX + 1], y[STATS_EXACT_SUM_MAX + 1];
	struct stats_centre r;
	uint64_t seed = 1;
	int signed_held = 0, sum_held = 0;

	(void)state;
	for (int set = 0; set < 40; set++) {
		for (size_t i = 0; i <= STATS_EXACT_MAX; i++)
			x[i] = (double)stats_random(&seed) / 0x1p64 - 0.5;
		for (size_t i = 0; i <= STATS_EXACT_SUM_MAX; i++)
			y[i] = (double)stats_random(&seed) / 0x1p64 - 0.5;
		assert_int_equal(stats_signed_rank(x, STATS_EXACT_MAX + 1, 0.95,
		    &r), 0);
		signed_held += r.interval.lo < 0 && r.interval.hi > 0;
		assert_true((r.p > 0.05) ==
		    (r.interval.lo < 0 && r.interval.hi > 0));
		assert_int_equal(stats_rank_sum(x, STATS_EXACT_SUM_MAX + 1, y,
		    STATS_EXACT_SUM_MAX + 1, 0.95, &r), 0);
		sum_held += r.interval.lo < 0 && r.interval.hi > 0;
		assert_true((r.p > 0.05) ==
		    (r.interval.lo < 0 && r.interval.hi > 0));
	}
	/* with 95 %, one in ten thousand such rows has fewer than 33 */
	assert_in_range(signed_held, 33, 40);
	assert_in_range(sum_held, 33, 40);
}

static void
drift(void **state)
{
	static const double up[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
	static const double zigzag[] = { 1, 9, 2, 8, 3, 7, 4, 6, 5, 0 };
	static const double ties[] = { 3, 1, 4, 1, 5, 9, 2, 6 };
	static const double same[10];
	double p;

	(void)state;
	assert_int_equal(stats_drift_p(up, 10, &p), 0);
	assert_true(fabs(p - 0.0005751190258695285) < 1e-9);
	assert_int_equal(stats_drift_p(zigzag, 10, &p), 0);
	assert_true(fabs(p - 0.9088520669550023) < 1e-9);
	assert_int_equal(stats_drift_p(ties, 8, &p), 0);
	assert_true(fabs(p - 0.6895080202411122) < 1e-9);
	assert_int_equal(stats_drift_p(same, 10, &p), 0);
	assert_true(near(p, 1));
	assert_int_equal(stats_drift_p(up, STATS_DRIFT_MIN - 1, &p), 0);
	assert_true(near(p, 1));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles),
		cmocka_unit_test(trimmed),
		cmocka_unit_test(interval),
		cmocka_unit_test(sign_test),
		cmocka_unit_test(signed_rank),
		cmocka_unit_test(rank_sum),
		cmocka_unit_test(approximations),
		cmocka_unit_test(drift),
		cmocka_unit_test(holm),
		cmocka_unit_test(generator),
		cmocka_unit_test(shuffle),
		cmocka_unit_test(coverage),
		cmocka_unit_test(power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

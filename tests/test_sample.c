/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure/sample.h"

#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Student's t as in any table. */
static void
student(void **state)
{
	static const struct {
		double df, t;
	} known[] = { { 1, 12.706 }, { 2, 4.303 }, { 5, 2.571 },
	    { 10, 2.228 }, { 30, 2.042 }, { 1000, 1.962 } };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_true(fabs(sample_student(0.95, known[i].df) -
		    known[i].t) < 6e-4);
	assert_true(fabs(sample_student(0.99, 5) - 4.032) < 6e-4);
}

/* Every unit comes once, in an order that depends on the seed. */
static void
order(void **state)
{
	enum { MANY = 1000 };
	bool seen[MANY];
	size_t same = 0;

	(void)state;
	for (uint64_t n = 1; n <= MANY; n += n < 70 ? 1 : 93) {
		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < n; i++) {
			uint64_t u = sample_unit(7, n, i);

			assert_true(u < n);
			assert_false(seen[u]);
			seen[u] = true;
		}
	}
	for (uint64_t i = 0; i < MANY; i++)
		same += sample_unit(1, MANY, i) == sample_unit(2, MANY, i);
	assert_true(same < 20);
	assert_true(sample_unit(3, UINT64_MAX / 2, 5) < UINT64_MAX / 2);
}

static double
uniform(uint64_t *seed)
{
	return (double)(stats_random(seed) >> 11) / 9007199254740992.0;
}

/* Units of which the auxiliary makes nothing have no ratio of their own. */
static void
nothing_left(void **state)
{
	static const struct sample_stratum strata[] = { { 10, 1000 },
		{ 5, 5000 } };
	static const struct sample_draw draws[] = {
		{ 0, 100, 0, true, 0 }, { 0, 100, 50, true, 40 },
		{ 0, 100, 50, true, 42 }, { 1, 1000, 500, true, 410 },
	};
	struct sample_total t;

	(void)state;
	assert_int_equal(sample_estimate(strata, 2, draws, 4, 0.95, &t), 0);
	assert_int_equal(t.n, 4);
	/* 1000 of 300 become 100, 5000 of 1000 become 500; of 100, about 82 */
	assert_true(fabs(t.value - (1000.0 / 3 + 2500) * 0.82) < 10);
	assert_true(isfinite(t.error) && t.error > 0);
	/* of a stratum with one draw, the first ratio's variance is unknown */
	assert_true(t.lo == 0 && isinf(t.hi));
	/* without any draw of the second phase, there is nothing to say */
	assert_int_equal(sample_estimate(strata, 2, draws, 0, 0.95, &t),
	    -ENODATA);
}

/* A made population: units of several sizes, and what they compress to. */
enum { UNITS = 6000, STRATA = 3, LEAST = 2 };

struct made {
	struct sample_stratum strata[STRATA];
	double size[STRATA][UNITS], aux[STRATA][UNITS], y[STRATA][UNITS];
	double total;
};

/*
 * Kinds of populations: one kind of data; text mixed with data that does not
 * compress, as in a home; long runs of zeros among the rest, as in programs.
 */
enum kind { EVEN, MIXED, HOLES, KINDS };

static void
make(struct made *m, enum kind kind, uint64_t *seed)
{
	memset(m, 0, sizeof(*m));
	for (unsigned h = 0; h < STRATA; h++) {
		unsigned n = UNITS / (h + 1);

		m->strata[h].units = n;
		for (unsigned i = 0; i < n; i++) {
			double base = 1024 << (4 * h);
			double x = base * (1 + 3 * uniform(seed));
			double part = 0.3 + 0.1 * uniform(seed);

			if (kind == MIXED && uniform(seed) < 0.4)
				part = 1;
			if (kind == HOLES && uniform(seed) < 0.2)
				part = 0.001;
			m->size[h][i] = x;
			m->aux[h][i] = x * part;
			m->y[h][i] = x * part * (part == 1 ? 1 :
			    0.7 + 0.2 * uniform(seed));
			m->strata[h].size += x;
			m->total += m->y[h][i];
		}
	}
}

static int
draw_sample(const struct made *m, unsigned n1, unsigned n2, uint64_t seed,
    struct sample_total *out)
{
	struct sample_draw *d = calloc((size_t)STRATA * n1, sizeof(*d));
	size_t n = 0;
	int rc;

	for (unsigned h = 0; h < STRATA; h++)
		for (unsigned i = 0; i < n1 && i < m->strata[h].units; i++) {
			uint64_t u = sample_unit(seed + h,
			    m->strata[h].units, i);

			d[n++] = (struct sample_draw){ .stratum = h,
			    .size = m->size[h][u], .aux = m->aux[h][u],
			    .both = i < n2, .y = m->y[h][u] };
		}
	rc = sample_estimate(m->strata, STRATA, d, n, 0.95, out);
	free(d);
	return rc;
}

/*
 * Of many samples, the stated 95 % intervals contain the truth nearly as often
 * as stated, are unbiased, and are not so wide that they say nothing.
 */
static void
coverage(void **state)
{
	enum { SAMPLES = 1000 };
	static const unsigned sizes[][2] = { { 100, 10 }, { 40, 8 },
	    { 30, 30 }, { 12, 4 } };
	struct made *m = malloc(sizeof(*m));
	uint64_t seed = 42;

	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		make(m, (enum kind)kind, &seed);
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			double sum = 0, width = 0;
			int within = 0;

			for (int i = 0; i < SAMPLES; i++) {
				struct sample_total t;

				assert_int_equal(draw_sample(m, sizes[s][0],
				    sizes[s][1], stats_random(&seed), &t), 0);
				within += t.lo <= m->total && m->total <= t.hi;
				sum += t.value / m->total;
				width += (t.hi - t.lo) / t.value / 2;
			}
			print_message("kind %d, %u and %u of each: %.1f %% "
			    "within, mean %.4f, half-width %.1f %%\n", kind,
			    sizes[s][0], sizes[s][1], 100.0 * within / SAMPLES,
			    sum / SAMPLES, 100 * width / SAMPLES);
			/*
			 * 12 draws may miss a rare kind of unit, and then
			 * cannot know how much they vary.
			 */
			assert_true(within >= (sizes[s][0] > 12 ? 0.91 :
			    0.87) * SAMPLES);
			assert_true(fabs(sum / SAMPLES - 1) < 0.02);
			assert_true(width / SAMPLES < 0.5);
		}
	}
	free(m);
}

/* If everything has been measured, nothing is uncertain. */
static void
complete(void **state)
{
	struct made *m = malloc(sizeof(*m));
	struct sample_total t;
	uint64_t seed = 5;

	(void)state;
	make(m, MIXED, &seed);
	assert_int_equal(draw_sample(m, UNITS, UNITS, 1, &t), 0);
	assert_true(fabs(t.value / m->total - 1) < 1e-9);
	assert_true(t.hi - t.lo < 1e-3 * t.value);
	assert_int_equal(t.n, UNITS + UNITS / 2 + UNITS / 3);
	free(m);
}

/* Too few draws give no interval; none give no estimate. */
static void
few(void **state)
{
	const struct sample_stratum two[] = { { 10, 1000 }, { 10, 3000 } };
	const struct sample_stratum one = { 1, 100 };
	struct sample_draw d[] = { { 1, 300, 200, true, 100 },
	    { 1, 300, 220, true, 120 }, { 1, 300, 180, true, 90 } };
	struct sample_total t;

	(void)state;
	assert_int_equal(sample_estimate(two, LEAST, d, 0, 0.95, &t),
	    -ENODATA);
	assert_int_equal(sample_estimate(two, LEAST, d, 1, 0.95, &t), 0);
	assert_true(isinf(t.hi));
	/* the first stratum has no draws: it is like the second */
	assert_true(fabs(t.value - 4000.0 * 100 / 300) < 1e-6);
	assert_int_equal(sample_estimate(two, LEAST, d, 3, 0.95, &t), 0);
	assert_true(t.hi < 2 * t.value && t.hi > t.value);
	/* the only unit */
	d[0].stratum = 0;
	d[0].size = 100;
	assert_int_equal(sample_estimate(&one, 1, d, 1, 0.95, &t), 0);
	assert_true(fabs(t.value - 100) < 1e-9 && t.hi - t.lo < 1e-6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student),
		cmocka_unit_test(order),
		cmocka_unit_test(nothing_left),
		cmocka_unit_test(coverage),
		cmocka_unit_test(complete),
		cmocka_unit_test(few),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

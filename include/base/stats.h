/*
 * stats.h - what a sample of times tells, without assuming a distribution
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All thread-safe.  Values are numbers, which may be infinite where that is
 * not excluded; "sorted" means in ascending order.
 */
#ifndef COLDPRESS_STATS_H
#define COLDPRESS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In place, ascending. */
void stats_sort(double *values, size_t n);

/*
 * The quantile at share p of sorted values, interpolated between neighbours
 * as spreadsheets, R (its type 7) and datamash(1) do.  NaN if n is 0.
 */
double stats_quantile(const double *sorted, size_t n, double p);

/*
 * Mean of what is left after floor(n x share) values are cut off at each end;
 * share is below 0.5.  How many that is goes to *cut, if not NULL.  NaN if n
 * is 0.
 */
double stats_trimmed(const double *sorted, size_t n, double share,
    size_t *cut);

struct stats_interval {
	double lo, hi;
	double conf;		/* how often it holds the median, at least */
};

/*
 * The interval between two of the sorted values, as narrow as can be, that
 * holds the median of their distribution, whatever that is, with a
 * probability of at least conf.  It is the set of medians that a two-sided
 * sign test does not reject.  0, or -ERANGE: there are too few values for it
 * (at 95 %, fewer than 6).
 */
int stats_median_interval(const double *sorted, size_t n, double conf,
    struct stats_interval *out);

/*
 * Two-sided p of the sign test, with less values below and more above: the
 * probability of a split at least as uneven by chance.
 */
double stats_sign_p(size_t less, size_t more);

/* The largest n of stats_signed_rank(), whose time grows with its cube. */
enum { STATS_RANK_MAX = 500 };

struct stats_centre {
	double value;		/* the estimate */
	double p;		/* two-sided, of the centre being 0 */
	bool bounded;		/* there is an interval */
	struct stats_interval interval;
};

/*
 * The centre of n differences, in any order, by Wilcoxon's signed ranks: the
 * median of the averages of all pairs (Hodges and Lehmann 1963), the set of
 * centres that the exact two-sided test does not reject at conf, and the
 * test's p.  Supposes that the distribution is symmetric, as it is where the
 * two sides of a pair differ by a shift alone; then the interval is narrower
 * than that of stats_median_interval().  A difference of 0 counts against
 * both signs.  0, or -ERANGE (n is 0 or above STATS_RANK_MAX), -EDOM (a value
 * is not finite) or -ENOMEM; *out is then without numbers.
 */
int stats_signed_rank(const double *values, size_t n, double conf,
    struct stats_centre *out);

/*
 * Holm's adjustment of m p-values: those that stay at or below a level show
 * a difference while the probability that any of them errs is at most that
 * level.  Works in place, in any order.
 */
void stats_holm(double *p, size_t m);

/*
 * A generator of random numbers: splitmix64 (Steele, Lea and Flood 2014).
 * *state may be anything at first, and decides the sequence.
 */
uint64_t stats_random(uint64_t *state);

/* The numbers 0..n-1 in random order into order, which has room for n. */
void stats_shuffle(uint64_t *state, uint32_t *order, uint32_t n);

#endif

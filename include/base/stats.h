/*
 * stats.h - distribution-free statistics of samples
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Everything here is thread-safe.  Values are never NaN, but may be infinite
 * unless stated otherwise; "sorted" means in ascending order.
 */
#ifndef COLDPRESS_STATS_H
#define COLDPRESS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sorts in place, ascending. */
void stats_sort(double *values, size_t n);

/*
 * Returns the p-quantile of sorted values, interpolated between neighbours as
 * in spreadsheets, R (type 7) and datamash(1); NaN if n is 0.
 */
double stats_quantile(const double *sorted, size_t n, double p);

/*
 * Returns the trimmed mean of the values, which leaves out the floor(n x share)
 * smallest and as many of the largest; share is below 0.5.  The number left out
 * at each end is stored in *cut, unless cut is NULL.  Returns NaN if n is 0.
 */
double stats_trimmed(const double *sorted, size_t n, double share,
    size_t *cut);

struct stats_interval {
	double lo, hi;
	double conf;		/* minimum probability of containing the
				 * median */
};

/*
 * Finds the narrowest interval between two of the sorted values that, for any
 * distribution, contains its median with a probability of at least conf.  It is
 * the set of medians that a two-sided sign test does not reject.  Returns 0, or
 * -ERANGE if there are too few values (at 95 %, fewer than 6).
 */
int stats_median_interval(const double *sorted, size_t n, double conf,
    struct stats_interval *out);

/*
 * Returns the smallest number of values above n with which the sign test at
 * this level rejects in spite of one more value on the other side.  Up to
 * there, further values only make it harder to reject.
 */
size_t stats_sign_next(size_t n, double conf);

/*
 * Returns the two-sided p-value of the sign test for a median with `less`
 * values below it and `more` above: the probability that chance alone produces
 * a split at least this uneven.
 */
double stats_sign_p(size_t less, size_t more);

enum {
	STATS_RANK_MAX = 2000,	/* values in a sample whose ranks are used */
	/*
	 * Up to this size the distribution of the ranks is exact, at a cost that
	 * is cubic in n for one sample, and of degree 4 for two.
	 */
	STATS_EXACT_MAX = 500,
	STATS_EXACT_SUM_MAX = 50,
	STATS_DRIFT_MIN = 6	/* values in which a drift can be seen */
};

struct stats_centre {
	double value;		/* estimated centre */
	double p;		/* two-sided, for a centre of 0 */
	bool bounded;		/* the interval is valid */
	struct stats_interval interval;
};

/*
 * Estimates the centre of n differences, in any order, by Wilcoxon's signed
 * ranks: the median of all pairwise averages (Hodges and Lehmann 1963), the set
 * of centres that the two-sided test does not reject at conf, and the test's
 * p-value, exact up to STATS_EXACT_MAX values, and by the normal approximation
 * above.  The distribution is assumed to be symmetric, which holds if the two
 * sides of a pair differ only by a shift; the interval is then narrower than
 * that of stats_median_interval().  A difference of 0 counts against both
 * signs.  Returns 0, or -ERANGE (n is 0 or above STATS_RANK_MAX), -EDOM (a
 * value is not finite) or -ENOMEM; value and p are then NaN, and bounded is
 * false.
 */
int stats_signed_rank(const double *values, size_t n, double conf,
    struct stats_centre *out);

/*
 * Estimates how far the nx values of x lie above the ny values of y, which were
 * measured independently: the median of all differences, the set of shifts that
 * the two-sided rank-sum test of Wilcoxon, Mann and Whitney does not reject at
 * conf, and the test's p-value; exact up to STATS_EXACT_SUM_MAX values each.
 * Results, errors and equal values are as for stats_signed_rank().
 */
int stats_rank_sum(const double *x, size_t nx, const double *y, size_t ny,
    double conf, struct stats_centre *out);

/*
 * Tests whether values, in the order in which they were measured, resemble their
 * neighbours more than chance explains, as they do while something drifts: the
 * one-sided p-value of von Neumann's ratio of the ranks (Bartels 1982) is stored
 * in *p.  It is 1 if there are fewer than STATS_DRIFT_MIN values, or more than
 * STATS_RANK_MAX.  Returns 0 or -ENOMEM.
 */
int stats_drift_p(const double *values, size_t n, double *p);

/*
 * Applies Holm's adjustment to m p-values: rejecting those at or below a level
 * keeps the family-wise error rate at or below that level.  Works in place, in
 * any order.
 */
void stats_holm(double *p, size_t m);

/*
 * Returns the next random number from splitmix64 (Steele, Lea and Flood 2014).
 * *state may start with any value; it determines the sequence.
 */
uint64_t stats_random(uint64_t *state);

/* Writes the numbers 0..n-1 in random order to order, which has room for n. */
void stats_shuffle(uint64_t *state, uint32_t *order, uint32_t n);

#endif

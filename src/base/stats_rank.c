/*
 * stats_rank.c - exact signed-rank inference for the centre of differences
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Wilcoxon's statistic is the number of Walsh averages (the averages of two
 * values, including each value with itself) above the hypothesized centre, so
 * the estimate, the interval and the p-value need only the sorted averages.
 */
#include "base/stats.h"
#include "base/sys.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static size_t
averages_of(size_t n)
{
	return n * (n + 1) / 2;
}

/*
 * Writes P(W = w) to p for w up to half the maximum.  W is the sum of the
 * positive ranks, where each rank is positive with probability 1/2.
 */
static void
distribution(double *p, size_t half, size_t n)
{
	memset(p, 0, (half + 1) * sizeof(*p));
	p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t w = half + 1; w-- > 0;)
			p[w] = 0.5 * (p[w] + (w >= rank ? p[w - rank] : 0));
}

static void
fill_averages(double *a, const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (size_t k = i; k < n; k++)
			*a++ = 0.5 * (v[i] + v[k]);
}

/*
 * Returns the two-sided p-value for a centre of 0; averages of 0 count against
 * a difference.
 */
static double
p_of_zero(const double *a, size_t m, const double *p)
{
	size_t low = 0, high = 0, few;
	double tail = 0;

	for (size_t i = 0; i < m; i++) {
		low += a[i] <= 0;
		high += a[i] >= 0;
	}
	few = low < high ? low : high;
	if (few > m / 2)
		return 1;
	for (size_t w = 0; w <= few; w++)
		tail += p[w];
	return 2 * tail < 1 ? 2 * tail : 1;
}

/*
 * Works like stats_median_interval(), but with the m sorted averages and the
 * distribution p.
 */
static void
bound(struct stats_centre *out, const double *a, size_t m, const double *p,
    double conf)
{
	double tail = 0, kept = 0;
	size_t k = 0;

	for (; k <= m / 2; k++) {
		tail += p[k];
		if (2 * tail > (1 - conf) * (1 + 1e-12))
			break;
		kept = tail;
	}
	out->bounded = k > 0;
	if (k > 0)
		out->interval = (struct stats_interval){ .lo = a[k - 1],
			.hi = a[m - k], .conf = 1 - 2 * kept };
}

int
stats_signed_rank(const double *values, size_t n, double conf,
    struct stats_centre *out)
{
	size_t m = averages_of(n);
	double *a, *p;

	*out = (struct stats_centre){ .value = NAN, .p = NAN };
	if (n == 0 || n > STATS_RANK_MAX)
		return -ERANGE;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]))
			return -EDOM;
	a = sys_malloc((m + m / 2 + 1) * sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	p = a + m;
	fill_averages(a, values, n);
	stats_sort(a, m);
	distribution(p, m / 2, n);
	out->value = stats_quantile(a, m, 0.5);
	out->p = p_of_zero(a, m, p);
	bound(out, a, m, p, conf);
	sys_free(a);
	return 0;
}

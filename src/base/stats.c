/*
 * stats.c - distribution-free statistics of samples
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/stats.h"

#include "base/sys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
stats_sort(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), by_value);
}

double
stats_quantile(const double *sorted, size_t n, double p)
{
	double at, below;
	size_t i;

	if (n == 0)
		return NAN;
	at = p * (double)(n - 1);
	below = floor(at);
	i = (size_t)below;
	if (i >= n - 1)
		return sorted[n - 1];
	if (at == below)
		return sorted[i];
	return sorted[i] + (at - below) * (sorted[i + 1] - sorted[i]);
}

double
stats_trimmed(const double *sorted, size_t n, double share, size_t *cut)
{
	size_t k = (size_t)floor((double)n * share);
	double sum = 0;

	if (cut != NULL)
		*cut = k;
	if (n == 0)
		return NAN;
	for (size_t i = k; i < n - k; i++)
		sum += sorted[i];
	return sum / (double)(n - 2 * k);
}

/*
 * P(X = k) for n fair coin tosses, computed from P(X = k - 1) and therefore
 * exact up to rounding.  P(X = 0) = 2^-n is stored as a logarithm because it
 * may underflow.
 */
struct coins {
	double n, k, log_p;
};

static double
coins_next(struct coins *c)
{
	double p = exp(c->log_p);

	c->log_p += log((c->n - c->k) / (c->k + 1));
	c->k++;
	return p;
}

/*
 * Returns the largest k up to (n + 1) / 2 for which P(X < k), which is stored
 * in *below, is at most half the allowed error.
 */
static size_t
median_rank(size_t n, double conf, double *below)
{
	struct coins c = { .n = (double)n, .log_p = -(double)n * log(2) };
	double tail = 0;
	size_t k = 0;

	*below = 0;
	for (; k < (n + 1) / 2; k++) {
		tail += coins_next(&c);
		if (2 * tail > (1 - conf) * (1 + 1e-12))
			break;
		*below = tail;
	}
	return k;
}

size_t
stats_sign_next(size_t n, double conf)
{
	double below;
	size_t k = median_rank(n, conf, &below);

	do
		n++;
	while (median_rank(n, conf, &below) <= k);
	return n;
}

int
stats_median_interval(const double *sorted, size_t n, double conf,
    struct stats_interval *out)
{
	double kept;
	size_t k = median_rank(n, conf, &kept);

	if (k == 0)
		return -ERANGE;
	out->lo = sorted[k - 1];
	out->hi = sorted[n - k];
	out->conf = 1 - 2 * kept;
	return 0;
}

double
stats_sign_p(size_t less, size_t more)
{
	size_t n = less + more, few = less < more ? less : more;
	struct coins c = { .n = (double)n, .log_p = -(double)n * log(2) };
	double tail = 0;

	for (size_t i = 0; i <= few; i++)
		tail += coins_next(&c);
	return 2 * tail < 1 ? 2 * tail : 1;
}

void
stats_holm(double *p, size_t m)
{
	double least = 0;

	/*
	 * Families are small: instead of sorting, search for the smallest value
	 * not yet adjusted.  Adjusted values are marked by their sign.
	 */
	for (size_t rank = 0; rank < m; rank++) {
		size_t next = m;
		double v;

		for (size_t i = 0; i < m; i++)
			if (!signbit(p[i]) && (next == m || p[i] < p[next]))
				next = i;
		v = p[next] * (double)(m - rank);
		least = v > least ? v : least;
		p[next] = -(least < 1 ? least : 1);
	}
	for (size_t i = 0; i < m; i++)
		p[i] = -p[i];
}

uint64_t
stats_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void
stats_shuffle(uint64_t *state, uint32_t *order, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		/* the bias is below n / 2^32 */
		uint32_t j = (uint32_t)((stats_random(state) >> 32) * (i + 1) >>
		    32);

		order[i] = order[j];
		order[j] = i;
	}
}

/*
 * Exact signed-rank inference for the centre of differences.  Wilcoxon's
 * statistic is the number of Walsh averages (the averages of two values,
 * including each value with itself) above the hypothesized centre, so the
 * estimate, the interval and the p-value need only the sorted averages.
 */

int
stats_signed_rank(const double *values, size_t n, double conf,
    struct stats_centre *out)
{
	size_t m = n * (n + 1) / 2, k, low = 0, high = 0, few;
	double *a, *p, *next, tail = 0, kept = 0, below = 0;

	*out = (struct stats_centre){ .value = NAN, .p = NAN };
	if (n == 0 || n > STATS_RANK_MAX)
		return -ERANGE;
	for (size_t i = 0; i < n; i++)
		if (!isfinite(values[i]))
			return -EDOM;
	a = next = sys_malloc((m + m / 2 + 1) * sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (k = i; k < n; k++)
			*next++ = 0.5 * (values[i] + values[k]);
	stats_sort(a, m);
	/*
	 * P(W = w) for w up to half the maximum.  W is the sum of the positive
	 * ranks, where each rank is positive with probability 1/2.
	 */
	p = a + m;
	memset(p, 0, (m / 2 + 1) * sizeof(*p));
	p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t w = m / 2 + 1; w-- > 0;)
			p[w] = 0.5 * (p[w] + (w >= rank ? p[w - rank] : 0));
	out->value = stats_quantile(a, m, 0.5);
	/*
	 * the two-sided p-value for a centre of 0; averages of 0 count against
	 * a difference
	 */
	for (size_t i = 0; i < m; i++) {
		low += a[i] <= 0;
		high += a[i] >= 0;
	}
	few = low < high ? low : high;
	for (size_t w = 0; w <= few && few <= m / 2; w++)
		below += p[w];
	out->p = few <= m / 2 && 2 * below < 1 ? 2 * below : 1;
	/* as median_rank(), but with this distribution */
	for (k = 0; k <= m / 2; k++) {
		tail += p[k];
		if (2 * tail > (1 - conf) * (1 + 1e-12))
			break;
		kept = tail;
	}
	out->bounded = k > 0;
	if (k > 0)
		out->interval = (struct stats_interval){ .lo = a[k - 1],
			.hi = a[m - k], .conf = 1 - 2 * kept };
	sys_free(a);
	return 0;
}

/*
 * stats.c - distribution-free statistics of samples
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
stats_sort(double *values, size_t n)
{
	if (n > 1)
		qsort(values, n, sizeof(*values), compare);
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
 * Returns the largest k for which P(X < k), which is stored in *below, is at
 * most half the allowed error.
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

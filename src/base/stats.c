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
 * Inference from ranks.  Wilcoxon's statistics count the estimates above the
 * hypothesized centre: for one sample the Walsh averages (those of two values,
 * including each value with itself), for two the differences of a value of each
 * sample.  Therefore the centre, its interval and the p-value need only the
 * sorted estimates, and the distribution of that count.
 */
struct counts {
	const double *below;	/* P(W <= w), up to half the maximum; or NULL */
	double mean, deviation;	/* of the normal distribution used instead */
};

static double
counts_below(const struct counts *c, size_t w)
{
	return c->below != NULL ? c->below[w] : 0.5 * erfc((c->mean - 0.5 -
	    (double)w) / (c->deviation * sqrt(2)));
}

/* Takes the m estimates in any order. */
static void
centre_of(double *estimate, size_t m, const struct counts *c, double conf,
    struct stats_centre *out)
{
	size_t k = 0, low = 0, high = 0, few;
	double most = (1 - conf) * (1 + 1e-12);

	stats_sort(estimate, m);
	out->value = stats_quantile(estimate, m, 0.5);
	/*
	 * the two-sided p-value for a centre of 0; estimates of 0 count against
	 * a difference
	 */
	for (size_t i = 0; i < m; i++) {
		low += estimate[i] <= 0;
		high += estimate[i] >= 0;
	}
	few = low < high ? low : high;
	out->p = few <= m / 2 ? fmin(1, 2 * counts_below(c, few)) : 1;
	/* as median_rank(), but with this distribution */
	while (k <= m / 2 && 2 * counts_below(c, k) <= most)
		k++;
	out->bounded = k > 0;
	if (k > 0)
		out->interval = (struct stats_interval){ .lo = estimate[k - 1],
			.hi = estimate[m - k],
			.conf = 1 - 2 * counts_below(c, k - 1) };
}

/* Replaces probabilities with their sums. */
static void
sum_up(double *p, size_t n)
{
	for (size_t i = 1; i < n; i++)
		p[i] += p[i - 1];
}

/*
 * Stores P(W <= w) for w up to half the maximum.  W is the sum of the positive
 * ranks, where each rank is positive with probability 1/2.
 */
static void
signed_rank_counts(double *p, size_t n)
{
	size_t half = n * (n + 1) / 4;

	memset(p, 0, (half + 1) * sizeof(*p));
	p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t w = half + 1; w-- > 0;)
			p[w] = 0.5 * (p[w] + (w >= rank ? p[w - rank] : 0));
	sum_up(p, half + 1);
}

int
stats_signed_rank(const double *values, size_t n, double conf,
    struct stats_centre *out)
{
	size_t m = n * (n + 1) / 2;
	struct counts c = { .mean = (double)m / 2,
		.deviation = sqrt((double)m * (2 * (double)n + 1) / 12) };
	double *a, *next;

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
		for (size_t k = i; k < n; k++)
			*next++ = 0.5 * (values[i] + values[k]);
	if (n <= STATS_EXACT_MAX) {
		signed_rank_counts(next, n);
		c.below = next;
	}
	centre_of(a, m, &c, conf, out);
	sys_free(a);
	return 0;
}

/*
 * Stores P(U <= u) for u up to half of nx * ny.  U is the number of pairs in
 * which x is greater.  Of the orders of i x and k y, the last is an x with
 * probability i / (i + k), and is then greater than all k y.  row[k] holds the
 * distribution for i and k; room: (ny + 1) * (half + 1) doubles.
 */
static void
rank_sum_counts(double *p, size_t nx, size_t ny)
{
	size_t half = nx * ny / 2, width = half + 1;

	memset(p, 0, (ny + 1) * width * sizeof(*p));
	for (size_t k = 0; k <= ny; k++)
		p[k * width] = 1;
	for (size_t i = 1; i <= nx; i++)
		for (size_t k = 1; k <= ny; k++) {
			double *row = p + k * width;
			const double *fewer = row - width;
			double x = (double)i / (double)(i + k);

			for (size_t u = width; u-- > 0;)
				row[u] = (1 - x) * fewer[u] +
				    (u >= k ? x * row[u - k] : 0);
		}
	memmove(p, p + ny * width, width * sizeof(*p));
	sum_up(p, width);
}

int
stats_rank_sum(const double *x, size_t nx, const double *y, size_t ny,
    double conf, struct stats_centre *out)
{
	size_t m = nx * ny, room = m;
	struct counts c = { .mean = (double)m / 2,
		.deviation = sqrt((double)m * (double)(nx + ny + 1) / 12) };
	double *a, *next;

	*out = (struct stats_centre){ .value = NAN, .p = NAN };
	if (nx == 0 || ny == 0 || nx > STATS_RANK_MAX || ny > STATS_RANK_MAX)
		return -ERANGE;
	for (size_t i = 0; i < nx + ny; i++)
		if (!isfinite(i < nx ? x[i] : y[i - nx]))
			return -EDOM;
	if (nx <= STATS_EXACT_SUM_MAX && ny <= STATS_EXACT_SUM_MAX)
		room += (ny + 1) * (m / 2 + 1);
	a = next = sys_malloc(room * sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < nx; i++)
		for (size_t k = 0; k < ny; k++)
			*next++ = x[i] - y[k];
	if (room > m) {
		rank_sum_counts(next, nx, ny);
		c.below = next;
	}
	centre_of(a, m, &c, conf, out);
	sys_free(a);
	return 0;
}

/* Stores the rank of each value, averaged over equal ones. */
static void
rank_of(const double *values, size_t n, double *rank)
{
	for (size_t i = 0; i < n; i++) {
		size_t less = 0, equal = 0;

		for (size_t k = 0; k < n; k++) {
			less += values[k] < values[i];
			equal += values[k] == values[i];
		}
		rank[i] = (double)less + ((double)equal + 1) / 2;
	}
}

int
stats_drift_p(const double *values, size_t n, double *p)
{
	double *rank, steps = 0, spread = 0, size = (double)n, variance;

	*p = 1;
	if (n < STATS_DRIFT_MIN || n > STATS_RANK_MAX)
		return 0;
	rank = sys_malloc(n * sizeof(*rank));
	if (rank == NULL)
		return -ENOMEM;
	rank_of(values, n, rank);
	for (size_t i = 0; i < n; i++) {
		double far = rank[i] - (size + 1) / 2;
		double step = i > 0 ? rank[i] - rank[i - 1] : 0;

		spread += far * far;
		steps += step * step;
	}
	sys_free(rank);
	if (spread == 0)
		return 0;
	variance = 4 * (size - 2) * (5 * size * size - 2 * size - 9) /
	    (5 * size * (size + 1) * (size - 1) * (size - 1));
	*p = 0.5 * erfc((2 - steps / spread) / sqrt(2 * variance));
	return 0;
}

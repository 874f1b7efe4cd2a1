/*
 * sample.c - estimating a total from a stratified sample in two phases
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/sample.h"

#include "base/stats.h"
#include "base/sys.h"

#include <errno.h>
#include <math.h>

enum { ROUNDS = 6 };

/* Mixes a number with a key, as splitmix64 does. */
static uint64_t
mixed(uint64_t key, uint64_t x)
{
	uint64_t state = key ^ (x * UINT64_C(0x9e3779b97f4a7c15));

	return stats_random(&state);
}

/*
 * A Feistel network over the smallest even number of bits that holds n - 1,
 * applied again while the result is not below n: 4 times on average at most.
 */
uint64_t
sample_unit(uint64_t seed, uint64_t n, uint64_t i)
{
	unsigned half = 1;
	uint64_t mask;

	while (half < 32 && (n - 1) >> (2 * half) != 0)
		half++;
	mask = ((uint64_t)1 << half) - 1;
	do {
		uint64_t left = i >> half, right = i & mask;

		for (uint64_t r = 0; r < ROUNDS; r++) {
			uint64_t next = left ^
			    (mixed(seed + r, right) >> 32 & mask);

			left = right;
			right = next;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

/* The regularized incomplete beta function, by its continued fraction. */
static double
beta_share(double a, double b, double x)
{
	double front, c = 1, d, f;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	if (x > (a + 1) / (a + b + 2))
		return 1 - beta_share(b, a, 1 - x);
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) +
	    b * log1p(-x)) / a;
	d = 1 / (1 - (a + b) * x / (a + 1));
	f = d;
	for (int m = 1; m < 200; m++) {
		double up = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double step;

		d = 1 / (1 + up * d);
		c = 1 + up / c;
		f *= c * d;
		up = -(a + m) * (a + b + m) * x /
		    ((a + 2 * m) * (a + 2 * m + 1));
		d = 1 / (1 + up * d);
		c = 1 + up / c;
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return front * f;
}

double
sample_student(double conf, double df)
{
	double lo = 0, hi = 1;

	/* P(|T| > t) is the share of df / (df + t^2) */
	while (beta_share(df / 2, 0.5, df / (df + hi * hi)) > 1 - conf)
		hi *= 2;
	for (int i = 0; i < 60; i++) {
		double t = (lo + hi) / 2;

		if (beta_share(df / 2, 0.5, df / (df + t * t)) > 1 - conf)
			lo = t;
		else
			hi = t;
	}
	return hi;
}

/* A stratum's sums; those of the second phase end in 2. */
struct sums {
	double units, size;
	double n, x, a;
	double n2, a2, y2;
	double e, ee, ez, z, zz;	/* of residuals */
};

/* Adds the strata without draws to a neighbour that has some. */
static void
collapse(struct sums *s, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t to = i + 1;

		if (s[i].n > 0 || s[i].units <= 0)
			continue;
		while (to < count && s[to].n <= 0)
			to++;
		if (to == count)
			for (to = i; to > 0 && s[to].n <= 0;)
				to--;
		if (s[to].n <= 0)
			continue;
		s[to].units += s[i].units;
		s[to].size += s[i].size;
		s[i].units = s[i].size = 0;
	}
}

/* Returns a sample variance, given n values' sum and sum of squares. */
static double
variance(double n, double sum, double squares)
{
	double v = (squares - sum * sum / n) / (n - 1);

	return v > 0 ? v : 0;
}

int
sample_estimate(const struct sample_stratum *strata, size_t count,
    const struct sample_draw *draws, size_t n, double conf,
    struct sample_total *out)
{
	struct sums *s = sys_calloc(count + 1, sizeof(*s));
	double total_a = 0, up = 0, down = 0, ratio, v = 0;
	double pooled = 0, pooled_n = 0, free = 0;
	bool known = true;

	*out = (struct sample_total){ .aux_n = n };
	if (s == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		s[i].units = (double)strata[i].units;
		s[i].size = strata[i].size;
	}
	for (size_t i = 0; i < n; i++) {
		const struct sample_draw *d = &draws[i];
		struct sums *to = &s[d->stratum];

		to->n++;
		to->x += d->size;
		to->a += d->aux;
		if (d->both) {
			to->n2++;
			to->a2 += d->aux;
			to->y2 += d->y;
			out->n++;
		}
	}
	if (out->n == 0) {
		sys_free(s);
		return -ENODATA;
	}
	collapse(s, count);
	/* the two ratios; the second is common to all strata */
	for (size_t i = 0; i < count; i++) {
		if (s[i].n > 0 && s[i].x > 0)
			total_a += s[i].size * s[i].a / s[i].x;
		if (s[i].n2 > 0) {
			up += s[i].units / s[i].n2 * s[i].y2;
			down += s[i].units / s[i].n2 * s[i].a2;
		}
	}
	ratio = down > 0 ? up / down : 0;
	out->value = total_a * ratio;
	/* residuals: e of the second ratio, z of the first */
	for (size_t i = 0; i < n; i++) {
		const struct sample_draw *d = &draws[i];
		struct sums *to = &s[d->stratum];
		double z = ratio * (d->aux - (to->x > 0 ? to->a / to->x : 0) *
		    d->size), e = d->y - ratio * d->aux;

		to->z += z;
		to->zz += z * z;
		if (d->both) {
			to->e += e;
			to->ee += e * e;
			to->ez += e * z;
			if (d->aux > 0) {
				pooled += e * e / (d->aux * d->aux);
				pooled_n++;
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		double ve, vz = 0, f1, more, cov = 0, N = s[i].units;
		double first, second, n2 = s[i].n2;

		if (s[i].n <= 0 || N <= 0)
			continue;
		f1 = 1 / s[i].n - 1 / N;
		/*
		 * A stratum with one draw, or none in the second phase, has no
		 * variance of its own: that of the others, relative to the
		 * auxiliary, takes its place.
		 */
		if (s[i].n2 >= 2) {
			ve = variance(s[i].n2, s[i].e, s[i].ee);
			cov = (s[i].ez - s[i].e * s[i].z / s[i].n) /
			    (s[i].n2 - 1);
		} else {
			n2 = pooled_n;
			ve = pooled_n > 1 ? pooled / (pooled_n - 1) *
			    (s[i].a / s[i].n) * (s[i].a / s[i].n) : 0;
			if (pooled_n < 2 && N > s[i].n2)
				known = false;
		}
		if (s[i].n >= 2)
			vz = variance(s[i].n, s[i].z, s[i].zz);
		else if (N > s[i].n)
			known = false;
		if (s[i].n2 > 0)
			more = 1 / s[i].n2 - 1 / s[i].n;
		else
			more = 1 - 1 / s[i].n > 0 ? 1 - 1 / s[i].n : 0;
		/* a sampled covariance must not hide the variances */
		if (2 * cov + ve < 0)
			cov = -ve / 2;
		/* the common ratio, too, was fitted to the draws */
		if (out->n > 1)
			ve *= (double)out->n / (double)(out->n - 1);
		first = N * N * f1 * (vz + ve + 2 * cov);
		second = N * N * more * ve;
		v += first + second;
		/* Satterthwaite's degrees of freedom of the sum */
		if (s[i].n >= 2)
			free += first * first / (s[i].n - 1);
		if (n2 >= 2)
			free += second * second / (n2 - 1);
	}
	sys_free(s);
	out->error = sqrt(v);
	if (v <= 0 && known) {
		out->lo = out->hi = out->value;
		return 0;
	}
	if (!known || free <= 0) {
		out->lo = 0;
		out->hi = INFINITY;
		return 0;
	}
	free = v * v / free;
	v = sample_student(conf, free < 1 ? 1 : free) * out->error;
	out->lo = out->value > v ? out->value - v : 0;
	out->hi = out->value + v;
	return 0;
}

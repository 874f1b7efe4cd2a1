/*
 * sizes.c - the distribution of mail sizes: a table of quantiles
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/sizes.h"

#include <errno.h>

enum { ONE = 1 << 16 };

uint32_t
sizes_node(unsigned i)
{
	if (i < SIZES_EVEN)
		return i * (ONE / SIZES_EVEN);
	if (i == SIZES - 1)
		return ONE;
	return ONE - (1u << (SIZES_EVEN + SIZES_TAIL - 1 - i));
}

uint32_t
sizes_at(const struct sizes *s, uint32_t u)
{
	unsigned i = u >> 26;
	uint64_t from, step, more;

	while ((uint64_t)sizes_node(i + 1) << 16 <= u)
		i++;
	from = (uint64_t)sizes_node(i) << 16;
	step = ((uint64_t)sizes_node(i + 1) << 16) - from;
	more = s->at_B[i + 1] - s->at_B[i];
	return s->at_B[i] + (uint32_t)(more * (u - from) / step);
}

/* Returns 2 * ONE times the mean excess over base between the nodes. */
static uint64_t
area(const struct sizes *s, unsigned from, unsigned to, uint64_t base)
{
	uint64_t sum = 0;

	for (unsigned i = from; i < to; i++)
		sum += (sizes_node(i + 1) - sizes_node(i)) *
		    (s->at_B[i] + (uint64_t)s->at_B[i + 1] - 2 * base);
	return sum;
}

uint64_t
sizes_mean(const struct sizes *s)
{
	return area(s, 0, SIZES - 1, 0) / (2 * ONE);
}

static uint32_t
bounded(uint64_t size)
{
	return size < SIZE_LEAST ? SIZE_LEAST :
	    size > SIZE_MOST ? SIZE_MOST : (uint32_t)size;
}

/*
 * Scales the part above the old median by want / excess, above the new median.
 */
static int
fit_upper(struct sizes *s, uint64_t old, uint64_t excess, uint64_t want)
{
	uint64_t median = s->at_B[SIZES_MEDIAN];

	/* sizes are below 2^27; their product with `want' must fit */
	while (want >= (uint64_t)1 << 36) {
		want >>= 1;
		excess >>= 1;
	}
	for (unsigned i = SIZES_MEDIAN + 1; excess > 0 && i < SIZES; i++)
		s->at_B[i] = bounded(median + (s->at_B[i] - old) * want /
		    excess);
	return excess > 0 ? 0 : -ERANGE;
}

int
sizes_fit(struct sizes *s, uint64_t mean_B, uint64_t median_B)
{
	uint64_t old = s->at_B[SIZES_MEDIAN], have, want = mean_B * 2 * ONE;
	uint64_t excess = area(s, SIZES_MEDIAN, SIZES - 1, old);

	if (median_B < SIZE_LEAST || mean_B < SIZE_LEAST ||
	    median_B > SIZE_MOST || mean_B > SIZE_MOST || excess == 0)
		return -ERANGE;
	for (unsigned i = 0; i <= SIZES_MEDIAN; i++)
		s->at_B[i] = bounded(s->at_B[i] * median_B / old);
	have = area(s, 0, SIZES_MEDIAN, 0) +
	    ONE * (uint64_t)s->at_B[SIZES_MEDIAN];
	if (want < have || fit_upper(s, old, excess, want - have) != 0)
		return -ERANGE;
	return sizes_mean(s) * 100 < mean_B * 99 ? -ERANGE : 0;
}

void
sizes_learn(struct sizes *s, const uint64_t *sorted, size_t count)
{
	for (unsigned i = 0; i < SIZES; i++) {
		uint64_t at = (uint64_t)(count - 1) * sizes_node(i) / ONE;

		s->at_B[i] = bounded(sorted[at]);
	}
}

/*
 * sizes.h - the distribution of message sizes: a table of quantiles
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The quantiles are integers, interpolated linearly between the nodes.
 * Thread-safe.
 */
#ifndef COLDPRESS_SIZES_H
#define COLDPRESS_SIZES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Nodes at multiples of 1/64, then at 1 - 2^-7, 1 - 2^-8, ..., 1 - 2^-16, and
 * 1, because a few large messages contain most of the bytes.
 */
enum { SIZES_EVEN = 64, SIZES_TAIL = 10,
    SIZES = SIZES_EVEN + SIZES_TAIL + 1, SIZES_MEDIAN = SIZES_EVEN / 2 };

/* The sizes of the smallest possible header and of the largest message. */
enum { SIZE_LEAST = 400, SIZE_MOST = 64 << 20 };

struct sizes {
	uint32_t at_B[SIZES];		/* ascending */
};

/* Returns the position of node i, in units of 2^-16. */
uint32_t sizes_node(unsigned i);

/* Returns the size at quantile u, in units of 2^-32. */
uint32_t sizes_at(const struct sizes *s, uint32_t u);

uint64_t sizes_mean(const struct sizes *s);

/*
 * Scales the sizes to the given median and mean: sizes up to the median in
 * proportion, and for larger sizes the excess over the median.  Returns 0, or
 * -ERANGE if no distribution has this mean and median.
 */
int sizes_fit(struct sizes *s, uint64_t mean_B, uint64_t median_B);

/* Builds the table from `count` sizes (at least one) in ascending order. */
void sizes_learn(struct sizes *s, const uint64_t *sorted, size_t count);

#endif

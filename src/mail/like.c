/*
 * like.c - the properties of a corpus: their defaults, and the sizes of mail
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The default sizes follow the published description of a store of 273,273
 * messages:
 * mean 8 KB, median 1.7 KB, most about 2.5 KB.  The other values make the
 * corpus as compressible as real mail, file by file and as one stream.
 */
#include "mail/mail.h"

#include <errno.h>

const struct mail_like mail_like_default = {
	.attachments = PRNG_ONE / 4,
	.noise = 14900,
	.replies = PRNG_ONE * 7 / 10,
	.quoted = PRNG_ONE / 2,
	.foreign = PRNG_ONE / 4,
	.signatures = PRNG_ONE / 4,
	.constant = PRNG_ONE / 4,
	.fields = { FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE,
	    FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE,
	    FIELD_BY_SIZE, FIELD_BY_SIZE, FIELD_BY_SIZE },
	.text = { .repeat = 17000 },
	.sizes = { .at_B = {
	    420, 430, 445, 489, 544, 594, 640, 684, 726, 767, 806, 846, 884,
	    923, 961, 999, 1037, 1075, 1114, 1153, 1192, 1232, 1272, 1313,
	    1354, 1397, 1440, 1484, 1529, 1575, 1622, 1670, 1720, 1778, 1839,
	    1902, 1966, 2033, 2103, 2175, 2250, 2329, 2412, 2499, 2591, 2687,
	    2790, 2898, 3014, 5147, 8440, 10018, 11883, 13432, 14524, 15703,
	    16770, 17897, 19260, 20986, 22865, 27134, 40670, 79058, 125913,
	    181461, 220826, 321751, 388362, 426669, 488691, 536304, 561822,
	    575033, 588555 } },
};

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
	if (want < have)
		return -ERANGE;
	/*
	 * scale the part above the old median by want / excess, above the new
	 * median; sizes are below 2^27, and their product with `want' must fit
	 */
	want -= have;
	while (want >= (uint64_t)1 << 36) {
		want >>= 1;
		excess >>= 1;
	}
	if (excess == 0)
		return -ERANGE;
	for (unsigned i = SIZES_MEDIAN + 1; i < SIZES; i++)
		s->at_B[i] = bounded(s->at_B[SIZES_MEDIAN] +
		    (s->at_B[i] - old) * want / excess);
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

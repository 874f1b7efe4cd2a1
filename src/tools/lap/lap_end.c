/*
 * lap_end.c - deciding when a series has enough rounds, by time or precision
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Examining the ratios after each round, and stopping as soon as they look
 * significant, would find differences that do not exist.  Therefore they are
 * examined only after certain rounds, whose numbers form a geometric
 * progression, and each examination uses a share of the 5 % error probability.
 */
#include "lap.h"

#include "base/stats.h"
#include "base/sys.h"

static const double ALPHA = 0.05;

static int64_t
look_after(int64_t rounds)
{
	return rounds + (rounds + 1) / 2;
}

/*
 * Returns whether the ratios are examined after this round.  *looks is set to
 * the maximum number of examinations.
 */
static bool
is_look(const struct lap *l, int *looks)
{
	bool now = false;

	*looks = 0;
	for (int64_t r = l->o.least; r <= l->o.runs; r = look_after(r)) {
		now |= r == l->rounds;
		++*looks;
	}
	return now;
}

/*
 * Returns whether a difference has been detected, or is known to be too small
 * to matter.
 */
static bool
is_resolved(const struct lap *l, const struct stats_interval *i)
{
	return i->hi < 1 || i->lo > 1 ||
	    (i->lo >= 1 - l->o.within && i->hi <= 1 + l->o.within);
}

static bool
all_resolved(const struct lap *l, double *ratios, double conf)
{
	struct stats_interval bounds;

	for (uint32_t i = 0; i < l->cell_count; i++) {
		uint32_t ref = lap_reference(l, i);
		size_t n = i == ref ? 0 : lap_ratios(l, i, ref, ratios);

		if (i != ref && (stats_median_interval(ratios, n, conf,
		    &bounds) != 0 || !is_resolved(l, &bounds)))
			return false;
	}
	return true;
}

bool
lap_enough(struct lap *l, uint64_t start_ns)
{
	bool enough = false;
	double *ratios;
	int looks;

	if (l->rounds < l->o.least)
		return false;
	if (l->o.for_s > 0 &&
	    (double)(sys_now_ns() - start_ns) / 1e9 >= l->o.for_s)
		return true;
	if (!(l->o.within > 0) || l->samples < 0 || !is_look(l, &looks))
		return false;
	ratios = sys_malloc(2 * (size_t)(l->rounds + 1) * sizeof(*ratios));
	if (ratios != NULL)
		enough = all_resolved(l, ratios, 1 - ALPHA / looks);
	sys_free(ratios);
	return enough;
}

/*
 * lap_samples.c - the times of all runs, for the summary and the end
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The times are stored in an unmapped memory file, because lap's own resident
 * memory is a lower bound on the measurable peak of a command.
 *
 * Examining the ratios after each round, and stopping as soon as they look
 * significant, would find differences that do not exist.  Therefore they are
 * examined only after certain rounds, whose numbers form a geometric
 * progression, and each examination uses a share of the 5 % error probability.
 */
#include "lap.h"

#include "base/fdio.h"
#include "base/stats.h"
#include "base/sys.h"

#include <math.h>

struct sample {
	uint32_t cell;
	int32_t status;
	int64_t run;
	bool left, disturbed;
	double v[LAP_VALUES];
};

void
lap_sample(struct lap *l, const struct lap_run *r)
{
	struct proc_usage u = r->proc.orphans;
	struct sample s = { .cell = (uint32_t)(r->cell - l->cells),
		.status = lap_run_status(r), .run = r->run,
		.left = r->proc.left > 0 };
	char flags[LAP_FLAGS_B];

	if (l->samples < 0)
		return;
	for (int i = 0; i < r->proc.count; i++)
		proc_usage_add(&u, &r->proc.stages[i].used);
	s.v[LAP_WALL] = (double)(r->proc.end_ns - r->proc.start_ns) / 1e9;
	s.v[LAP_CPU] = (double)(u.user_us + u.sys_us) / 1e6;
	s.v[LAP_RSS] = (double)u.maxrss_KiB;
	lap_flags(l, r, flags);
	s.disturbed = *flags != '\0';
	/*
	 * Without samples there is no summary, but the rows are more important.
	 */
	if (fdio_write(l->samples, &s, sizeof(s)) != 0) {
		sys_close(l->samples);
		l->samples = -1;
	}
}

/* Reads the sample at *at and advances it.  Returns false at the end. */
static bool
next_sample(const struct lap *l, struct sample *s, off_t *at)
{
	if (fdio_pread(l->samples, s, sizeof(*s), *at) != (ssize_t)sizeof(*s))
		return false;
	*at += (off_t)sizeof(*s);
	return true;
}

void
lap_collect(const struct lap *l, uint32_t cell, struct lap_sums *s)
{
	struct sample one;
	off_t at = 0;

	s->n = s->failed = s->left = s->disturbed = 0;
	while (next_sample(l, &one, &at)) {
		if (one.cell != cell)
			continue;
		s->left += one.left;
		s->disturbed += one.disturbed;
		if (one.status != 0) {
			s->failed++;
			continue;
		}
		for (int i = 0; i < LAP_VALUES; i++)
			s->v[i][s->n] = one.v[i];
		s->n++;
	}
	for (int i = 0; i < LAP_VALUES; i++)
		stats_sort(s->v[i], s->n);
}

size_t
lap_ratios(const struct lap *l, uint32_t cell, uint32_t ref, double *out)
{
	double *other = out + l->rounds + 1;
	struct sample one;
	size_t n = 0;
	off_t at = 0;

	/* indexed by run number: the times of the reference, then the ratios */
	for (int64_t i = 0; i < 2 * (l->rounds + 1); i++)
		out[i] = NAN;
	while (next_sample(l, &one, &at)) {
		if (one.status != 0 || one.run > l->rounds)
			continue;
		if (one.cell == ref)
			other[one.run] = one.v[LAP_WALL];
		if (one.cell == cell)
			out[one.run] = one.v[LAP_WALL];
	}
	for (int64_t i = 0; i <= l->rounds; i++)
		if (isfinite(out[i] / other[i]))
			out[n++] = out[i] / other[i];
	stats_sort(out, n);
	return n;
}

uint32_t
lap_reference(const struct lap *l, uint32_t cell)
{
	uint32_t i = 0;

	while (l->cells[i].variant != l->cells[cell].variant)
		i++;
	return i;
}

static const double ALPHA = 0.05;

bool
lap_enough(struct lap *l, uint64_t start_ns)
{
	bool now = false;
	double *ratios, conf;
	int looks = 0;

	if (l->rounds < l->o.least)
		return false;
	if (l->o.for_s > 0 &&
	    (double)(sys_now_ns() - start_ns) / 1e9 >= l->o.for_s)
		return true;
	if (!(l->o.within > 0) || l->samples < 0)
		return false;
	/* the rounds after which the ratios are examined */
	for (int64_t r = l->o.least; r <= l->o.runs; r += (r + 1) / 2) {
		now |= r == l->rounds;
		looks++;
	}
	if (!now)
		return false;
	ratios = sys_malloc(2 * (size_t)(l->rounds + 1) * sizeof(*ratios));
	if (ratios == NULL)
		return false;
	conf = 1 - ALPHA / looks;
	for (uint32_t i = 0; i < l->cell_count && now; i++) {
		uint32_t ref = lap_reference(l, i);
		struct stats_interval b;

		if (i == ref)
			continue;
		now = stats_median_interval(ratios,
		    lap_ratios(l, i, ref, ratios), conf, &b) == 0;
		/* a difference, or known to be too small to matter */
		now = now && (b.hi < 1 || b.lo > 1 ||
		    (b.lo >= 1 - l->o.within && b.hi <= 1 + l->o.within));
	}
	sys_free(ratios);
	return now;
}

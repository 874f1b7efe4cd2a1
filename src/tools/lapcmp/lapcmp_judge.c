/*
 * lapcmp_judge.c - paired ratios, their intervals and the verdicts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two runs form a pair if they have the same series and run number.  They ran
 * in the same round, so any disturbance of the machine that lasted longer than
 * a round affected both.  The verdict is based only on the ratios of pairs.
 *
 * Runs that are not known to be interleaved are compared as two independent
 * samples.  A drift of the machine from one to the other would pass for a
 * difference, so there is no verdict if the runs of either depend on the runs
 * before them.
 *
 * An interval, its p-value and the verdict always agree: the verdict is derived
 * from the interval, and Holm's method sets the level of the interval.
 */
#include "lapcmp.h"

#include "base/sys.h"
#include "measure/sample.h"

#include <errno.h>
#include <math.h>

static const double ALPHA = 0.05;
static const double POWER_QUANTILE = 0.8416;	/* normal: four of five */

const char CMP_FASTER[] = "faster";
const char CMP_SLOWER[] = "slower";
const char CMP_NOT_RESOLVED[] = "not resolved";

/* Compares two rows of different labels by the fields that define pairs. */
static int
pair_order(const struct cmp *c, const struct cmp_row *x,
    const struct cmp_row *y)
{
	if (!c->o.across && x->series != y->series)
		return x->series < y->series ? -1 : 1;
	return (x->run > y->run) - (x->run < y->run);
}

/*
 * Writes the ratios' logarithms to scratch; both ranges are in the order of pair_order().
 */
static size_t
pair_runs(const struct cmp *c, struct cmp_result *r)
{
	const struct cmp_row *row = c->rows.row;
	size_t i, k, n = 0;
	size_t i_end = cmp_find(&c->rows, r->group, r->label, &i);
	size_t k_end = cmp_find(&c->rows, r->group, r->ref, &k);

	while (i < i_end && k < k_end) {
		int order = pair_order(c, &row[i], &row[k]);
		double time = row[i].v[r->metric], ref = row[k].v[r->metric];

		/*
		 * A series says that lap started runs with equal numbers in the
		 * same round.  Without one they may have been made one label
		 * after the other, and a drift of the machine would pass for a
		 * difference.
		 */
		if (order == 0 && !c->o.across &&
		    *c->rows.series.text[row[i].series] == '\0') {
			r->loose = true;
		} else if (order == 0 && cmp_counts(c, &row[i]) &&
		    cmp_counts(c, &row[k])) {
			double q = time / ref;

			/*
			 * A time of 0 is below the resolution of the clock: two
			 * zeros are equal, and any other time is infinitely
			 * longer.  Omitting pairs with zeros would favour the
			 * side without zeros.
			 */
			if (ref == 0)
				q = time == 0 ? 1 : INFINITY;
			if (!isnan(q))
				c->scratch[n++] = log(q);
		}
		i += order <= 0;
		k += order >= 0;
	}
	return n;
}

/* Stores what was found for logarithms. */
static void
note_centre(struct cmp_test *t, const struct stats_centre *centre)
{
	t->ratio = exp(centre->value);
	t->p = centre->p;
	t->bounded = centre->bounded;
	t->interval = (struct stats_interval){ .lo = exp(centre->interval.lo),
		.hi = exp(centre->interval.hi),
		.conf = centre->interval.conf };
}

/*
 * Applies the sign test to n sorted values.  A value of 0 counts against both
 * verdicts, as it does in the interval.
 */
static void
test_signs(struct cmp_test *t, const double *sorted, size_t n, double conf)
{
	struct stats_centre centre = { .value = stats_quantile(sorted, n, 0.5) };
	size_t not_less = 0, not_more = 0, few;

	for (size_t i = 0; i < n; i++) {
		not_less += sorted[i] >= 0;
		not_more += sorted[i] <= 0;
	}
	few = not_less < not_more ? not_less : not_more;
	centre.p = n == 0 ? NAN : 2 * few >= n ? 1 : stats_sign_p(few, n - few);
	centre.bounded = stats_median_interval(sorted, n, conf,
	    &centre.interval) == 0;
	note_centre(t, &centre);
}

/*
 * Compares the pairs.  Signs decide if ranks cannot: with a ratio of 0 or
 * infinity, or with too many pairs.
 */
static int
compare_pairs(const struct cmp *c, struct cmp_result *r)
{
	struct cmp_test *t = &r->test;
	struct stats_centre centre;
	int rc = -ERANGE;

	t->kind = CMP_RANKS;
	if (c->o.test == CMP_RANKS)
		rc = stats_signed_rank(c->scratch, r->pairs, r->conf, &centre);
	if (rc == 0) {
		note_centre(t, &centre);
	} else if (rc != -ENOMEM && r->pairs > 0) {
		t->kind = CMP_SIGN;
		stats_sort(c->scratch, r->pairs);
		test_signs(t, c->scratch, r->pairs, r->conf);
	}
	return rc == -ENOMEM ? rc : 0;
}

/* Stores the logarithms of a label's runs, in their order, and their number. */
static size_t
logarithms(const struct cmp *c, const struct cmp_result *r, uint32_t label,
    double *to)
{
	size_t first, end = cmp_find(&c->rows, r->group, label, &first), n = 0;

	for (size_t i = first; i < end; i++) {
		const struct cmp_row *row = &c->rows.row[i];

		if (cmp_counts(c, row) && isfinite(row->v[r->metric]))
			to[n++] = log(row->v[r->metric]);
	}
	return n;
}

/* Compares runs that were not interleaved. */
static int
compare_samples(const struct cmp *c, struct cmp_result *r)
{
	double *x = c->scratch, *y, of_x, of_y;
	size_t nx = logarithms(c, r, r->label, x), ny;
	struct stats_centre centre;
	int rc;

	y = x + nx;
	ny = logarithms(c, r, r->ref, y);
	r->test.kind = CMP_RANK_SUM;
	rc = stats_rank_sum(x, nx, y, ny, r->conf, &centre);
	note_centre(&r->test, &centre);
	if (rc == 0)
		rc = stats_drift_p(x, nx, &of_x);
	if (rc == 0)
		rc = stats_drift_p(y, ny, &of_y);
	if (rc == 0)
		r->drifts = of_x < ALPHA || of_y < ALPHA;
	return rc == -ENOMEM ? rc : 0;
}

static int
compare(const struct cmp *c, struct cmp_result *r)
{
	r->pairs = pair_runs(c, r);
	return r->pairs == 0 && r->loose ? compare_samples(c, r) :
	    compare_pairs(c, r);
}

int
cmp_least_pairs(double conf)
{
	return (int)ceil(1 - log2((1 - conf) * (1 + 1e-9)));
}

double
cmp_pairs_needed(const struct cmp *c, const struct cmp_result *r)
{
	const struct cmp_test *t = &r->test;
	double n = r->pairs > 0 ? (double)r->pairs : (double)r->n, error;

	if (!t->bounded || !(t->interval.lo > 0) || isinf(t->interval.hi))
		return NAN;
	error = log(t->interval.hi / t->interval.lo) / 2 /
	    sample_student(t->interval.conf, 1e6);
	return ceil(n * pow((sample_student(r->conf, 1e6) + POWER_QUANTILE) *
	    error / log1p(c->o.effect), 2));
}

/* Computes Holm's p for all comparisons, of both metrics and in all groups. */
static int
adjust_by_holm(struct cmp *c)
{
	double *p = sys_malloc((c->count + 1) * sizeof(*p));
	size_t m = 0;

	if (p == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++)
		if (isfinite(c->result[i].test.p))
			p[m++] = c->result[i].test.p;
	stats_holm(p, m);
	m = 0;
	for (size_t i = 0; i < c->count; i++)
		if (isfinite(c->result[i].test.p))
			c->result[i].test.p_holm = p[m++];
	sys_free(p);
	return 0;
}

/*
 * Sets the level at which Holm's method decides each comparison: the level of
 * its rank or, starting with the first unresolved comparison, the level of that
 * comparison.
 */
static void
set_levels(struct cmp *c)
{
	size_t made = 0, resolved = 0;

	for (size_t i = 0; i < c->count; i++) {
		made += isfinite(c->result[i].test.p);
		resolved += c->result[i].test.p_holm <= ALPHA;
	}
	for (size_t i = 0; i < c->count; i++) {
		double p = c->result[i].test.p;
		size_t rank = 0;

		if (!isfinite(p))
			continue;
		/* how many comparisons precede this one in Holm's order */
		for (size_t k = 0; k < c->count; k++) {
			double q = c->result[k].test.p;

			rank += q < p || (q == p && k < i);
		}
		c->result[i].conf = 1 - ALPHA / (double)(made -
		    (rank < resolved ? rank : resolved));
	}
}

static const char *
verdict(const struct cmp_result *r)
{
	const struct cmp_test *t = &r->test;

	if (!t->bounded || r->drifts)
		return CMP_NOT_RESOLVED;
	return t->interval.hi < 1 ? CMP_FASTER :
	    t->interval.lo > 1 ? CMP_SLOWER : CMP_NOT_RESOLVED;
}

/*
 * Returns the reference of a group: without -r, the first of its labels,
 * because a label that contains a parameter occurs in a single group.  A group
 * with only one label is left without a reference.
 */
static uint32_t
group_reference(const struct cmp *c, uint32_t group)
{
	const struct cmp_row *row = c->rows.row;
	size_t i = 0;

	while (i < c->rows.count && row[i].group < group)
		i++;
	for (size_t k = i; c->o.ref == NULL && k < c->rows.count &&
	    row[k].group == group; k++)
		if (row[k].label != row[i].label)
			return row[i].label;
	return c->ref;
}

int
cmp_judge(struct cmp *c)
{
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct cmp_result *r = &c->result[i];

		r->ref = group_reference(c, r->group);
		r->is_ref = r->label == r->ref;
		r->verdict = "";
		r->conf = 1 - ALPHA;
		r->test = (struct cmp_test){ .ratio = NAN, .p = NAN,
			.p_holm = NAN };
		if (!r->is_ref)
			rc = compare(c, r);
	}
	if (rc == 0)
		rc = adjust_by_holm(c);
	if (rc == 0 && c->o.holm)
		set_levels(c);
	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct cmp_result *r = &c->result[i];

		if (r->is_ref)
			continue;
		if (c->o.holm)
			rc = compare(c, r);
		r->verdict = verdict(r);
	}
	return rc;
}

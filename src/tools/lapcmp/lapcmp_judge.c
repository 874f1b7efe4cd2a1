/*
 * lapcmp_judge.c - paired ratios, their intervals and the verdicts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Two runs form a pair if they have the same series and run number.  They ran
 * in the same round, so any disturbance of the machine that lasted longer than
 * a round affected both.  The verdict is based only on the ratios of pairs.
 *
 * An interval, its p-value and the verdict always agree: the verdict is derived
 * from the interval, and Holm's method sets the level of the interval.
 */
#include "lapcmp.h"

#include "base/sys.h"

#include <errno.h>
#include <math.h>

static const double ALPHA = 0.05;

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
 * Writes the ratios to scratch; both ranges are in the order of pair_order().
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
				c->scratch[n++] = q;
		}
		i += order <= 0;
		k += order >= 0;
	}
	return n;
}

/*
 * Applies the sign test.  A ratio of 1 counts against both verdicts, as it does
 * in the interval.
 */
static void
test_signs(struct cmp_test *t, const double *sorted, size_t n, double conf)
{
	size_t not_less = 0, not_more = 0, few;

	for (size_t i = 0; i < n; i++) {
		not_less += sorted[i] >= 1;
		not_more += sorted[i] <= 1;
	}
	few = not_less < not_more ? not_less : not_more;
	t->ratio = stats_quantile(sorted, n, 0.5);
	t->p = n == 0 ? NAN : 2 * few >= n ? 1 : stats_sign_p(few, n - few);
	t->bounded = stats_median_interval(sorted, n, conf, &t->interval) == 0;
}

/*
 * Applies the signed-rank test to logarithms, which replace the ratios in v.
 * It says nothing about too many of them.  Returns 0 or -ENOMEM.
 */
static int
test_ranks(struct cmp_test *t, double *v, size_t n, double conf)
{
	struct stats_centre centre;
	int rc;

	for (size_t i = 0; i < n; i++)
		v[i] = log(v[i]);
	rc = stats_signed_rank(v, n, conf, &centre);
	t->ratio = exp(centre.value);
	t->p = centre.p;
	t->bounded = centre.bounded;
	t->interval = (struct stats_interval){ .lo = exp(centre.interval.lo),
		.hi = exp(centre.interval.hi), .conf = centre.interval.conf };
	return rc == -ENOMEM ? rc : 0;
}

static int
apply_tests(const struct cmp *c, struct cmp_result *r)
{
	r->pairs = pair_runs(c, r);
	stats_sort(c->scratch, r->pairs);
	test_signs(&r->test[CMP_SIGN], c->scratch, r->pairs, r->conf);
	return test_ranks(&r->test[CMP_RANK], c->scratch, r->pairs, r->conf);
}

const struct cmp_test *
cmp_deciding(const struct cmp *c, const struct cmp_result *r)
{
	return &r->test[c->o.test];
}

int
cmp_least_pairs(double conf)
{
	return (int)ceil(1 - log2((1 - conf) * (1 + 1e-9)));
}

/* Computes Holm's p for all comparisons, of both metrics and in all groups. */
static int
adjust_by_holm(struct cmp *c, enum cmp_kind kind)
{
	double *p = sys_malloc((c->count + 1) * sizeof(*p));
	size_t m = 0;

	if (p == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < c->count; i++)
		if (isfinite(c->result[i].test[kind].p))
			p[m++] = c->result[i].test[kind].p;
	stats_holm(p, m);
	m = 0;
	for (size_t i = 0; i < c->count; i++)
		if (isfinite(c->result[i].test[kind].p))
			c->result[i].test[kind].p_holm = p[m++];
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
		const struct cmp_test *t = cmp_deciding(c, &c->result[i]);

		made += isfinite(t->p);
		resolved += t->p_holm <= ALPHA;
	}
	for (size_t i = 0; i < c->count; i++) {
		double p = cmp_deciding(c, &c->result[i])->p;
		size_t rank = 0;

		if (!isfinite(p))
			continue;
		/* how many comparisons precede this one in Holm's order */
		for (size_t k = 0; k < c->count; k++) {
			double q = cmp_deciding(c, &c->result[k])->p;

			rank += q < p || (q == p && k < i);
		}
		c->result[i].conf = 1 - ALPHA / (double)(made -
		    (rank < resolved ? rank : resolved));
	}
}

static const char *
verdict(const struct cmp_test *t)
{
	if (t->bounded && t->interval.hi < 1)
		return CMP_FASTER;
	if (t->bounded && t->interval.lo > 1)
		return CMP_SLOWER;
	return CMP_NOT_RESOLVED;
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
	static const struct cmp_test none = { .ratio = NAN, .p = NAN,
		.p_holm = NAN };
	int rc = 0;

	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct cmp_result *r = &c->result[i];

		r->ref = group_reference(c, r->group);
		r->is_ref = r->label == r->ref;
		r->verdict = "";
		r->conf = 1 - ALPHA;
		for (int kind = 0; kind < CMP_KINDS; kind++)
			r->test[kind] = none;
		if (!r->is_ref)
			rc = apply_tests(c, r);
	}
	for (int kind = 0; kind < CMP_KINDS && rc == 0; kind++)
		rc = adjust_by_holm(c, (enum cmp_kind)kind);
	if (rc == 0 && c->o.holm)
		set_levels(c);
	for (size_t i = 0; i < c->count && rc == 0; i++) {
		struct cmp_result *r = &c->result[i];

		if (r->is_ref)
			continue;
		if (c->o.holm)
			rc = apply_tests(c, r);
		r->verdict = verdict(cmp_deciding(c, r));
	}
	return rc;
}

/*
 * lapcmp_compare.c - sorting the rows and computing statistics for each label
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/sys.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
cmp_counts(const struct cmp *c, const struct cmp_row *r)
{
	return c->o.all || !r->failed;
}

static int
by_label(const struct cmp_row *x, const struct cmp_row *y)
{
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->label > y->label) - (x->label < y->label);
}

static int
by_series(const struct cmp_row *x, const struct cmp_row *y)
{
	return (x->series > y->series) - (x->series < y->series);
}

/*
 * Also sorts by cell, because a round has several runs of one label if some
 * parameters are not among the keys.
 */
static int
by_run(const struct cmp_row *x, const struct cmp_row *y)
{
	if (x->run != y->run)
		return x->run < y->run ? -1 : 1;
	return (x->cell > y->cell) - (x->cell < y->cell);
}

static int
in_rounds(const void *a, const void *b)
{
	int order = by_label(a, b);

	if (order == 0)
		order = by_series(a, b);
	return order != 0 ? order : by_run(a, b);
}

size_t
cmp_find(const struct cmp_rows *rows, uint32_t group, uint32_t label,
    size_t *first)
{
	size_t i = 0, k;

	while (i < rows->count && (rows->row[i].group < group ||
	    (rows->row[i].group == group && rows->row[i].label < label)))
		i++;
	for (k = i; k < rows->count && rows->row[k].group == group &&
	    rows->row[k].label == label;)
		k++;
	*first = i;
	return k;
}

double
cmp_limit(const struct cmp_result *r)
{
	return r->q3 + 3 * (r->q3 - r->q1);
}

/* Computes the statistics that do not involve the reference. */
static void
describe(const struct cmp *c, struct cmp_result *r)
{
	double *v = c->scratch;
	size_t first, end = cmp_find(&c->rows, r->group, r->label, &first);

	for (size_t i = first; i < end; i++) {
		const struct cmp_row *row = &c->rows.row[i];

		r->failed += row->failed;
		if (cmp_counts(c, row) && isfinite(row->v[r->metric]))
			v[r->n++] = row->v[r->metric];
	}
	stats_sort(v, r->n);
	r->median = stats_quantile(v, r->n, 0.5);
	r->q1 = stats_quantile(v, r->n, 0.25);
	r->q3 = stats_quantile(v, r->n, 0.75);
	r->min = r->n > 0 ? v[0] : NAN;
	r->max = r->n > 0 ? v[r->n - 1] : NAN;
	r->trimmed = NAN;
	if (c->o.trim >= 0)
		r->trimmed = stats_trimmed(v, r->n, c->o.trim, &r->cut);
	for (size_t i = 0; i < r->n; i++)
		r->outliers += v[i] > cmp_limit(r);
}

/* Sorts the rows of each label by run only, for --across. */
static int
across(const void *a, const void *b)
{
	int order = by_label(a, b);

	if (order == 0)
		order = by_run(a, b);
	return order != 0 ? order : by_series(a, b);
}

/*
 * Rounds are shuffled, so the order of the rows is meaningless.  Labels are
 * sorted in the order of the commands on the command line or, if that is
 * unknown, in the order of their first rows.
 */
static int
order_labels(struct cmp_rows *rows)
{
	uint32_t n = rows->labels.count, *place;
	char **text;

	place = sys_malloc((n + 1) * sizeof(*place));
	text = sys_malloc((n + 1) * sizeof(*text));
	if (place == NULL || text == NULL) {
		sys_free(place);
		sys_free(text);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++) {
		place[i] = 0;
		for (uint32_t k = 0; k < n; k++)
			place[i] += rows->cells[k] < rows->cells[i] ||
			    (k < i && rows->cells[k] == rows->cells[i]);
		text[place[i]] = rows->labels.text[i];
	}
	for (size_t i = 0; i < rows->count; i++)
		rows->row[i].label = place[rows->row[i].label];
	sys_free(rows->labels.text);
	sys_free(place);
	rows->labels.text = text;
	return 0;
}

int
cmp_compare(struct cmp *c)
{
	size_t groups = c->rows.groups.count, labels = c->rows.labels.count;
	struct cmp_rows *rows = &c->rows;
	int rc = order_labels(rows);
	size_t kept = 0;

	if (rc != 0)
		return rc;
	c->ref = 0;
	while (c->o.ref != NULL && c->ref < labels &&
	    strcmp(rows->labels.text[c->ref], c->o.ref) != 0)
		c->ref++;
	if (c->o.ref != NULL && c->ref == labels)
		return -ENOENT;
	c->result = sys_calloc(groups * labels * CMP_METRICS,
	    sizeof(*c->result));
	c->scratch = sys_malloc((c->rows.count + 1) * sizeof(*c->scratch));
	if (c->result == NULL || c->scratch == NULL)
		return -ENOMEM;
	qsort(c->rows.row, c->rows.count, sizeof(*c->rows.row),
	    c->o.across ? across : in_rounds);
	/* drop duplicate runs, such as those that appear in two files */
	for (size_t i = 0; i < rows->count; i++) {
		const struct cmp_row *x = &rows->row[i], *last;

		last = kept == 0 ? NULL : &rows->row[kept - 1];
		if (last == NULL || by_label(last, x) != 0 ||
		    last->series != x->series || by_run(last, x) != 0)
			rows->row[kept++] = *x;
	}
	rows->again = rows->count - kept;
	rows->count = kept;
	for (size_t i = 0; i < groups * labels * CMP_METRICS; i++) {
		struct cmp_result *r = &c->result[c->count];

		*r = (struct cmp_result){
			.group = (uint32_t)(i / labels / CMP_METRICS),
			.metric = (enum cmp_metric)(i / labels % CMP_METRICS),
			.label = (uint32_t)(i % labels) };
		describe(c, r);
		/* not every label or metric occurs in every group */
		c->count += r->n > 0 || r->failed > 0;
	}
	return cmp_judge(c);
}

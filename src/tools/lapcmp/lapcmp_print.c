/*
 * lapcmp_print.c - printing the results of lapcmp as text and as rows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lapcmp.h"

#include "base/sys.h"
#include "base/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const metrics[CMP_METRICS] = { "wall_s", "cpu_s" };
static const char *const titles[CMP_METRICS] = { "wall_s", "user+sys_s" };

enum { OUTLIERS_MAX = 10, LABEL_MAX_W = 48 };

/* Prints four significant digits, for times from microseconds to days. */
static void
print_time(double v)
{
	int digits = 2;

	if (v < 1e-2)
		digits = 6;
	else if (v < 1)
		digits = 5;
	else if (v < 10)
		digits = 4;
	else if (v < 100)
		digits = 3;
	if (isnan(v))
		printf("  %10s", "-");
	else
		printf("  %10.*f", digits, v);
}

/* Prints a label, escaping control characters, which would garble the table. */
static int
print_name(const char *s, int width)
{
	int n = 0;

	for (; *s != '\0' && n < LABEL_MAX_W; s++, n++)
		putchar((unsigned char)*s < ' ' || *s == 0x7f ? '?' : *s);
	printf("%*s", width > n ? width - n : 0, "");
	return n;
}

/*
 * Returns the largest difference that may have gone undetected, in percent; NaN
 * if a difference was found, or if there is no interval.
 */
static double
unseen_pct(const struct cmp_result *r)
{
	const struct cmp_test *t = &r->test;

	return r->verdict == CMP_NOT_RESOLVED && t->bounded ?
	    100 * fmax(1 - t->interval.lo, t->interval.hi - 1) : NAN;
}

static bool
is_unpaired(const struct cmp_result *r)
{
	return !r->is_ref && r->test.kind == CMP_RANK_SUM;
}

/* Prints why there is no verdict. */
static void
print_reason(const struct cmp_result *r)
{
	const struct cmp_test *t = &r->test;
	double unseen = unseen_pct(r);

	if (r->drifts)
		printf("the runs drift");
	else if (r->pairs == 0 && !is_unpaired(r))
		printf("no pairs");
	else if (t->bounded && (t->interval.lo == 0 || isinf(unseen)))
		printf("no limit");
	else if (unseen >= 100)
		printf("up to %.*f times", t->interval.hi < 10 ? 1 : 0,
		    t->interval.hi);
	else if (t->bounded)
		printf("+-%.1f %%", unseen);
	else if (is_unpaired(r))
		printf("no interval");
	else
		printf("no interval with fewer than %d pairs",
		    cmp_least_pairs(r->conf));
}

static void
print_verdict(const struct cmp_result *r)
{
	const struct cmp_test *t = &r->test;

	if (r->is_ref)
		printf("  %5s  %8s  %-17s  reference", "", "1", "");
	else {
		printf("  %5zu", r->pairs);
		if (isnan(t->ratio))
			printf("  %8s", "-");
		else
			printf("  %8.4f", t->ratio);
		if (t->bounded)
			printf("  %7.4f..%-8.4f", t->interval.lo,
			    t->interval.hi);
		else
			printf("  %-17s", t->ratio > 0 ? "-" : "");
		printf("  %s", r->verdict);
		if (is_unpaired(r) || r->verdict == CMP_NOT_RESOLVED) {
			printf(" (%s", is_unpaired(r) ? "not interleaved" : "");
			if (r->verdict == CMP_NOT_RESOLVED) {
				printf("%s", is_unpaired(r) ? ", " : "");
				print_reason(r);
			}
			putchar(')');
		}
	}
	if (r->failed > 0)
		printf("  %zu failed", r->failed);
	putchar('\n');
}

static void
print_result(const struct cmp *c, const struct cmp_result *r, int width)
{
	print_name(c->rows.labels.text[r->label], width);
	printf("  %5zu", r->n);
	print_time(r->median);
	print_time(r->q1);
	print_time(r->q3);
	if (c->o.trim >= 0) {
		print_time(r->trimmed);
		printf("  %3zu", r->cut);
	}
	print_verdict(r);
}

static void
print_head(const struct cmp *c, const struct cmp_result *r, int width)
{
	print_name(titles[r->metric], width);
	printf("  %5s  %10s  %10s  %10s", "n", "median", "q1", "q3");
	if (c->o.trim >= 0)
		printf("  %4.3g%% trim  %3s", 100 * c->o.trim, "cut");
	printf("  %5s  %8s  %-17s  verdict\n", "pairs", "ratio",
	    c->o.holm ? "joint interval" : "95 % interval");
}

/*
 * Returns the median of a cause over the runs of a label, to detect unusual
 * values.
 */
static double
usual(const struct cmp *c, const struct cmp_row *of, enum runs_cause cause)
{
	size_t n = 0;

	for (size_t i = 0; i < c->rows.count; i++) {
		const struct cmp_row *row = &c->rows.row[i];

		if (row->group == of->group && row->label == of->label &&
		    isfinite(row->cause[cause]))
			c->scratch[n++] = row->cause[cause];
	}
	stats_sort(c->scratch, n);
	return stats_quantile(c->scratch, n, 0.5);
}

static void
print_causes(const struct cmp *c, const struct cmp_row *row)
{
	static const char *const names[RUNS_CAUSES] = { "steal",
		"processor pressure", "I/O pressure", "memory pressure",
		"involuntary switches", "major faults", "bytes read" };
	bool any = false;

	for (int i = 0; i < RUNS_CAUSES; i++) {
		double v = row->cause[i], least = i < RUNS_NIVCSW ? 0.05 : 10;

		if (!(v > least) || !(v > 2 * usual(c, row, (enum runs_cause)i)))
			continue;
		if (i < RUNS_NIVCSW)
			printf("%s %s %.0f %%", any ? "," : ";", names[i],
			    100 * v);
		else
			printf("%s %s %.0f", any ? "," : ";", names[i], v);
		any = true;
	}
	puts(any ? "" : "; cause unknown");
}

static void
print_outliers(const struct cmp *c, const struct cmp_result *r)
{
	int shown = 0;

	if (r->metric != CMP_WALL || r->outliers == 0)
		return;
	for (size_t i = 0; i < c->rows.count && shown < OUTLIERS_MAX; i++) {
		const struct cmp_row *row = &c->rows.row[i];

		if (row->group != r->group || row->label != r->label ||
		    !cmp_counts(c, row) || !(row->v[CMP_WALL] > cmp_limit(r)))
			continue;
		printf("outlier: ");
		print_name(c->rows.labels.text[r->label], 0);
		printf(", run %jd: %.2f x the median", (intmax_t)row->run,
		    row->v[CMP_WALL] / r->median);
		print_causes(c, row);
		shown++;
	}
	if (r->outliers > (size_t)shown)
		printf("and %zu more\n", r->outliers - (size_t)shown);
}

/* Returns the unresolved comparison that needs the most pairs, or NULL. */
static const struct cmp_result *
neediest(const struct cmp *c, enum cmp_metric metric)
{
	const struct cmp_result *most = NULL;
	double need = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct cmp_result *r = &c->result[i];
		double n = cmp_pairs_needed(c, r);

		if (r->metric == metric && isfinite(unseen_pct(r)) &&
		    !r->drifts && n > fmax(need, (double)r->pairs)) {
			need = n;
			most = r;
		}
	}
	return most;
}

static void
print_needed(const struct cmp *c)
{
	for (int i = 0; i < CMP_METRICS; i++) {
		const struct cmp_result *r = neediest(c, (enum cmp_metric)i);

		if (r == NULL)
			continue;
		printf("%s: a difference of %g %% takes some %.0f %s ",
		    titles[i], 100 * c->o.effect, cmp_pairs_needed(c, r),
		    is_unpaired(r) ? "runs" : "pairs");
		print_name(c->rows.labels.text[r->label], 0);
		printf(", and is then detected in 4 of 5 cases\n");
	}
}

/*
 * The sign test allows one more exception at 9 pairs, 12, 15 and so on; the
 * numbers between decide less than the one before them.
 */
static void
print_steps(const struct cmp *c)
{
	const struct cmp_result *most = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct cmp_result *r = &c->result[i];

		if (isfinite(unseen_pct(r)) && r->test.kind == CMP_SIGN &&
		    (most == NULL || r->pairs > most->pairs))
			most = r;
	}
	if (most != NULL)
		printf("not resolved with %zu pairs: the next number with "
		    "which the sign test decides more is %zu\n", most->pairs,
		    stats_sign_next(most->pairs, most->conf));
}

static void
print_foot(const struct cmp *c)
{
	size_t m = 0, unpaired = 0, missing = 0, signs = 0;
	bool one = true;

	for (size_t i = 0; i < c->count; i++) {
		const struct cmp_result *r = &c->result[i];

		m += !r->is_ref;
		unpaired += is_unpaired(r);
		missing += !r->is_ref && r->pairs == 0 && !is_unpaired(r);
		signs += !r->is_ref && r->test.kind == CMP_SIGN;
		one = one && r->ref == c->result[0].ref;
	}
	if (m == 0)
		return;
	printf("ratio: over pairs of runs, to ");
	if (one)
		print_name(c->rows.labels.text[c->result[0].ref], 0);
	else
		printf("the first of each group");
	printf("; verdicts by %s; %zu comparison%s, %s\n",
	    c->o.test == CMP_SIGN ? "the sign test" : "signed ranks", m,
	    m > 1 ? "s" : "", c->o.holm ? "family-wise error 5 % (Holm)" :
	    "each at 5 % on its own");
	if (signs > 0 && c->o.test != CMP_SIGN)
		printf("%zu by the sign test: times of 0, or more than %d "
		    "pairs\n", signs, STATS_RANK_MAX);
	if (unpaired > 0)
		printf("not interleaved: rows without a series are compared by "
		    "rank sums, as independent runs;\na drift between the "
		    "labels reads as a difference (--across pairs rows by run "
		    "number)\n");
	if (missing > 1 && c->o.keys == NULL)
		printf("%zu comparisons have no pairs: rows are paired "
		    "within groups of equal keys, which -k chooses\n",
		    missing);
	print_needed(c);
	print_steps(c);
	if (c->o.across)
		puts("pairs are by run number only: a drift of the machine "
		    "reads as a difference");
}

/* Returns whether the name of a group says something. */
static bool
has_title(const struct cmp *c, uint32_t group)
{
	const char *name = c->rows.groups.text[group];

	return *name != '\0' && (c->rows.groups.count > 1 ||
	    strcmp(name, "cache=unknown") != 0);
}

int
cmp_print_text(struct cmp *c)
{
	int width = (int)strlen(titles[CMP_CPU]);

	for (uint32_t i = 0; i < c->rows.labels.count; i++) {
		size_t n = strlen(c->rows.labels.text[i]);

		if (n > LABEL_MAX_W)
			n = LABEL_MAX_W;
		width = (int)n > width ? (int)n : width;
	}
	for (size_t i = 0; i < c->count; i++) {
		const struct cmp_result *r = &c->result[i];
		bool new_group = i == 0 || r[-1].group != r->group;

		if (i > 0 && (new_group || r[-1].metric != r->metric))
			putchar('\n');
		if (new_group && has_title(c, r->group)) {
			print_name(c->rows.groups.text[r->group], 0);
			putchar('\n');
		}
		if (new_group || r[-1].metric != r->metric)
			print_head(c, r, width);
		print_result(c, r, width);
	}
	if (c->count > 0)
		putchar('\n');
	for (size_t i = 0; i < c->count; i++)
		print_outliers(c, &c->result[i]);
	print_foot(c);
	return 0;
}

static const char *const columns[] = {
	"group", "stage", "metric", "label", "ref", "n", "failed", "outliers",
	"median_s", "q1_s", "q3_s", "min_s", "max_s", "trim_pct", "trim_cut",
	"trimmed_mean_s", "pairs", "test", "ratio", "ratio_lo", "ratio_hi",
	"conf_pct", "half_pct", "p", "p_holm", "verdict", "unseen_pct",
	"pairs_needed"
};

static int
put_result(struct table *t, const struct cmp *c, const struct cmp_result *r)
{
	const double times[] = { r->median, r->q1, r->q3, r->min, r->max };
	static const char *const tests[] = { "signed ranks", "sign",
		"rank sum" };
	const struct cmp_test *o = &r->test;
	double lo = o->bounded ? o->interval.lo : NAN;
	double hi = o->bounded ? o->interval.hi : NAN;

	table_text(t, c->rows.groups.text[r->group]);
	table_text(t, c->o.stage);
	table_text(t, metrics[r->metric]);
	table_text(t, c->rows.labels.text[r->label]);
	table_text(t, c->rows.labels.text[r->ref]);
	table_int(t, (int64_t)r->n);
	table_int(t, (int64_t)r->failed);
	table_int(t, (int64_t)r->outliers);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		table_real(t, times[i], 9);
	if (c->o.trim >= 0) {
		table_real(t, 100 * c->o.trim, 2);
		table_int(t, (int64_t)r->cut);
	} else {
		table_none(t);
		table_none(t);
	}
	table_real(t, r->trimmed, 9);
	if (r->is_ref) {
		table_none(t);
		table_none(t);
	} else {
		table_int(t, (int64_t)r->pairs);
		table_text(t, tests[o->kind]);
	}
	table_real(t, o->ratio, 6);
	table_real(t, lo, 6);
	table_real(t, hi, 6);
	table_real(t, o->bounded ? 100 * o->interval.conf : NAN, 2);
	table_real(t, 50 * (hi - lo), 3);
	table_real(t, o->p, 12);
	table_real(t, o->p_holm, 12);
	table_text(t, r->is_ref ? "reference" : r->verdict);
	table_real(t, unseen_pct(r), 3);
	table_real(t, r->is_ref ? NAN : cmp_pairs_needed(c, r), 0);
	return table_end(t);
}

int
cmp_print_rows(struct cmp *c)
{
	struct table *t = NULL;
	int rc = table_to_fd(&t, STDOUT_FILENO,
	    c->o.json ? TABLE_JSON : TABLE_CSV, columns,
	    sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; rc == 0 && i < c->count; i++)
		rc = put_result(t, c, &c->result[i]);
	table_close(t);
	return rc;
}

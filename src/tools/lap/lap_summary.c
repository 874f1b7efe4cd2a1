/*
 * lap_summary.c - printing the final medians, and ratios to the first command
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/stats.h"
#include "base/sys.h"

#include <stdio.h>

/*
 * The comparison of a command with the first command that has the same
 * parameters.
 */
struct ratio {
	size_t pairs;			/* 0 for the first command */
	double median;
	bool bounded;
	struct stats_interval interval;
};

/* Prints a label in a table, escaping bars, which would end the cell. */
static void
print_label(const char *s)
{
	for (; *s != '\0'; s++) {
		if (*s == '|' || *s == '\\')
			putchar('\\');
		putchar((unsigned char)*s < ' ' ? '?' : *s);
	}
}

static void
print_summary_row(const struct lap_cell *c, const struct lap_sums *s,
    const struct ratio *r)
{
	const double *wall = s->v[LAP_WALL];

	fputs("| ", stdout);
	print_label(c->label);
	if (*c->keys != '\0') {
		putchar(' ');
		print_label(c->keys);
	}
	printf(" | %zu | %zu |", s->n, s->failed);
	if (s->n == 0)
		fputs(" | | | | |", stdout);
	else
		printf(" %.4f | %.4f | %.4f | %.4f | %.0f |",
		    stats_quantile(wall, s->n, 0.5), wall[0], wall[s->n - 1],
		    stats_quantile(s->v[LAP_CPU], s->n, 0.5),
		    stats_quantile(s->v[LAP_RSS], s->n, 0.5));
	if (r->pairs == 0)
		puts(" | |");
	else if (!r->bounded)
		printf(" %.3f | |\n", r->median);
	else
		printf(" %.3f | %.3f..%.3f |\n", r->median, r->interval.lo,
		    r->interval.hi);
}

static char *
add_count(char *at, const char *end, size_t count, const char *what)
{
	int n = 0;

	if (count > 0)
		n = snprintf(at, (size_t)(end - at), ", %zu %s", count, what);
	return at + n;
}

static void
note_times(struct lap *l, const struct lap_cell *c, const struct lap_sums *s)
{
	char tail[128] = "", *end = tail + sizeof(tail), *at = tail;
	const double *wall = s->v[LAP_WALL];
	const char *keys = l->param_count > 0 ? c->keys : "";
	const char *blank = l->param_count > 0 ? " " : "";

	at = add_count(at, end, s->failed, "failed");
	at = add_count(at, end, s->disturbed, "disturbed");
	add_count(at, end, s->left, "left processes behind");
	if (s->n == 0)
		msg_note(&l->msg, "%s%s%s: n 0%s", c->label, blank, keys,
		    tail);
	else
		msg_note(&l->msg, "%s%s%s: n %zu, wall %.6f s (%.6f..%.6f), "
		    "user+sys %.6f s%s", c->label, blank, keys, s->n,
		    stats_quantile(wall, s->n, 0.5), wall[0], wall[s->n - 1],
		    stats_quantile(s->v[LAP_CPU], s->n, 0.5), tail);
}

static void
note_ratio(struct lap *l, const struct lap_cell *c, const struct lap_cell *ref,
    const struct ratio *r)
{
	const char *keys = l->param_count > 0 ? c->keys : "";
	const char *blank = l->param_count > 0 ? " " : "";

	if (r->bounded)
		msg_note(&l->msg, "%s%s%s takes %.3f times as long as %s "
		    "(%.3f..%.3f, %.1f %%)", c->label, blank, keys, r->median,
		    ref->label, r->interval.lo, r->interval.hi,
		    100 * r->interval.conf);
	else if (r->pairs > 0)
		msg_note(&l->msg, "%s%s%s takes %.3f times as long as %s (no "
		    "interval with fewer than 6 pairs)", c->label, blank, keys,
		    r->median, ref->label);
}

static struct ratio
compare_to_first(const struct lap *l, uint32_t cell, double *scratch)
{
	uint32_t ref = lap_reference(l, cell);
	struct ratio r = { .pairs = 0 };

	if (cell == ref)
		return r;
	r.pairs = lap_ratios(l, cell, ref, scratch);
	r.median = stats_quantile(scratch, r.pairs, 0.5);
	r.bounded = stats_median_interval(scratch, r.pairs, 0.95,
	    &r.interval) == 0;
	return r;
}

int
lap_summary(struct lap *l)
{
	size_t room = (size_t)l->rounds + 1;
	struct lap_sums s = { .n = 0 };
	double *block;

	if (l->samples < 0)
		return 0;
	block = sys_malloc(LAP_VALUES * room * sizeof(*block));
	if (block == NULL) {
		msg_error(&l->msg, "out of memory for the summary");
		return LAP_FAILED;
	}
	for (int i = 0; i < LAP_VALUES; i++)
		s.v[i] = block + (size_t)i * room;
	if (l->o.markdown)
		puts("| label | n | failed | wall_s median | min | max | "
		    "user+sys_s median | maxrss_KiB median | ratio | "
		    "95 % interval |\n"
		    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (uint32_t i = 0; i < l->cell_count; i++) {
		struct ratio r = compare_to_first(l, i, block);

		lap_collect(l, i, &s);
		if (l->o.markdown)
			print_summary_row(&l->cells[i], &s, &r);
		else
			note_times(l, &l->cells[i], &s);
	}
	for (uint32_t i = 0; i < l->cell_count && !l->o.markdown; i++) {
		struct ratio r = compare_to_first(l, i, block);

		note_ratio(l, &l->cells[i], &l->cells[lap_reference(l, i)], &r);
	}
	sys_free(block);
	return 0;
}

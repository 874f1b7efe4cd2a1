/*
 * lap_samples.c - the times of all runs: an early end, and the summary
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
#include <stdio.h>

enum value { WALL, CPU, RSS, VALUES };

struct sample {
	uint32_t cell;
	int32_t status;
	int64_t run;
	bool left, disturbed;
	double v[VALUES];
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
	s.v[WALL] = (double)(r->proc.end_ns - r->proc.start_ns) / 1e9;
	s.v[CPU] = (double)(u.user_us + u.sys_us) / 1e6;
	s.v[RSS] = (double)u.maxrss_KiB;
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

/*
 * Writes the ratios of the wall-clock times of cell to those of ref, run by
 * run, to out, and sorts them.  out has room for 2 * (l->rounds + 1) values,
 * half of it scratch space.
 */
static size_t
ratios_of(const struct lap *l, uint32_t cell, uint32_t ref, double *out)
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
			other[one.run] = one.v[WALL];
		if (one.cell == cell)
			out[one.run] = one.v[WALL];
	}
	for (int64_t i = 0; i <= l->rounds; i++)
		if (isfinite(out[i] / other[i]))
			out[n++] = out[i] / other[i];
	stats_sort(out, n);
	return n;
}

/* Returns the first command with the same parameter values. */
static uint32_t
reference_of(const struct lap *l, uint32_t cell)
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
		uint32_t ref = reference_of(l, i);
		struct stats_interval b;

		if (i == ref)
			continue;
		now = stats_median_interval(ratios,
		    ratios_of(l, i, ref, ratios), conf, &b) == 0;
		/* a difference, or known to be too small to matter */
		now = now && (b.hi < 1 || b.lo > 1 ||
		    (b.lo >= 1 - l->o.within && b.hi <= 1 + l->o.within));
	}
	sys_free(ratios);
	return now;
}

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

/* The runs of one command; each array has room for l->rounds values. */
struct sums {
	double *v[VALUES];		/* sorted */
	size_t n, failed, left, disturbed;
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
print_summary_row(const struct lap_cell *c, const struct sums *s,
    const struct ratio *r)
{
	const double *wall = s->v[WALL];

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
		    stats_quantile(s->v[CPU], s->n, 0.5),
		    stats_quantile(s->v[RSS], s->n, 0.5));
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
note_times(struct lap *l, const struct lap_cell *c, const struct sums *s)
{
	char tail[128] = "", *end = tail + sizeof(tail), *at = tail;
	const double *wall = s->v[WALL];
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
		    stats_quantile(s->v[CPU], s->n, 0.5), tail);
}

static struct ratio
compare_to_first(const struct lap *l, uint32_t cell, double *scratch)
{
	uint32_t ref = reference_of(l, cell);
	struct ratio r = { .pairs = 0 };

	if (cell == ref)
		return r;
	r.pairs = ratios_of(l, cell, ref, scratch);
	r.median = stats_quantile(scratch, r.pairs, 0.5);
	r.bounded = stats_median_interval(scratch, r.pairs, 0.95,
	    &r.interval) == 0;
	return r;
}

int
lap_summary(struct lap *l)
{
	size_t room = (size_t)l->rounds + 1;
	struct sums s = { .n = 0 };
	double *block;

	if (l->samples < 0)
		return 0;
	block = sys_malloc(VALUES * room * sizeof(*block));
	if (block == NULL) {
		msg_error(&l->msg, "out of memory for the summary");
		return LAP_FAILED;
	}
	for (int i = 0; i < VALUES; i++)
		s.v[i] = block + (size_t)i * room;
	if (l->o.markdown)
		puts("| label | n | failed | wall_s median | min | max | "
		    "user+sys_s median | maxrss_KiB median | ratio | "
		    "95 % interval |\n"
		    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (uint32_t i = 0; i < l->cell_count; i++) {
		struct ratio r = compare_to_first(l, i, block);
		struct sample one;
		off_t at = 0;

		s.n = s.failed = s.left = s.disturbed = 0;
		while (next_sample(l, &one, &at)) {
			if (one.cell != i)
				continue;
			s.left += one.left;
			s.disturbed += one.disturbed;
			if (one.status != 0) {
				s.failed++;
				continue;
			}
			for (int k = 0; k < VALUES; k++)
				s.v[k][s.n] = one.v[k];
			s.n++;
		}
		for (int k = 0; k < VALUES; k++)
			stats_sort(s.v[k], s.n);
		if (l->o.markdown)
			print_summary_row(&l->cells[i], &s, &r);
		else
			note_times(l, &l->cells[i], &s);
	}
	for (uint32_t i = 0; i < l->cell_count && !l->o.markdown; i++) {
		struct ratio r = compare_to_first(l, i, block);
		const char *first = l->cells[reference_of(l, i)].label;
		const char *label = l->cells[i].label;
		const char *keys = l->param_count > 0 ? l->cells[i].keys : "";
		const char *blank = l->param_count > 0 ? " " : "";

		if (r.bounded)
			msg_note(&l->msg, "%s%s%s takes %.3f times as long as "
			    "%s (%.3f..%.3f, %.1f %%)", label, blank, keys,
			    r.median, first, r.interval.lo, r.interval.hi,
			    100 * r.interval.conf);
		else if (r.pairs > 0)
			msg_note(&l->msg, "%s%s%s takes %.3f times as long as "
			    "%s (no interval with fewer than 6 pairs)", label,
			    blank, keys, r.median, first);
	}
	sys_free(block);
	return 0;
}

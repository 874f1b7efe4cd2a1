/*
 * lap_summary.c - the medians at the end
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The times wait in a file in memory that is not mapped: what lap holds in
 * its own memory is the least that a command's peak can be told to be.
 */
#include "lap.h"

#include "base/fdio.h"
#include "base/stats.h"
#include "base/sys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct sample {
	uint32_t cell;
	int32_t status;
	double wall_s, cpu_s, maxrss_KiB;
};

void
lap_sample(struct lap *l, const struct lap_run *r)
{
	struct proc_usage u = r->proc.orphans;
	struct sample s = { .cell = (uint32_t)(r->cell - l->cells),
		.status = lap_run_status(r),
		.wall_s = (double)(r->proc.end_ns - r->proc.start_ns) / 1e9 };

	if (l->samples < 0)
		return;
	for (int i = 0; i < r->proc.count; i++)
		proc_usage_add(&u, &r->proc.stages[i].used);
	s.cpu_s = (double)(u.user_us + u.sys_us) / 1e6;
	s.maxrss_KiB = (double)u.maxrss_KiB;
	/* Without them there is no summary; the rows are what counts. */
	if (fdio_write(l->samples, &s, sizeof(s)) != 0) {
		sys_close(l->samples);
		l->samples = -1;
	}
}

enum { WALL, CPU, RSS, VALUES };

/* What there is of one command. */
struct sums {
	double *v[VALUES];
	size_t n, failed;
};

static void
collect(const struct lap *l, uint32_t cell, struct sums *s)
{
	struct sample one;
	off_t at = 0;

	s->n = s->failed = 0;
	while (fdio_pread(l->samples, &one, sizeof(one), at) ==
	    (ssize_t)sizeof(one)) {
		at += (off_t)sizeof(one);
		if (one.cell != cell)
			continue;
		if (one.status != 0) {
			s->failed++;
			continue;
		}
		s->v[WALL][s->n] = one.wall_s;
		s->v[CPU][s->n] = one.cpu_s;
		s->v[RSS][s->n] = one.maxrss_KiB;
		s->n++;
	}
	for (int i = 0; i < VALUES; i++)
		stats_sort(s->v[i], s->n);
}

/* A label within a table: a bar would end its cell. */
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
print_row(const char *label, const struct sums *s)
{
	const double *wall = s->v[WALL];

	fputs("| ", stdout);
	print_label(label);
	printf(" | %zu | %zu |", s->n, s->failed);
	if (s->n == 0) {
		puts(" | | | | |");
		return;
	}
	printf(" %.4f | %.4f | %.4f | %.4f | %.0f |\n",
	    stats_quantile(wall, s->n, 0.5), wall[0], wall[s->n - 1],
	    stats_quantile(s->v[CPU], s->n, 0.5),
	    stats_quantile(s->v[RSS], s->n, 0.5));
}

static void
say_line(struct lap *l, const char *label, const struct sums *s)
{
	char failed[32] = "";

	if (s->failed > 0)
		snprintf(failed, sizeof(failed), ", %zu failed", s->failed);
	if (s->n == 0)
		msg_note(&l->msg, "%s: n 0%s", label, failed);
	else
		msg_note(&l->msg, "%s: n %zu, wall %.6f s (%.6f..%.6f), "
		    "user+sys %.6f s%s", label, s->n,
		    stats_quantile(s->v[WALL], s->n, 0.5), s->v[WALL][0],
		    s->v[WALL][s->n - 1],
		    stats_quantile(s->v[CPU], s->n, 0.5), failed);
}

int
lap_summary(struct lap *l)
{
	size_t room = (size_t)l->o.runs;
	struct sums s = { .n = 0 };
	double *block;

	if (l->samples < 0)
		return 0;
	block = sys_malloc(VALUES * room * sizeof(*block));
	if (block == NULL) {
		msg_error(&l->msg, "no memory for the summary");
		return LAP_FAILED;
	}
	for (int i = 0; i < VALUES; i++)
		s.v[i] = block + (size_t)i * room;
	if (l->o.markdown)
		puts("| label | n | failed | wall_s median | min | max | "
		    "user+sys_s median | maxrss_KiB median |\n"
		    "|---|--:|--:|--:|--:|--:|--:|--:|");
	for (uint32_t i = 0; i < l->cell_count; i++) {
		collect(l, i, &s);
		if (l->o.markdown)
			print_row(l->cells[i].label, &s);
		else
			say_line(l, l->cells[i].label, &s);
	}
	sys_free(block);
	return 0;
}

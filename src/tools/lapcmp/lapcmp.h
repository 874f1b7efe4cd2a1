/*
 * lapcmp.h - declarations shared by the parts of lapcmp
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAPCMP_H
#define COLDPRESS_LAPCMP_H

#include "base/msg.h"
#include "base/stats.h"
#include "measure/runs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The quantities compared. */
enum cmp_metric { CMP_WALL, CMP_CPU, CMP_METRICS };

/*
 * The test that decides: for pairs signed ranks of the ratios' logarithms, or
 * only their signs; for runs without pairs, the sum of ranks.
 */
enum cmp_kind { CMP_RANKS, CMP_SIGN, CMP_RANK_SUM };

struct cmp_options {
	const char *ref, *stage;
	const char *keys;		/* names, "a,b"; NULL: all of them */
	double trim;			/* fraction; negative: not requested */
	enum cmp_kind test;		/* for pairs */
	double effect;			/* a difference to be detected */
	bool holm, across, all, csv, json;
	const char *plot;		/* "text", "svg" or NULL */
};

/* A set of strings; a string's number is its index. */
struct cmp_names {
	char **text;
	uint32_t count;
	size_t room;
};

struct cmp_row {
	uint32_t group, label, series;
	int64_t run, cell;		/* cell: 0 if unknown */
	bool failed;
	double v[CMP_METRICS];		/* NaN: missing */
	double cause[RUNS_CAUSES];
};

struct cmp_rows {
	struct cmp_row *row;
	size_t count, room;
	struct cmp_names groups, labels, series;
	int64_t *cells;			/* lowest cell of each label */
	size_t cells_room;
	size_t again;			/* number of duplicate rows */
};

/* A comparison with the reference. */
struct cmp_test {
	enum cmp_kind kind;
	double ratio;			/* NaN: nothing to compare */
	bool bounded;			/* an interval exists */
	struct stats_interval interval;
	double p, p_holm;
};

/*
 * One label in one group for one metric, and its comparison with the reference.
 */
struct cmp_result {
	uint32_t group, label;
	uint32_t ref;			/* the label it is compared with */
	enum cmp_metric metric;
	size_t n, failed, outliers;
	double median, q1, q3, min, max;
	double trimmed;
	size_t cut;			/* number of values dropped at each
					 * end */

	bool is_ref;
	size_t pairs;
	bool loose;			/* runs with equal numbers, but without
					 * a series, were not paired */
	bool drifts;			/* they depend on their neighbours */
	struct cmp_test test;
	double conf;			/* level asked of the interval */
	const char *verdict;		/* "" for the reference */
};

struct cmp {
	struct msg msg;
	struct cmp_options o;
	struct cmp_rows rows;
	struct cmp_result *result;	/* by group, metric and label */
	size_t count;
	uint32_t ref;			/* the label of -r, or the first */
	double *scratch;		/* room for rows.count values */
};

extern const char CMP_FASTER[], CMP_SLOWER[], CMP_NOT_RESOLVED[];

/*
 * lapcmp_rows.c: adds the runs that a file records.  Returns 0, or -errno after
 * reporting the error.
 */
int cmp_read(struct cmp *c, const char *path);
void cmp_rows_free(struct cmp_rows *rows);

/*
 * lapcmp_compare.c: sorts the rows and fills in c->result.  Returns 0 or
 * -errno.
 */
int cmp_compare(struct cmp *c);

/*
 * Finds the rows of a group and a label: rows->row[*first .. return value - 1].
 */
size_t cmp_find(const struct cmp_rows *rows, uint32_t group, uint32_t label,
    size_t *first);

/*
 * lapcmp_judge.c: computes the tests and verdicts of all results.  Returns 0 or
 * -errno.
 */
int cmp_judge(struct cmp *c);

/* Returns whether a row is compared. */
bool cmp_counts(const struct cmp *c, const struct cmp_row *r);

/* Returns the value above which a run is an outlier. */
double cmp_limit(const struct cmp_result *r);

/* Returns the minimum number of pairs for an interval of this level. */
int cmp_least_pairs(double conf);

/*
 * Returns the number of pairs with which the asked effect is detected in four
 * of five cases, if the noise stays as it is; NaN without an interval.
 */
double cmp_pairs_needed(const struct cmp *c, const struct cmp_result *r);

/* lapcmp_plot.c: print every run as a point.  Return 0 or -errno. */
int cmp_plot_text(struct cmp *c);
int cmp_plot_svg(struct cmp *c);

/* lapcmp_print.c: return 0 or -errno. */
int cmp_print_text(struct cmp *c);
int cmp_print_rows(struct cmp *c);

#endif

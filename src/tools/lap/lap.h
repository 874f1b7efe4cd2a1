/*
 * lap.h - what the parts of lap share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAP_H
#define COLDPRESS_LAP_H

#include "base/msg.h"
#include "measure/cgroup.h"
#include "measure/leftover.h"
#include "measure/pressure.h"
#include "measure/proc.h"
#include "measure/provenance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

/* Exit statuses of lap itself, as of env(1) and timeout(1). */
enum { LAP_FAILED = 125, LAP_CANNOT_RUN = 126, LAP_NOT_FOUND = 127 };

struct lap_options {
	int64_t runs, warmup, seed;
	double timeout_s;
	bool cold, resume, json, markdown, plain, seeded;
	const char *prepare, *out, *cells, *net, *sep, *to;
	char **labels;			/* of argc slots */
	int label_count;
	char *keys;			/* "key=val;key=val" */
	int argc;			/* the words of the commands */
	char **argv;
};

/* One command. */
struct lap_cell {
	char *label_env;		/* "LAP_LABEL=..." */
	const char *label;		/* in it */
	struct proc_stage *stages;
	int count;
	uint8_t *done;			/* a bit for each run in the file */
};

/* What pzc reports of itself; values that are missing are NaN. */
enum lap_report { LAP_IN_B, LAP_OUT_B, LAP_STALL_IN, LAP_STALL_OUT,
	LAP_STALL_WORK, LAP_REPORTS };

/* One run, as far as proc.h does not tell. */
struct lap_run {
	const struct lap_cell *cell;
	int64_t run, round, pos;
	int64_t utc_ns;
	struct pressure_now before, after;
	int64_t tree_cpu_us, cg_peak_B, rx_B, tx_B, to_B;	/* -1: none */
	double (*reports)[LAP_REPORTS];	/* one for each stage */
	struct proc_run proc;
};

/* Where the counters of a network interface are. */
struct lap_net {
	int rx, tx;
	int64_t rx_B, tx_B;		/* before the run */
};

struct lap {
	struct msg msg;
	struct lap_options o;
	struct lap_cell *cells;
	uint32_t cell_count;
	uint32_t *order;
	char *cells_text;		/* what -f was read into */
	int status;			/* of the first run that failed */

	char id[LEFTOVER_ID_B], series[PROVENANCE_SERIES_B];
	struct proc proc;
	struct cgroup group;
	bool grouped;
	struct pressure pressure;
	struct pressure_now last;	/* the last look, at these times */
	uint64_t stalls_ns, steal_ns;
	int64_t last_cpu_us;		/* of the group */
	struct lap_net net;
	int in;				/* the standard input of runs */
	int64_t in_at;
	struct table *table;		/* NULL: no rows are written */
	int64_t own_peak_KiB;
	long own_faults;		/* when that was read */
	int samples;			/* a memory file; see lap_summary.c */

	char dir[4096];			/* for the files of PZC_STATS, or "" */
	int dirfd;
	char ***envs;			/* [0] for -p, [i] for stage i */
	int env_count, env_base;	/* lists; strings that all share */
	char env_run[32], env_id[LEFTOVER_ID_B + 8];
	double (*reports)[LAP_REPORTS];
};

/* lap_options.c: -1, or the exit status with which all is over. */
int lap_parse(struct lap *l, int argc, char **argv);

/* lap_cells.c: commands from the words, or from the file of -f. */
int lap_cells_read(struct lap *l);
void lap_cells_free(struct lap *l);

/* lap_env.c: the environment of the commands, and what they report. */
int lap_env_open(struct lap *l);
void lap_env_set(struct lap *l, const struct lap_cell *c, int64_t run);
void lap_reports_read(struct lap *l, struct lap_run *r);
void lap_env_close(struct lap *l);

/* lap_resume.c: which runs are in the file already.  0 or an exit status. */
int lap_resume(struct lap *l);
bool lap_done(const struct lap_cell *c, int64_t run);

/*
 * lap_run.c: one run, a warmup if run is 0.  0, an exit status that ends lap,
 * or -N: signal N stops it.
 */
int lap_run_open(struct lap *l);
int lap_run_one(struct lap *l, struct lap_cell *c, int64_t run,
    int64_t round, int64_t pos);
void lap_run_close(struct lap *l);

/* lap_rows.c: 0 or an exit status. */
int lap_rows_open(struct lap *l, int argc, char **argv);
int lap_rows_write(struct lap *l, const struct lap_run *r);
int lap_rows_close(struct lap *l);

/* The status of the last stage that failed, as wait4(2) gives it, or 0. */
int lap_run_status(const struct lap_run *r);

/* lap_summary.c */
void lap_sample(struct lap *l, const struct lap_run *r);
int lap_summary(struct lap *l);

#endif

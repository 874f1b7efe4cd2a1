/*
 * lap.h - declarations shared by the parts of lap
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAP_H
#define COLDPRESS_LAP_H

#include "base/arena.h"
#include "base/msg.h"
#include "base/options.h"
#include "measure/cgroup.h"
#include "measure/leftover.h"
#include "measure/pressure.h"
#include "measure/proc.h"
#include "measure/provenance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table;

/* Exit statuses of lap itself, as in env(1) and timeout(1). */
enum { LAP_FAILED = 125, LAP_CANNOT_RUN = 126, LAP_NOT_FOUND = 127 };

/* The maximum number of commands, counted once for each parameter value. */
enum { LAP_CELLS_MAX = 10000 };

struct lap_options {
	int64_t runs, warmup, seed;	/* runs: the maximum, if adaptive */
	int64_t least;			/* minimum number of runs before
					 * stopping early */
	double timeout_s;
	double for_s, within;		/* stop by time, by precision; 0: no
					 * limit */
	bool counted, bounded;		/* -n; -m or -M */
	bool cold, resume, json, provenance, markdown, plain, seeded, show;
	bool fail_fast;
	const char *out, *cells, *net, *sep, *to;
	struct options_list labels, prepares, colds;
	char *keys;			/* "key=val;key=val" */
	int argc;			/* the words of the commands */
	char **argv;
};

/* A parameter and its values. */
struct lap_param {
	char *name, **values;
	size_t count, room;
};

/* One command, with one value of each parameter. */
struct lap_cell {
	char *label_env;		/* "LAP_LABEL=..." */
	const char *label;		/* part of label_env */
	const char *keys, *text;	/* its keys; its command line */
	const char *prepare;		/* or NULL */
	bool cold;
	int command;			/* index on the command line */
	uint64_t variant;		/* see lap_params.c */
	struct proc_stage *stages;
	int count;
	uint8_t *done;			/* a bit for each run in the file */
};

/* The values reported by pzc; missing values are NaN. */
enum lap_report { LAP_IN_B, LAP_OUT_B, LAP_STALL_IN, LAP_STALL_OUT,
	LAP_STALL_WORK, LAP_REPORTS };

/* The parts of a run's result that proc.h does not provide. */
struct lap_run {
	const struct lap_cell *cell;
	int64_t run, round, pos;
	int64_t utc_ns;
	struct pressure_now before, after;
	int64_t tree_cpu_us, cg_peak_B, rx_B, tx_B, to_B;	/* -1: none */
	double (*reports)[LAP_REPORTS];	/* one for each stage */
	struct proc_run proc;
};

/* A network interface's counter files. */
struct lap_net {
	int rx, tx;
	int64_t rx_B, tx_B;		/* before the run */
};

struct lap {
	struct msg msg;
	struct lap_options o;
	struct arena arena;		/* words, labels, keys, texts */
	struct lap_param *params;
	size_t param_count, param_room;
	struct lap_cell *cells;
	size_t cell_count, cell_room;
	int command_count;		/* number of commands, each with one or
					 * more cells */
	uint32_t *order;
	int64_t rounds;			/* number of rounds completed */
	int status;			/* status of the first failed run */

	char id[LEFTOVER_ID_B], series[PROVENANCE_SERIES_B];
	struct proc proc;
	struct cgroup group;
	bool grouped;
	struct pressure pressure;
	struct pressure_now last;	/* the last readings, taken at: */
	uint64_t stalls_ns, steal_ns;
	int64_t last_cpu_us;		/* CPU time of the group */
	struct lap_net net;
	int in;				/* standard input of the runs */
	int64_t in_at;
	struct table *table;		/* NULL: no rows are written */
	int64_t own_peak_KiB;
	long own_faults;		/* page faults at that reading */
	int samples;			/* memory file; see lap_samples.c */
	int lock;			/* lock on the -o file against other
					 * instances of lap */

	char dir[4096];			/* for PZC_STATS files, or "" */
	int dirfd;
	char ***envs;			/* [0] for -p, [i] for stage i */
	int env_count, env_base;	/* number of lists; of shared strings */
	char env_run[32], env_id[LEFTOVER_ID_B + 8];
	double (*reports)[LAP_REPORTS];
};

/* lap_options.c: returns -1, or the exit status if the program should exit. */
int lap_parse(struct lap *l, int argc, char **argv);

/* Returns whether the number of rounds depends on the results. */
bool lap_is_adaptive(const struct lap_options *o);

/*
 * lap_params.c: parse optarg as NAME=A,B,...  or NAME=MIN:MAX[:STEP], for a
 * struct lap.  Return the same values as lap_parse().
 */
int lap_param_list(void *into);
int lap_param_range(void *into);
void lap_params_free(struct lap *l);

/*
 * Returns the number of combinations of values; 1 if there are no parameters.
 */
uint64_t lap_variants(const struct lap *l);

/*
 * These functions return the text with each "{name}" replaced, and all keys,
 * allocated in the arena; or NULL if out of memory.
 */
char *lap_fill(struct lap *l, uint64_t variant, const char *text);
char *lap_variant_keys(struct lap *l, uint64_t variant);

/*
 * These functions return whether s is a valid value in keys, and the length of
 * the valid name at the start of s.
 */
bool lap_is_value(const char *s);
size_t lap_name_length(const char *s);

/* lap_cells.c: reads the commands.  Returns 0 or an exit status. */
int lap_cells_read(struct lap *l);
void lap_cells_free(struct lap *l);

/*
 * lap_run.c: prepares the environments of the commands, whose reports are read
 * after each run, and performs one run, or a warm-up run if run is 0.  Returns
 * 0, the status with which lap should exit, or -N if signal N stopped it.
 */
int lap_run_open(struct lap *l);
int lap_run_one(struct lap *l, struct lap_cell *c, int64_t run,
    int64_t round, int64_t pos);
void lap_run_close(struct lap *l);

/*
 * lap_rows.c: return 0 or an exit status.  The first also finds the runs that
 * are already in the file, for lap_done().
 */
int lap_rows_open(struct lap *l, int argc, char **argv);
bool lap_done(const struct lap_cell *c, int64_t run);
int lap_rows_write(struct lap *l, const struct lap_run *r);
int lap_rows_close(struct lap *l);

/* Returns the status of the last stage that failed, as from wait4(2), or 0. */
int lap_run_status(const struct lap_run *r);

/* lap_samples.c: stores the times of a run. */
void lap_sample(struct lap *l, const struct lap_run *r);

/*
 * Writes the flags of a disturbed run as in its row, for example "steal cpu".
 */
void lap_flags(const struct lap *l, const struct lap_run *r, char *text);
enum { LAP_FLAGS_B = 40 };

/* Returns whether an adaptive series has enough rounds. */
bool lap_enough(struct lap *l, uint64_t start_ns);

/* Prints the medians and ratios.  Returns 0 or an exit status. */
int lap_summary(struct lap *l);

#endif

/*
 * runs.h - reading the runs that a file records
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first line tells the format: rows of lap, or any others with the columns
 * label, run and wall_s, as CSV or JSON lines; hyperfine's exported JSON or CSV;
 * what time(1) or a shell's time writes; counters of perf stat -x,.  Sources:
 * RFC 4180; RFC 8259; hyperfine's export formats; GNU time(1) and POSIX time;
 * "CSV FORMAT" in perf-stat(1).
 */
#ifndef COLDPRESS_RUNS_H
#define COLDPRESS_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Possible reasons why a run was slow; the first four are fractions of its
 * time.
 */
enum runs_cause { RUNS_STEAL, RUNS_PSI_CPU, RUNS_PSI_IO, RUNS_PSI_MEM,
	RUNS_NIVCSW, RUNS_MAJFLT, RUNS_READ, RUNS_CAUSES };

/*
 * A run.  Only lap's have a series, and only with it are runs of the same number
 * known to have been started in one round.
 */
struct runs_run {
	const char *label;
	const char *series, *keys, *cache, *stage;	/* "": none */
	int64_t run, cell;		/* 0: unknown */
	bool failed;
	double wall, cpu;		/* seconds; cpu: NaN if unknown */
	double cause[RUNS_CAUSES];	/* NaN: unknown */
};

/*
 * Takes a run, whose strings are valid during the call.  Returns 0 or -errno,
 * which ends the reading.
 */
typedef int runs_fn(void *arg, const struct runs_run *run);

enum { RUNS_WHY = 512 };

/*
 * Reads path, or standard input for "-".  *means is set if the file has only the
 * mean of each command's runs, which then counts as one run.  Returns 0 or
 * -errno, with a sentence in why that names the file and line.  Thread-safe.
 */
int runs_read(const char *path, runs_fn *take, void *arg, bool *means,
    char why[RUNS_WHY]);

#endif

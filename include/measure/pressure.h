/*
 * pressure.h - measuring other activity on the machine: stalls, steal, load
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: /proc/pressure (Linux's Documentation/accounting/psi.rst),
 * /proc/stat and /proc/loadavg.  The files stay open; reading the stalls takes
 * about 5 microseconds, the rest about 7 or, with many processors, more.  A
 * struct pressure belongs to one thread at a time.
 */
#ifndef COLDPRESS_PRESSURE_H
#define COLDPRESS_PRESSURE_H

#include <stdint.h>

enum { PRESSURE_CPU, PRESSURE_IO, PRESSURE_MEM, PRESSURE_STALLS };

struct pressure {
	int stalls[PRESSURE_STALLS], stat, load;	/* files, or -1 */
	int64_t tick_ns;		/* unit in which steal is counted */
};

/* Counters since boot, and the load; -1: unknown. */
struct pressure_now {
	int64_t stall_us[PRESSURE_STALLS];	/* time during which at least
						 * one task was stalled */
	int64_t steal_ns;			/* sum over processors */
	double load1;
};

/* Opens the files that exist; values from missing files remain unknown. */
void pressure_open(struct pressure *p);

/* Sets now->stall_us. */
void pressure_read_stalls(const struct pressure *p, struct pressure_now *now);

/* Sets the other fields. */
void pressure_read_steal(const struct pressure *p, struct pressure_now *now);

/* Closes all open files. */
void pressure_close(struct pressure *p);

#endif

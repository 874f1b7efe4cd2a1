/*
 * pressure.h - what else went on in the machine: stalls, steal, load
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * From /proc/pressure (Documentation/accounting/psi.rst of Linux), /proc/stat
 * and /proc/loadavg.  The files stay open; a look at the stalls takes some 5
 * microseconds, at the rest some 7 or, with many processors, more.  A struct
 * pressure belongs to one thread at a time.
 */
#ifndef COLDPRESS_PRESSURE_H
#define COLDPRESS_PRESSURE_H

#include <stdint.h>

enum { PRESSURE_CPU, PRESSURE_IO, PRESSURE_MEM, PRESSURE_STALLS };

struct pressure {
	int stalls[PRESSURE_STALLS], stat, load;	/* files, or -1 */
	int64_t tick_ns;		/* in which steal is counted */
};

/* Counters since boot, and the load; -1: not known. */
struct pressure_now {
	int64_t stall_us[PRESSURE_STALLS];	/* some task waited */
	int64_t steal_ns;			/* sum over processors */
	double load1;
};

/* Opens what there is; what is missing is not known from then on. */
void pressure_open(struct pressure *p);

/* Sets now->stall_us. */
void pressure_read_stalls(const struct pressure *p, struct pressure_now *now);

/* Sets the rest. */
void pressure_read_steal(const struct pressure *p, struct pressure_now *now);

/* Closes what is open. */
void pressure_close(struct pressure *p);

#endif

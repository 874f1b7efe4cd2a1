/*
 * ordeal_run.h - one run of a command, to its end
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_ORDEAL_RUN_H
#define COLDPRESS_TESTS_ORDEAL_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *data;		/* ends with a null byte, too */
	size_t size;
};

struct run {
	/* What to do: what is NULL or 0 is left out. */
	char *const *argv;
	const char *plan;	/* COLDPRESS_FAULT */
	const char *counts;	/* COLDPRESS_FAULT_COUNT: the file */
	const char *depth;	/* COLDPRESS_FAULT_DEPTH */
	unsigned limit_s;
	const int *signals;
	const uint64_t *delays_ns;
	size_t signal_count;	/* sent one after another, unless it ended */

	/* What happened */
	int status;		/* or 128 + the number of a signal */
	bool hung;		/* and was killed */
	unsigned left;		/* processes that it left behind */
	uint64_t took_ns;
	struct text out, err;
};

/* Ends the program if the command cannot be run. */
void run_command(struct run *r);
void run_free(struct run *r);

#endif

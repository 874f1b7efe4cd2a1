/*
 * proc_shell.h - running shell commands with proc_run(), for its tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_PROC_SHELL_H
#define COLDPRESS_TESTS_PROC_SHELL_H

#include "measure/proc.h"

enum { STAGES = 3 };

struct fixture {
	struct proc proc;
	struct proc_stage stage[STAGES];
	char *argv[STAGES][4];
	struct proc_run run;
};

/* These are for cmocka; *state is a struct fixture. */
int setup(void **state);
int teardown(void **state);

/*
 * Prepares stages that run these commands, and frees the copies from an earlier
 * call, argv[i][2].  The caller frees the last ones and sets them to NULL.
 */
void prepare(struct fixture *f, int count, const char *const *text);

/* Runs one command, which must start. */
void run_sh(struct fixture *f, const char *text);

#endif

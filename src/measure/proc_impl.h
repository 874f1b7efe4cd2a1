/*
 * proc_impl.h - what the files of proc.h share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PROC_IMPL_H
#define COLDPRESS_PROC_IMPL_H

#include "measure/proc.h"

/*
 * Starts all stages; our ends of their pipes are closed on the way, and are
 * -1 then.  0 or -errno: r->failed is the stage that it is about.
 */
int proc_start_stages(struct proc *p, struct proc_run *r, int (*pipes)[2]);

/* The file that proc_reap() is to read, or -errno. */
int proc_open_io(pid_t pid);

/* Reaps a dead child and adds what it used to u; io is closed.  Its status. */
int proc_reap(pid_t pid, int io, struct proc_usage *u);

#endif

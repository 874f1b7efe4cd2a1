/*
 * proc_impl.h - declarations shared by the files that implement proc.h
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_PROC_IMPL_H
#define COLDPRESS_PROC_IMPL_H

#include "measure/proc.h"

/*
 * Starts all stages, closes our ends of their pipes and sets them to -1.
 * Returns 0, or -errno with r->failed set to the stage that failed.
 */
int proc_start_stages(struct proc *p, struct proc_run *r, int (*pipes)[2]);

/* Opens the file that proc_reap() reads.  Returns a descriptor or -errno. */
int proc_open_io(pid_t pid);

/*
 * Reaps a dead child and adds its usage to u; io is closed.  Returns its
 * status.
 */
int proc_reap(pid_t pid, int io, struct proc_usage *u);

#endif

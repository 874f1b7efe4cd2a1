/*
 * proc.h - run a pipeline, wait for all of it, and tell what it used
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct proc belongs to the one thread of a program that has only one: it
 * takes all child processes of the program for its own.
 */
#ifndef COLDPRESS_PROC_H
#define COLDPRESS_PROC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;

/* What a process used, with those of its children that it waited for. */
struct proc_usage {
	uint64_t user_us, sys_us;
	int64_t maxrss_KiB;		/* of the largest process */
	int64_t minflt, majflt, nvcsw, nivcsw;
	bool io;			/* the next five are known */
	uint64_t rchar_B, wchar_B, read_B, write_B, cancelled_B;
};

struct proc {
	sigset_t old_mask;		/* what children start with */
	sigset_t wait;			/* SIGCHLD and what stops a run */
	pid_t self;
	int null;			/* /dev/null */
	char *stack;			/* PROC_STACK_B for children */
	struct cgroup *group;		/* the caller's, for runs; or NULL */
};

struct proc_stage {
	char *path;			/* executed as it stands */
	char **argv, **envp;

	/* results */
	pid_t pid;			/* 0 once it has been reaped */
	uint64_t start_ns, end_ns;	/* of sys_now_ns() */
	int status;			/* as wait4(2) gives it */
	struct proc_usage used;

	int io;				/* proc_run's own */
};

struct proc_run {
	struct proc_stage *stages;	/* connected by pipes */
	int count;			/* 1..PROC_STAGES_MAX */
	int in, out;			/* of first and last stage; -1: null */
	int err;			/* standard error; -1: our own */
	uint64_t timeout_ns;		/* 0: none */
	bool io;			/* read /proc/PID/io of each process;
					   of orphans only root can */
	bool keep;			/* not in the group; what is left at
					   the end is left alone */

	/* results */
	int failed;			/* stage that could not be executed */
	uint64_t start_ns, end_ns;	/* first start, end of the last stage */
	bool timed_out;
	bool ended;			/* by proc_end() */
	int stopped;			/* the signal that stopped it, or 0 */
	int left;			/* processes left at the end, killed */
	struct proc_usage orphans;	/* whose parents did not wait */
};

enum {
	PROC_STAGES_MAX = 64,
	PROC_STACK_B = 16384		/* a child's, until it executes */
};

/*
 * Blocks signals, so that a run can be stopped by SIGINT, SIGTERM, SIGHUP and
 * SIGQUIT, opens descriptors 0 to 2 if they are not, and makes the program
 * the parent of its orphaned descendants.  0 or -errno.
 */
int proc_open(struct proc *p);

/* Undoes proc_open(); a signal that came meanwhile has its effect now. */
void proc_close(struct proc *p);

/*
 * Ends this process by the signal that has stopped a run: at once, or in
 * proc_close() when that comes later.
 */
void proc_raise(int sig);

/* Whether one of the signals that stop a run has come since the last one. */
bool proc_pending(const struct proc *p);

/*
 * Whether a child can be born into p->group and live there; some kernels kill
 * it.  If not, p->group becomes NULL.
 */
bool proc_try_group(struct proc *p);

/*
 * Runs the stages and waits until all of them have ended.  What they left
 * behind is then killed and reaped, unless keep is set.  After the time-out,
 * or a signal that stops the run, everything is killed.  A stage's status is
 * in stages[i].status.
 *
 * 0, -ETIMEDOUT (killed processes do not go), or -errno: r->failed is the
 * stage that could not be executed, or -1 if it was something else.  Where
 * the kernel refuses p->group, it is NULL from then on.
 */
int proc_run(struct proc *p, struct proc_run *r);

/*
 * Ends the run that another thread is in: everything is killed, as after the
 * time-out.  Once for each run; one that comes too late ends the next run.
 * Thread-safe.
 */
void proc_end(const struct proc *p);

/* Adds b to a: sums, and the larger maxrss_KiB. */
void proc_usage_add(struct proc_usage *a, const struct proc_usage *b);

/* An exit status as a shell shows it: 128 and the number of a signal. */
int proc_status(int status);

/*
 * What name is in the folders of path, a list as in $PATH: an executable
 * file.  A name with a slash is copied.  The caller gives *found to
 * sys_free().  0, -ENOENT, -EACCES or -ENOMEM.
 */
int proc_find(const char *name, const char *path, char **found);

/*
 * A child that shares our memory and runs start(arg) on the PROC_STACK_B
 * bytes below top, a multiple of 16, while we wait until it has executed or
 * exited.  With group >= 0, the descriptor of a cgroup, it is born there.
 * Its number or -errno; -ENOSYS where a child cannot be born in a group.
 */
pid_t proc_clone(int (*start)(void *), void *top, void *arg, int group);

#endif

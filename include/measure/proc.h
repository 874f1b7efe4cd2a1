/*
 * proc.h - running a pipeline, waiting for it, and measuring its resource usage
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Use a struct proc only in a single-threaded program; it waits for all child
 * processes of that program.
 */
#ifndef COLDPRESS_PROC_H
#define COLDPRESS_PROC_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;

/* A process's resource usage, including that of children it waited for. */
struct proc_usage {
	uint64_t user_us, sys_us;
	int64_t maxrss_KiB;		/* the largest process's maximum */
	int64_t minflt, majflt, nvcsw, nivcsw;
	bool io;			/* the next five fields are valid */
	uint64_t rchar_B, wchar_B, read_B, write_B, cancelled_B;
};

struct proc {
	sigset_t old_mask;		/* mask that children start with */
	sigset_t wait;			/* SIGCHLD and the signals that stop a
					 * run */
	pid_t self;
	int null;			/* /dev/null */
	char *stack;			/* PROC_STACK_B for children */
	struct cgroup *group;		/* the caller's group for runs, or
					 * NULL */
};

struct proc_stage {
	char *path;			/* executed without searching $PATH */
	char **argv, **envp;

	/* results */
	pid_t pid;			/* 0 once it has been reaped */
	uint64_t start_ns, end_ns;	/* times from sys_now_ns() */
	int status;			/* as returned by wait4(2) */
	struct proc_usage used;

	int io;				/* private to proc_run */
};

struct proc_run {
	struct proc_stage *stages;	/* to be connected by pipes */
	int count;			/* 1..PROC_STAGES_MAX */
	int in, out;			/* input of the first stage, output
					 * of the last; -1: null */
	int err;			/* standard error; -1: our own */
	uint64_t timeout_ns;		/* 0: none */
	bool io;			/* read /proc/PID/io of each process;
					 * for orphans, only root can */
	bool follow;			/* if the last stage exits with status
					 * 0, also wait for the processes that
					 * it has left behind */
	bool keep;			/* do not use the group; do not kill
					 * processes that are still running at
					 * the end */

	/* results */
	int failed;			/* stage that could not be executed */
	uint64_t start_ns, end_ns;	/* when the first stage started and the
					 * last one ended */
	bool timed_out;
	bool ended;			/* ended by proc_end() */
	int stopped;			/* the signal that stopped the run, or
					 * 0 */
	int left;			/* processes killed because they were
					 * still running at the end */
	struct proc_usage orphans;	/* usage of processes whose parents did
					 * not wait for them */
};

enum {
	PROC_STAGES_MAX = 64,
	PROC_STACK_B = 16384		/* a child's stack until it calls
					 * exec */
};

/*
 * Blocks signals, so that SIGINT, SIGTERM, SIGHUP and SIGQUIT can stop a run,
 * opens descriptors 0 to 2 if they are closed, and makes the program the parent
 * of its orphaned descendants.  Returns 0 or -errno.
 */
int proc_open(struct proc *p);

/*
 * Undoes proc_open().  A signal that has arrived in the meantime takes effect
 * now.
 */
void proc_close(struct proc *p);

/*
 * Terminates this process with the signal that stopped a run.  If proc_close()
 * has not been called yet, the process terminates in that call.
 */
void proc_raise(int sig);

/*
 * Returns whether one of the signals that stop a run has arrived since the last
 * run.
 */
bool proc_pending(const struct proc *p);

/*
 * Returns whether a child can be created in p->group; some kernels kill such a
 * child.  If not, p->group becomes NULL.
 */
bool proc_try_group(struct proc *p);

/*
 * Runs the stages and waits until all of them have ended; see follow.  Processes
 * that they leave behind are then killed and reaped, unless keep is set.  After the
 * timeout or a signal that stops the run, all processes are killed.  The status
 * of stage i is in stages[i].status.
 *
 * Returns 0, -ETIMEDOUT (killed processes do not exit), or -errno; r->failed is
 * then the stage that could not be executed, or -1 for any other failure.
 * p->group becomes NULL if the kernel refuses it.
 */
int proc_run(struct proc *p, struct proc_run *r);

/*
 * Ends a run in progress in another thread: all processes are killed, as after
 * the timeout.  Call this at most once for each run; a call after the run has
 * ended would end the next one.  Thread-safe.
 */
void proc_end(const struct proc *p);

/* Adds b to a: sums all fields except maxrss_KiB, whose maximum is kept. */
void proc_usage_add(struct proc_usage *a, const struct proc_usage *b);

/* Returns the exit status as a shell reports it: 128 plus N for signal N. */
int proc_status(int status);

/*
 * Searches for the executable file `name` in path, a list of directories as in
 * $PATH.  A name with a slash is copied.  The caller frees *found with
 * sys_free().  Returns 0, -ENOENT, -EACCES or -ENOMEM.
 */
int proc_find(const char *name, const char *path, char **found);

/*
 * Creates a child that shares our memory and runs start(arg) on the
 * PROC_STACK_B bytes below top, a multiple of 16.  Waits until the child has
 * called exec or exited.  If group >= 0, it is the descriptor of a cgroup in
 * which the child is created.  Returns its PID or -errno; -ENOSYS if a child
 * cannot be created in a group.
 */
pid_t proc_clone(int (*start)(void *), void *top, void *arg, int group);

#endif

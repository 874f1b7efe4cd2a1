/*
 * proc.c - running a pipeline, waiting for it, and measuring its resource usage
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The clock is read just before the first child is created and just after
 * SIGCHLD arrives; everything else is read from the kernel before or after
 * that.  Signals are blocked and received with sigtimedwait(2).  There are no
 * signal handlers, so a child that still shares our memory cannot run one.
 *
 * A dead child is first examined with WNOWAIT, because /proc/PID/io exists only
 * until it is reaped.  Orphans become our children (PR_SET_CHILD_SUBREAPER).  A
 * run is therefore complete when we have no children, and killing all children
 * until none remain reaches every descendant.
 *
 * proc_start.c creates the children; proc_usage.c reaps them and adds up their
 * usage.
 */
#include "proc_impl.h"

#include "base/sys.h"
#include "measure/cgroup.h"
#include "measure/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int stop[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const uint64_t GRACE_NS = 10000000000;	/* for killed processes to
						 * disappear */

/*
 * Opens /dev/null with a descriptor above 2.  Closed standard descriptors are
 * opened first, so that no pipe gets one of their numbers.  Standard output is
 * then read-only, so that writing to it fails as before.
 */
static int
open_null(void)
{
	int fd;

	for (;;) {
		fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
		if (fd < 0 || fd > STDERR_FILENO)
			return fd;
		if (fd == STDOUT_FILENO) {
			sys_close(fd);
			fd = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
		} else if (fcntl(fd, F_SETFD, 0) == -1) {
			return -errno;
		}
		if (fd < 0)
			return fd;
	}
}

int
proc_open(struct proc *p)
{
	/* Job control signals are not blocked. */
	static const int job[] = { SIGTSTP, SIGCONT, SIGTTIN, SIGTTOU };
	struct sigaction old;
	sigset_t all;
	int fd;

	*p = (struct proc){ .self = getpid(), .null = -1 };
	fd = open_null();
	if (fd < 0)
		return fd;
	p->null = fd;
	p->stack = sys_malloc(PROC_STACK_B);
	if (p->stack == NULL) {
		sys_close(fd);
		return -ENOMEM;
	}
	/* if our parent ignored SIGCHLD, the kernel would reap our children */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&p->wait);
	sigaddset(&p->wait, SIGCHLD);
	sigaddset(&p->wait, SIGRTMIN);	/* sent by proc_end() */
	/* Signals that our parent ignored, as nohup(1) does, remain ignored. */
	for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++)
		if (sigaction(stop[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaddset(&p->wait, stop[i]);
	sigfillset(&all);
	for (size_t i = 0; i < sizeof(job) / sizeof(job[0]); i++)
		sigdelset(&all, job[i]);
	sigprocmask(SIG_SETMASK, &all, &p->old_mask);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return 0;
}

void
proc_close(struct proc *p)
{
	const struct timespec none = { .tv_nsec = 0 };
	sigset_t ends;

	/* discard the signal of a proc_end() called just after the run */
	sigemptyset(&ends);
	sigaddset(&ends, SIGRTMIN);
	while (sigtimedwait(&ends, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
	sys_close(p->null);
	sys_free(p->stack);
}

void
proc_raise(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
}

void
proc_end(const struct proc *p)
{
	kill(p->self, SIGRTMIN);
}

bool
proc_pending(const struct proc *p)
{
	sigset_t now;

	sigpending(&now);
	for (size_t i = 0; i < sizeof(stop) / sizeof(stop[0]); i++)
		if (sigismember(&now, stop[i]) &&
		    sigismember(&p->wait, stop[i]))
			return true;
	return false;
}

/*
 * Returns the PID of a dead child, 0 if all children are alive, or -1 if there
 * are none.
 */
static pid_t
dead_child(void)
{
	siginfo_t si = { .si_pid = 0 };
	int rc;

	do
		rc = waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT);
	while (rc == -1 && errno == EINTR);
	return rc == -1 ? -1 : si.si_pid;
}

/*
 * Kills our children, whose own children then become ours.  The proc directory
 * of our only thread contains the list, a line of PIDs, each followed by a
 * blank.  If it does not fit in the buffer, the next call finds the rest.
 */
static void
kill_children(void)
{
	int fd = sys_openat(AT_FDCWD, "/proc/thread-self/children",
	    O_RDONLY | O_CLOEXEC, 0);
	char text[2048], *s = text, *end;
	ssize_t n = -1;

	if (fd >= 0) {
		n = sys_read(fd, text, sizeof(text) - 1);
		sys_close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	for (;; s = end + 1) {
		long pid = strtol(s, &end, 10);

		if (pid <= 0 || *end != ' ')
			break;
		kill((pid_t)pid, SIGKILL);
	}
}

static void
kill_all(const struct proc *p, const struct proc_run *r)
{
	if (p->group != NULL)
		cgroup_kill(p->group);
	for (int i = 0; i < r->count; i++)
		if (r->stages[i].pid > 0)
			kill(r->stages[i].pid, SIGKILL);
	kill_children();
}

/*
 * Reaps all dead children, recording `now` as their end time.  Returns the
 * number of stages still alive.
 */
static int
reap_dead(struct proc_run *r, uint64_t now, int live, int *orphans)
{
	pid_t pid;

	while ((pid = dead_child()) > 0) {
		int i = 0;

		while (i < r->count && r->stages[i].pid != pid)
			i++;
		if (i == r->count) {
			proc_reap(pid, r->io ? proc_open_io(pid) : -1,
			    &r->orphans);
			++*orphans;
			continue;
		}
		r->stages[i].end_ns = now;
		if (r->io && r->stages[i].io < 0)
			r->stages[i].io = proc_open_io(pid);
		r->stages[i].status = proc_reap(pid, r->stages[i].io,
		    &r->stages[i].used);
		r->stages[i].io = -1;
		r->stages[i].pid = 0;
		live--;
	}
	return live;
}

/*
 * Waits for a signal.  Returns its number, or 0 once the time is past `until`.
 * Sets *now to the current time.
 */
static int
wait_signal(const struct proc *p, uint64_t until, uint64_t *now)
{
	struct timespec ts;
	uint64_t left;
	int sig;

	for (;;) {
		if (until == UINT64_MAX) {
			sig = sigwaitinfo(&p->wait, NULL);
			*now = sys_now_ns();
		} else {
			*now = sys_now_ns();
			left = until > *now ? until - *now : 0;
			ts.tv_sec = (time_t)(left / 1000000000);
			ts.tv_nsec = (long)(left % 1000000000);
			sig = sigtimedwait(&p->wait, NULL, &ts);
			*now = sys_now_ns();
			if (sig == -1 && errno == EAGAIN)
				return 0;
		}
		if (sig > 0)
			return sig;
	}
}

/*
 * Returns whether there are processes to wait for after all stages have ended.
 */
static bool
must_follow(const struct proc_run *r)
{
	int status = r->stages[r->count - 1].status;

	return r->follow && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
	    dead_child() != -1;
}

/* Waits for the stages.  Returns 0 or -ETIMEDOUT. */
static int
wait_stages(struct proc *p, struct proc_run *r)
{
	uint64_t until = r->timeout_ns == 0 ? UINT64_MAX :
	    r->start_ns + r->timeout_ns, now;
	int live = r->count, orphans = 0;
	bool killed = false;

	while (live > 0 || (!killed && must_follow(r))) {
		int sig = wait_signal(p, until, &now);

		live = reap_dead(r, now, live, &orphans);
		if (sig == SIGCHLD || (live == 0 && !must_follow(r)))
			continue;
		if (sig == 0 && killed)
			return -ETIMEDOUT;
		if (sig == 0)
			r->timed_out = true;
		else if (sig == SIGRTMIN)
			r->ended = true;
		else if (r->stopped == 0)
			r->stopped = sig;
		if (live == 0)
			break;		/* end_rest() kills and counts */
		kill_all(p, r);
		killed = true;
		until = now + GRACE_NS;
	}
	return 0;
}

/*
 * Kills and counts the processes that the stages left behind.  Orphans that are
 * already dead are not counted.  Returns 0 or -ETIMEDOUT.
 */
static int
end_rest(struct proc *p, struct proc_run *r)
{
	uint64_t until = sys_now_ns() + GRACE_NS, now = 0;
	struct timespec nap = { .tv_nsec = 1000000 };
	int dead = 0, sig;

	reap_dead(r, 0, 0, &dead);
	while (dead_child() != -1) {
		kill_all(p, r);
		/*
		 * the first death is reported immediately; the timeout is for
		 * the others
		 */
		sig = sigtimedwait(&p->wait, NULL, &nap);
		if (sig > 0 && sig != SIGCHLD && sig != SIGRTMIN)
			r->stopped = sig;
		reap_dead(r, now, 0, &r->left);
		now = sys_now_ns();
		if (now > until)
			return -ETIMEDOUT;
	}
	return 0;
}

int
proc_run(struct proc *p, struct proc_run *r)
{
	int pipes[PROC_STAGES_MAX][2], made = 0, rc = 0;

	if (r->count < 1 || r->count > PROC_STAGES_MAX)
		return -EINVAL;
	for (int i = 0; i < r->count; i++) {
		struct proc_stage *st = &r->stages[i];

		st->pid = 0;
		st->io = -1;
		st->status = 0;
		st->used = (struct proc_usage){ .io = false };
	}
	r->orphans = (struct proc_usage){ .io = false };
	r->failed = -1;
	r->timed_out = r->ended = false;
	r->stopped = 0;
	r->left = 0;
	for (; rc == 0 && made < r->count - 1; made += rc == 0)
		rc = sys_pipe(pipes[made]);
	/* if the run leaves processes behind, its orphans are not ours */
	if (r->keep)
		prctl(PR_SET_CHILD_SUBREAPER, 0);
	if (rc == 0)
		rc = proc_start_stages(p, r, pipes);
	for (int i = 0; i < made; i++)
		for (int k = 0; k < 2; k++)
			if (pipes[i][k] >= 0)
				sys_close(pipes[i][k]);
	if (rc == 0) {
		rc = wait_stages(p, r);
		r->end_ns = 0;
		for (int i = 0; i < r->count; i++)
			if (r->stages[i].end_ns > r->end_ns)
				r->end_ns = r->stages[i].end_ns;
	} else if (r->failed >= 0) {
		kill_all(p, r);
	}
	if (r->keep)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (!r->keep || r->failed >= 0) {
		int rest = end_rest(p, r);

		rc = rc != 0 ? rc : rest;
	}
	return rc;
}

int
proc_find(const char *name, const char *path, char **found)
{
	size_t len = strlen(name);
	int rc = -ENOENT;
	char *s;

	s = sys_malloc(len + strlen(path) + 3);
	if (s == NULL)
		return -ENOMEM;
	*found = s;
	if (strchr(name, '/') != NULL) {
		strcpy(s, name);
		return 0;
	}
	for (const char *dir = path; len > 0;) {
		size_t n = strcspn(dir, ":");
		struct stat st;

		/* an empty entry in the list means the current directory */
		sprintf(s, "%.*s/%s", n == 0 ? 1 : (int)n, n == 0 ? "." : dir,
		    name);
		if (stat(s, &st) == 0 && S_ISREG(st.st_mode)) {
			if (access(s, X_OK) == 0)
				return 0;
			rc = -EACCES;
		}
		if (dir[n] == '\0')
			break;
		dir += n + 1;
	}
	sys_free(s);
	*found = NULL;
	return rc;
}

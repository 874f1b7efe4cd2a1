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
 */
#include "measure/proc.h"

#include "base/fdio.h"
#include "base/sys.h"
#include "base/utc.h"
#include "measure/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int stop[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
static const uint64_t GRACE_NS = 10000000000;	/* for killed processes to
						 * disappear */

int
proc_open(struct proc *p)
{
	/* Job control signals are not blocked. */
	static const int job[] = { SIGTSTP, SIGCONT, SIGTTIN, SIGTTOU };
	struct sigaction old;
	sigset_t all;
	int fd = -1;

	*p = (struct proc){ .self = getpid(), .null = -1 };
	/*
	 * Open /dev/null with a descriptor above 2.  Closed standard
	 * descriptors are opened first, so that no pipe gets one of their
	 * numbers.  Standard output is then read-only, so that writing to it
	 * fails as before.
	 */
	while (fd <= STDERR_FILENO) {
		fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
		if (fd == STDOUT_FILENO) {
			sys_close(fd);
			fd = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY, 0);
		} else if (fd >= 0 && fd <= STDERR_FILENO &&
		    fcntl(fd, F_SETFD, 0) == -1) {
			return -errno;
		}
		if (fd < 0)
			return fd;
	}
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

static uint64_t
io_field(const char *text, const char *name)
{
	const char *s = strstr(text, name);

	return s == NULL ? 0 : strtoull(s + strlen(name), NULL, 10);
}

/* Opens the file that reap_child() reads.  Returns a descriptor or -errno. */
static int
open_io(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

void
proc_usage_add(struct proc_usage *a, const struct proc_usage *b)
{
	a->user_us += b->user_us;
	a->sys_us += b->sys_us;
	if (b->maxrss_KiB > a->maxrss_KiB)
		a->maxrss_KiB = b->maxrss_KiB;
	a->minflt += b->minflt;
	a->majflt += b->majflt;
	a->nvcsw += b->nvcsw;
	a->nivcsw += b->nivcsw;
	a->io |= b->io;
	a->rchar_B += b->rchar_B;
	a->wchar_B += b->wchar_B;
	a->read_B += b->read_B;
	a->write_B += b->write_B;
	a->cancelled_B += b->cancelled_B;
}

/*
 * Reaps a dead child and adds its usage to u; io, /proc/PID/io as described in
 * proc_pid_io(5), is closed.  Returns its status.
 */
static int
reap_child(pid_t pid, int io, struct proc_usage *u)
{
	struct proc_usage one = { .io = false };
	struct rusage ru = { .ru_maxrss = 0 };
	int status = 0;
	char text[512];
	ssize_t n = -1;

	if (io >= 0) {
		n = sys_read(io, text, sizeof(text) - 1);
		sys_close(io);
	}
	if (n > 0) {
		text[n] = '\0';
		one.io = true;
		one.rchar_B = io_field(text, "rchar: ");
		one.wchar_B = io_field(text, "wchar: ");
		one.read_B = io_field(text, "\nread_bytes: ");
		one.write_B = io_field(text, "\nwrite_bytes: ");
		one.cancelled_B = io_field(text, "cancelled_write_bytes: ");
	}
	while (wait4(pid, &status, 0, &ru) == -1 && errno == EINTR)
		;
	one.user_us = utc_span_us(ru.ru_utime);
	one.sys_us = utc_span_us(ru.ru_stime);
	one.maxrss_KiB = ru.ru_maxrss;
	one.minflt = ru.ru_minflt;
	one.majflt = ru.ru_majflt;
	one.nvcsw = ru.ru_nvcsw;
	one.nivcsw = ru.ru_nivcsw;
	proc_usage_add(u, &one);
	return status;
}

int
proc_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

/* The arguments of a child, in memory shared with us. */
struct start {
	const struct proc *proc;
	const struct proc_stage *stage;
	int fds[3];
	int sock;		/* socket to send its counters to, or -1 */
	int err;
};

/* A message with one descriptor, in the caller's memory. */
struct message {
	struct msghdr h;
	struct iovec v;
	char byte;
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
};

/*
 * A child uses this stack in shared memory, so it must not run sanitizer
 * instrumentation.
 */
#define IN_CHILD __attribute__((no_sanitize("address")))

IN_CHILD static void
message_init(struct message *m)
{
	*m = (struct message){ .v = { .iov_len = 1 } };
	m->v.iov_base = &m->byte;
	m->h.msg_iov = &m->v;
	m->h.msg_iovlen = 1;
	m->h.msg_control = m->room;
	m->h.msg_controllen = sizeof(m->room);
}

IN_CHILD static int
child_main(void *arg)
{
	struct start *s = arg;
	struct message m;
	struct cmsghdr *c;
	int io;

	for (int i = 0; i < 3; i++)
		if (s->fds[i] != i && dup2(s->fds[i], i) == -1)
			goto fail;
	/*
	 * The child must not outlive us, even if we die just before this call.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->proc->self)
		_exit(127);
	/*
	 * Send a descriptor for our counters to the waiting parent.  Errors do
	 * not matter, because the parent then opens the counters itself.
	 */
	io = s->sock < 0 ? -1 : open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	if (io >= 0) {
		message_init(&m);
		c = CMSG_FIRSTHDR(&m.h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(io));
		memcpy(CMSG_DATA(c), &io, sizeof(io));
		sendmsg(s->sock, &m.h, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	sigprocmask(SIG_SETMASK, &s->proc->old_mask, NULL);
	execve(s->stage->path, s->stage->argv, s->stage->envp);
fail:
	s->err = errno;
	_exit(127);
}

IN_CHILD static int
exit_at_once(void *arg)
{
	(void)arg;
	_exit(0);
}

bool
proc_try_group(struct proc *p)
{
	char *top = p->stack + PROC_STACK_B;
	int status = -1;
	pid_t pid;

	if (p->group == NULL)
		return false;
	pid = proc_clone(exit_at_once, top, NULL, p->group->dir);
	while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (status != 0)
		p->group = NULL;
	return status == 0;
}

/*
 * Starts a stage, which sends its counters through the socket pair socks, if
 * there is one.  Returns 0 or -errno.
 */
static int
spawn(struct proc *p, struct proc_stage *st, const int fds[3],
    const int socks[2], bool grouped)
{
	struct start s = { .proc = p, .stage = st, .sock = socks[1],
		.fds = { fds[0], fds[1], fds[2] } };
	char *top = p->stack + PROC_STACK_B;
	struct message m;
	struct cmsghdr *c;
	pid_t pid = -1;
	int status;

	if (grouped && p->group != NULL) {
		pid = proc_clone(child_main, top, &s, p->group->dir);
		if (pid < 0)
			p->group = NULL;
	}
	if (pid < 0)
		pid = proc_clone(child_main, top, &s, -1);
	if (pid < 0)
		return pid;
	if (s.err != 0) {
		while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
			;
		return -s.err;
	}
	st->pid = pid;
	if (socks[0] < 0)
		return 0;
	message_init(&m);
	if (recvmsg(socks[0], &m.h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) == 1) {
		c = CMSG_FIRSTHDR(&m.h);
		if (c != NULL && c->cmsg_type == SCM_RIGHTS &&
		    c->cmsg_len == CMSG_LEN(sizeof(st->io)))
			memcpy(&st->io, CMSG_DATA(c), sizeof(st->io));
	}
	if (st->io < 0)
		st->io = open_io(pid);
	return 0;
}

/*
 * Starts all stages, closes our ends of their pipes and sets them to -1.
 * Returns 0, or -errno with r->failed set to the stage that failed.
 */
static int
start_stages(struct proc *p, struct proc_run *r, int (*pipes)[2])
{
	int n = r->count, rc = 0, socks[2];

	/*
	 * The counters of a dead process belong to root, and a short-lived
	 * process dies before its parent can open them.  Therefore each child
	 * sends a descriptor before calling exec; it remains readable until the
	 * child is reaped.
	 */
	if (!r->io || geteuid() == 0 || socketpair(AF_UNIX,
	    SOCK_STREAM | SOCK_CLOEXEC, 0, socks) == -1)
		socks[0] = socks[1] = -1;
	for (int i = 0; i < n && rc == 0; i++) {
		struct proc_stage *st = &r->stages[i];
		int fds[3] = { p->null, p->null, STDERR_FILENO };

		if (i > 0)
			fds[0] = pipes[i - 1][0];
		else if (r->in >= 0)
			fds[0] = r->in;
		if (i < n - 1)
			fds[1] = pipes[i][1];
		else if (r->out >= 0)
			fds[1] = r->out;
		if (r->err >= 0)
			fds[2] = r->err;
		st->start_ns = sys_now_ns();
		if (i == 0)
			r->start_ns = st->start_ns;
		rc = spawn(p, st, fds, socks, !r->keep);
		if (rc != 0)
			r->failed = i;
		if (i > 0) {
			sys_close(pipes[i - 1][0]);
			pipes[i - 1][0] = -1;
		}
		if (i < n - 1) {
			sys_close(pipes[i][1]);
			pipes[i][1] = -1;
		}
	}
	for (int i = 0; i < 2; i++)
		if (socks[i] >= 0)
			sys_close(socks[i]);
	return rc;
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
 * Kills the stages, and all our children, whose own children then become ours.
 * The proc directory of our only thread contains the list, a line of PIDs, each
 * followed by a blank.  If it does not fit in the buffer, the next call finds
 * the rest.
 */
static void
kill_all(const struct proc *p, const struct proc_run *r)
{
	char text[2048], *s = text, *end;

	if (p->group != NULL)
		cgroup_kill(p->group);
	for (int i = 0; i < r->count; i++)
		if (r->stages[i].pid > 0)
			kill(r->stages[i].pid, SIGKILL);
	fdio_read_text(AT_FDCWD, "/proc/thread-self/children", text,
	    sizeof(text));
	for (;; s = end + 1) {
		long pid = strtol(s, &end, 10);

		if (pid <= 0 || *end != ' ')
			break;
		kill((pid_t)pid, SIGKILL);
	}
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
			reap_child(pid, r->io ? open_io(pid) : -1,
			    &r->orphans);
			++*orphans;
			continue;
		}
		r->stages[i].end_ns = now;
		if (r->io && r->stages[i].io < 0)
			r->stages[i].io = open_io(pid);
		r->stages[i].status = reap_child(pid, r->stages[i].io,
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
		rc = start_stages(p, r, pipes);
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

/*
 * ordeal_run.c - one run of a command, to its end
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ordeal_run.h"

#include <err.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_MS = 2000 };

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void
set(const char *name, const char *value)
{
	if ((value == NULL ? unsetenv(name) : setenv(name, value, 1)) == -1)
		err(99, "%s", name);
}

static pid_t
start(const struct run *r, int out, int errors)
{
	sigset_t none;
	pid_t pid = fork();

	if (pid == -1)
		err(99, "fork");
	if (pid > 0)
		return pid;
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	set("COLDPRESS_FAULT", r->plan);
	set("COLDPRESS_FAULT_COUNT", r->counts);
	set("COLDPRESS_FAULT_DEPTH", r->depth);
	dup2(out, 1);
	dup2(errors, 2);
	execvp(r->argv[0], r->argv);
	warn("%s", r->argv[0]);
	_exit(98);
}

/* Waits until the process ends, but not after that time. */
static bool
ended(int fd, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now = now_ns();
		struct timespec left = { 0 };
		int n;

		if (now < until_ns) {
			left.tv_sec = (time_t)((until_ns - now) / 1000000000);
			left.tv_nsec = (long)((until_ns - now) % 1000000000);
		}
		n = ppoll(&p, 1, &left, NULL);
		if (n >= 0)
			return n > 0;
		if (errno != EINTR)
			err(99, "ppoll");
	}
}

static struct text
text_of(int fd)
{
	struct text t = { .size = (size_t)lseek(fd, 0, SEEK_END) };

	t.data = calloc(1, t.size + 1);
	if (t.data == NULL || pread(fd, t.data, t.size, 0) != (ssize_t)t.size)
		err(99, "output");
	close(fd);
	return t;
}

static void
kill_children(void)
{
	FILE *f = fopen("/proc/thread-self/children", "re");
	int pid;

	while (f != NULL && fscanf(f, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (f != NULL)
		fclose(f);
}

/*
 * Waits for the processes that were left behind, and kills and counts those that
 * outlive the command for long.
 */
static unsigned
reap(void)
{
	unsigned left = 0, waited_ms = 0;
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) != -1) {
		if (pid > 0) {
			left += waited_ms >= GRACE_MS;
			continue;
		}
		usleep(1000);
		if (++waited_ms >= GRACE_MS)
			kill_children();
	}
	return left;
}

void
run_command(struct run *r)
{
	int out = memfd_create("out", MFD_CLOEXEC);
	int errors = memfd_create("err", MFD_CLOEXEC), status, fd;
	uint64_t begin;
	pid_t pid;

	if (out == -1 || errors == -1)
		err(99, "memfd_create");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	begin = now_ns();
	pid = start(r, out, errors);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd == -1)
		err(99, "pidfd_open");
	for (size_t i = 0; i < r->signal_count; i++) {
		if (!ended(fd, now_ns() + r->delays_ns[i]))
			kill(pid, r->signals[i]);
	}
	r->hung = !ended(fd, begin + r->limit_s * 1000000000ULL);
	if (r->hung)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) == -1)
		;
	close(fd);
	r->took_ns = now_ns() - begin;
	r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
	r->left = reap();
	r->out = text_of(out);
	r->err = text_of(errors);
}

void
run_free(struct run *r)
{
	free(r->out.data);
	free(r->err.data);
}

/*
 * aside.c - a process that answers questions which this one may not
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "aside.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Closes what belongs to the parent: a mount, pipes, a terminal. */
static void
keep_only(int fd)
{
	int null = open("/dev/null", O_RDWR), limit = (int)sysconf(_SC_OPEN_MAX);

	for (int i = 0; i < ASIDE_ASKED; i++)
		if (null == -1 || dup2(null, i) == -1)
			_exit(1);
	if (fd != ASIDE_ASKED && dup2(fd, ASIDE_ASKED) == -1)
		_exit(1);
	if (syscall(SYS_close_range, ASIDE_ASKED + 1U, ~0U, 0U) == -1)
		for (int i = ASIDE_ASKED + 1; i < limit; i++)
			close(i);
	fcntl(ASIDE_ASKED, F_SETFD, FD_CLOEXEC);
}

/* In lists of processes, it is not the one that is to be sent signals. */
static void
change_name(const char *to)
{
	char *name = program_invocation_name;

	prctl(PR_SET_NAME, to);
	if (strlen(name) >= strlen(to))
		strncpy(name, to, strlen(name));
}

int
aside_start(struct aside *a, const char *name, void (*answer)(void *arg),
    void *arg)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM,
		SIGUSR1, SIGUSR2, SIGALRM };
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == -1)
		return -errno;
	a->pid = fork();
	if (a->pid == 0) {
		/* what ends the parent closes the socket */
		for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
			signal(ignored[i], SIG_IGN);
		change_name(name);
		keep_only(ends[1]);
		answer(arg);
		_exit(1);
	}
	rc = a->pid == -1 ? -errno : 0;
	sys_close(ends[1]);
	if (rc != 0)
		sys_close(ends[0]);
	a->fd = ends[0];
	return rc;
}

void
aside_stop(struct aside *a)
{
	enum { PAUSE_NS = 200000, PAUSES = 5000 };
	pid_t pid = 0;

	/* this ends it, and what it has started */
	sys_close(a->fd);
	for (int i = 0; i < PAUSES && pid != a->pid; i++) {
		pid = waitpid(a->pid, NULL, WNOHANG);
		if (pid == -1 && errno != EINTR)
			return;
		if (pid != a->pid)
			sys_sleep_ns(PAUSE_NS);
	}
	if (pid == a->pid)
		return;
	/* it may wait for something that does not come */
	kill(a->pid, SIGKILL);
	while (waitpid(a->pid, NULL, 0) == -1 && errno == EINTR)
		;
}

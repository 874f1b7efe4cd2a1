/*
 * touchlog.c - list the files that a command opens, and the parts it reads
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The work is done by the first process of a PID namespace, for the reason
 * given in opens.h.  That process also has its own mount namespace, so that no
 * process or mount is left behind when it ends, even if it is killed.  This
 * process waits for it.
 */
#include "touchlog.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Waits for the child, forwarding the signals that this process receives.
 * Returns its status as a shell would report it, or -N if this process received
 * signal N.
 */
static int
wait_inside(struct touchlog *t, pid_t pid)
{
	int stopped = 0, status = 0, sig;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		sig = sigwaitinfo(&t->proc.wait, NULL);
		if (sig <= 0 || sig == SIGCHLD)
			continue;
		stopped = sig;
		kill(pid, sig);
	}
	return stopped != 0 ? -stopped : proc_status(status);
}

/*
 * Returns the result of wait_inside(), or MSG_ERROR if the child could not be
 * started.
 */
static int
run_inside(struct touchlog *t)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) == -1) {
		if (errno == EPERM)
			msg_error(&t->msg, "only root can see what other "
			    "processes open (fanotify)");
		else
			msg_error(&t->msg, "PID namespace: %s",
			    strerror(errno));
		return MSG_ERROR;
	}
	pid = fork();
	if (pid == 0) {
		int status;

		/* the child is killed if this process ends */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->proc.self = getpid();
		status = touchlog_inside(t);
		if (msg_finish(&t->msg) == MSG_ERROR && status == 0)
			status = MSG_ERROR;
		_exit(status);
	}
	if (pid == -1) {
		msg_error(&t->msg, "%s", strerror(errno));
		return MSG_ERROR;
	}
	return wait_inside(t, pid);
}

int
main(int argc, char *argv[])
{
	struct touchlog t = { .root = -1 };
	int rc, status;

	msg_init(&t.msg, argv[0]);
	rc = proc_open(&t.proc);
	if (rc != 0) {
		msg_error(&t.msg, "commands cannot be run: %s",
		    strerror(-rc));
		return MSG_ERROR;
	}
	status = touchlog_parse(&t, argc, argv);
	if (status >= 0) {
		proc_close(&t.proc);
		return status;
	}
	status = run_inside(&t);
	/*
	 * This process has also received the signal; proc_close() would deliver
	 * it.
	 */
	if (status < 0)
		proc_raise(-status);
	proc_close(&t.proc);
	return status;
}

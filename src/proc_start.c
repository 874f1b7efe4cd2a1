/*
 * proc_start.c - the children of a run, made and connected by pipes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc_impl.h"

#include "cgroup.h"
#include "sys.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child needs, in memory that it shares with us. */
struct start {
	const struct proc *proc;
	const struct proc_stage *stage;
	int fds[3];
	int err;
};

/*
 * On this stack, and in memory that is not its own, a child must run nothing
 * that a sanitizer puts in.
 */
#define IN_CHILD __attribute__((no_sanitize("address")))

IN_CHILD static int
child_main(void *arg)
{
	struct start *s = arg;

	for (int i = 0; i < 3; i++)
		if (s->fds[i] != i && dup2(s->fds[i], i) == -1)
			goto fail;
	/* It should not outlive us, not even in the moment before this call. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->proc->self)
		_exit(127);
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

/* Starts a stage.  0 or -errno. */
static int
spawn(struct proc *p, struct proc_stage *st, const int fds[3], bool grouped)
{
	struct start s = { .proc = p, .stage = st,
		.fds = { fds[0], fds[1], fds[2] } };
	char *top = p->stack + PROC_STACK_B;
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
	return 0;
}

int
proc_start_stages(struct proc *p, struct proc_run *r, int (*pipes)[2])
{
	int n = r->count, rc = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		struct proc_stage *st = &r->stages[i];
		int fds[3] = {
			i > 0 ? pipes[i - 1][0] : r->in >= 0 ? r->in : p->null,
			i < n - 1 ? pipes[i][1] : r->out >= 0 ? r->out :
			    p->null,
			r->err >= 0 ? r->err : STDERR_FILENO
		};

		st->start_ns = sys_now_ns();
		if (i == 0)
			r->start_ns = st->start_ns;
		rc = spawn(p, st, fds, !r->keep);
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
	/*
	 * The file of a dead process is root's, so others open it while the
	 * process lives; it can be read until it is reaped.
	 */
	for (int i = 0; i < n && rc == 0 && r->io && geteuid() != 0; i++)
		r->stages[i].io = proc_open_io(r->stages[i].pid);
	return rc;
}

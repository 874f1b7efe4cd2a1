/*
 * proc_start.c - creating the children of a run, connected by pipes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc_impl.h"

#include "base/sys.h"
#include "measure/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

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

/*
 * Sends a descriptor for our counters to the waiting parent.  Errors do not
 * matter, because the parent then opens the counters itself.
 */
IN_CHILD static void
send_io(int sock)
{
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	struct message m;
	struct cmsghdr *c;

	if (fd < 0)
		return;
	message_init(&m);
	c = CMSG_FIRSTHDR(&m.h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	sendmsg(sock, &m.h, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Returns the descriptor sent by the last child, or -1. */
static int
receive_io(int sock)
{
	struct message m;
	struct cmsghdr *c;
	int fd;

	message_init(&m);
	if (recvmsg(sock, &m.h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&m.h);
	if (c == NULL || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(fd)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

IN_CHILD static int
child_main(void *arg)
{
	struct start *s = arg;

	for (int i = 0; i < 3; i++)
		if (s->fds[i] != i && dup2(s->fds[i], i) == -1)
			goto fail;
	/*
	 * The child must not outlive us, even if we die just before this call.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != s->proc->self)
		_exit(127);
	if (s->sock >= 0)
		send_io(s->sock);
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
	if (socks[0] >= 0) {
		st->io = receive_io(socks[0]);
		if (st->io < 0)
			st->io = proc_open_io(pid);
	}
	return 0;
}

int
proc_start_stages(struct proc *p, struct proc_run *r, int (*pipes)[2])
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

/*
 * layermount_parent.c - the process that waits for the server, and unmounts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This process reads nothing from the network, is not confined, and survives a
 * server that is killed.  It forwards signals.  If the first thread of the
 * server has ended, other threads may be waiting for the mount to end
 * (layermount_push.c), so the mount is aborted.
 */
#include "layermount_mounted.h"

#include "layermount.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int
fail(struct layermount *m, const char *what, int rc)
{
	msg_error(&m->msg, "%s: %s", what, strerror(-rc));
	return MSG_ERROR;
}

static void
signals(sigset_t *set)
{
	static const int all[] = { SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGCHLD,
		WATCH_SIGNAL };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		sigaddset(set, all[i]);
}

/* The server, and its mount while it exists. */
struct server {
	pid_t pid;
	unsigned major, minor;
};

/* Handles a signal to this process. */
static void
handle(struct layermount *m, const struct server *s, const siginfo_t *i)
{
	if (i->si_signo == WATCH_SIGNAL) {
		if (i->si_pid == getpid())
			unmount_forced(m->mountpoint, s->major, s->minor);
	} else if (i->si_signo != SIGCHLD) {
		kill(s->pid, i->si_signo);
	}
}

/* Forwards signals until the server exits.  Returns its status. */
static int
wait_for(struct layermount *m, const struct server *s)
{
	siginfo_t info;
	sigset_t set;
	int status = 0;

	signals(&set);
	do {
		if (sigwaitinfo(&set, &info) > 0)
			handle(m, s, &info);
	} while (waitpid(s->pid, &status, WNOHANG) != s->pid);
	/* a mount there may now belong to another process */
	if (WIFEXITED(status) && WEXITSTATUS(status) == SERVE_UNMOUNTED)
		return MSG_OK;
	unmount(m->mountpoint);
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	msg_error(&m->msg, "%s: unmounted, because the server was killed by "
	    "signal %d", m->mountpoint, WTERMSIG(status));
	return MSG_ERROR;
}

static bool
is_ready(int fd)
{
	char byte;

	return fdio_read(fd, &byte, 1) == 1;
}

/* Runs the server, which notifies the first process when it is ready. */
static _Noreturn void
serve(struct layermount *m, const sigset_t *old, struct watch *watch, int ready)
{
	watch_hold(watch);
	sigprocmask(SIG_SETMASK, old, NULL);
	_exit(layermount_serve(m, ready));
}

/* Notifies the first process that files can be read. */
static void
report(const struct layermount *m, const struct server *s, int tell)
{
	layermount_hide(m);
	if (fdio_write(tell, "", 1) != 0)
		kill(s->pid, SIGTERM);
	sys_close(tell);
}

/* Watches the server, and waits until it has exited.  Returns its status. */
static int
follow(struct layermount *m, struct server *s, struct watch *watch, int ready,
    int tell)
{
	if (is_ready(ready)) {
		/* without a mount there is nothing to unmount */
		if (mounted_by_us(m->mountpoint, &s->major, &s->minor) &&
		    watch_start(watch) != 0)
			kill(s->pid, SIGTERM);
		if (tell >= 0)
			report(m, s, tell);
	}
	sys_close(ready);
	return wait_for(m, s);
}

static int
supervise(struct layermount *m, int tell)
{
	struct server s = { .pid = -1 };
	struct watch *watch;
	sigset_t set, old;
	int ready[2], status, rc = watch_new(&watch);

	if (rc == 0)
		rc = sys_pipe(ready);
	if (rc != 0)
		return fail(m, "pipe", rc);
	signals(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	s.pid = fork();
	if (s.pid == -1)
		return fail(m, "fork", -errno);
	if (s.pid == 0) {
		sys_close(ready[0]);
		if (tell >= 0)
			sys_close(tell);
		serve(m, &old, watch, ready[1]);
	}
	sys_close(ready[1]);
	status = follow(m, &s, watch, ready[0], tell);
	if (m->temp_dir != NULL)
		rmdir(m->temp_dir);
	return status;
}

static int
run_behind(struct layermount *m)
{
	int ready[2], rc = sys_pipe(ready), status;
	pid_t pid;

	if (rc != 0)
		return fail(m, "pipe", rc);
	pid = fork();
	if (pid == -1)
		return fail(m, "fork", -errno);
	if (pid == 0) {
		sys_close(ready[0]);
		setsid();
		_exit(supervise(m, ready[1]));
	}
	sys_close(ready[1]);
	if (is_ready(ready[0]))
		return MSG_OK;
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return MSG_ERROR;
}

/* Preparing */

/* Creates a temporary directory to use instead of --cache. */
static int
make_temporary(struct layermount *m)
{
	const char *tmp = getenv("TMPDIR");
	char *dir;
	int status;

	if (tmp == NULL || *tmp == '\0')
		tmp = "/var/tmp";
	if (asprintf(&dir, "%s/layermount.XXXXXX", tmp) == -1)
		return fail(m, tmp, -ENOMEM);
	if (mkdtemp(dir) == NULL) {
		status = fail(m, tmp, -errno);
		free(dir);
		return status;
	}
	m->temp_dir = dir;
	return MSG_OK;
}

/*
 * Checks that nobody else can put data into the cache: what is in it was
 * verified when it was stored, or will be, but the manifests that a store
 * remembers decide what a name means.  The directory's parents do not matter,
 * because another directory in its place would have another owner.
 */
static int
check_cache(struct layermount *m, const char *dir)
{
	struct stat st;
	int rc = sys_fstat(m->cache_dir, &st);

	if (rc != 0)
		return fail(m, dir, rc);
	if ((st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return MSG_OK;
	msg_error(&m->msg, "%s: its owner is %lu and its mode %04o, but a "
	    "cache must belong to this user or root, and only its owner may "
	    "write to it", dir,
	    (unsigned long)st.st_uid, (unsigned)st.st_mode & 07777);
	return MSG_ERROR;
}

static int
open_cache(struct layermount *m)
{
	const char *dir = m->o.cache;
	int rc;

	if (dir == NULL && make_temporary(m) != MSG_OK)
		return MSG_ERROR;
	if (dir == NULL)
		dir = m->temp_dir;
	else if (mkdir(dir, 0700) == -1 && errno != EEXIST)
		return fail(m, dir, -errno);
	m->cache_dir = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (m->cache_dir < 0)
		return fail(m, dir, m->cache_dir);
	if (check_cache(m, dir) != MSG_OK)
		return MSG_ERROR;
	rc = cache_trim(m->cache_dir, m->o.cache_bytes);
	return rc == 0 ? MSG_OK : fail(m, dir, rc);
}

static int
open_stats(struct layermount *m)
{
	m->stats_fd = -1;
	if (!m->o.stats)
		return MSG_OK;
	m->stats_fd = m->o.stats_file == NULL ? sys_dup(STDERR_FILENO) :
	    sys_openat(AT_FDCWD, m->o.stats_file, O_WRONLY | O_CREAT |
	    O_APPEND | O_CLOEXEC, 0666);
	return m->stats_fd >= 0 ? MSG_OK : fail(m, m->o.stats_file == NULL ?
	    "standard error" : m->o.stats_file, m->stats_fd);
}

int
layermount_run(struct layermount *m)
{
	unsigned major, minor;
	int status;

	m->start_ns = sys_now_ns();
	m->mountpoint = realpath(m->o.mountpoint, NULL);
	if (m->mountpoint == NULL)
		return fail(m, m->o.mountpoint, -errno);
	/* this process would unmount the other process's mount */
	if (mounted_by_us(m->mountpoint, &major, &minor)) {
		free(m->mountpoint);
		return fail(m, m->o.mountpoint, -EBUSY);
	}
	status = open_stats(m);
	if (status == MSG_OK)
		status = open_cache(m);
	if (status == MSG_OK)
		status = m->o.foreground ? supervise(m, -1) : run_behind(m);
	else if (m->temp_dir != NULL)
		rmdir(m->temp_dir);
	free(m->temp_dir);
	free(m->mountpoint);
	return status;
}

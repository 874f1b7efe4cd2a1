/*
 * layermount_parent.c - the process that waits for the server, and unmounts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This process reads nothing from the network, is not confined, and survives a
 * server that is killed.  It forwards signals, and kills a server that has not
 * ended within --timeout.
 *
 * A process that is killed exits when all of its threads have exited, and one
 * of them may be waiting in the kernel for the mount to end, as described in
 * layermount_push.c.  Until then its parent gets no SIGCHLD.  Therefore the
 * server's first thread holds a robust mutex in shared memory, and a thread of
 * this process waits for it, so that the mount can be aborted.
 */
#include "layermount.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

static int
fail_with(struct layermount *m, const char *what, int rc)
{
	msg_error(&m->msg, "%s: %s", what, strerror(-rc));
	return MSG_ERROR;
}

enum { WATCH_SIGNAL = SIGALRM };	/* to this process, from its thread */

/* The server, and its mount while it exists. */
struct server {
	pid_t pid;
	pthread_mutex_t *alive;		/* held by its first thread, shared */
	unsigned major, minor;
	int ready;			/* reports that files can be read, or
					 * -1 */
	int tell;			/* to the process that waits for that,
					 * or -1 */
	int signals;			/* signalfd */
	uint64_t deadline_ns;		/* for its end; 0: not asked to end */
	bool mounted, killed;
	struct stat metrics;		/* its socket; st_ino is 0 if none */
};

/* Unmounts the server's mount, and ends all access to it. */
static void
abort_mount(const struct layermount *m, const struct server *s)
{
	unsigned major, minor;

	if (mounted_by_us(m->mountpoint, &major, &minor) &&
	    major == s->major && minor == s->minor)
		(void)umount2(m->mountpoint, MNT_FORCE | MNT_DETACH |
		    UMOUNT_NOFOLLOW);
}

/* Ends a server that does not end by itself, and all access to its mount. */
static void
end_by_force(struct layermount *m, struct server *s)
{
	s->killed = true;
	kill(s->pid, SIGKILL);
	if (s->mounted || mounted_by_us(m->mountpoint, &s->major, &s->minor))
		abort_mount(m, s);
}

/*
 * Asks the server to end.  While it opens the layers it would not listen; there
 * is nothing to save yet.
 */
static void
end_server(struct layermount *m, struct server *s, int signal)
{
	if (s->ready >= 0) {
		end_by_force(m, s);
		return;
	}
	kill(s->pid, signal);
	if (s->deadline_ns == 0)
		s->deadline_ns = sys_now_ns() + m->o.timeout_s *
		    UINT64_C(1000000000);
}

static bool
is_ready(int fd)
{
	char byte;

	return fdio_read(fd, &byte, 1) == 1;
}

/* Returns the time until the deadline, for poll(). */
static int
time_left(const struct server *s)
{
	uint64_t now = sys_now_ns();

	if (s->deadline_ns == 0 || s->killed)
		return -1;
	return now >= s->deadline_ns ? 0 :
	    (int)((s->deadline_ns - now) / 1000000) + 1;
}

/* Handles a signal to this process. */
static void
handle_signal(struct layermount *m, struct server *s)
{
	struct signalfd_siginfo i;

	if (sys_read(s->signals, &i, sizeof(i)) != (ssize_t)sizeof(i))
		return;
	switch (i.ssi_signo) {
	case WATCH_SIGNAL:
		if (i.ssi_pid == (uint32_t)getpid())
			abort_mount(m, s);
		break;
	case SIGHUP: case SIGINT: case SIGTERM:
		end_server(m, s, (int)i.ssi_signo);
		break;
	case SIGUSR1:
		kill(s->pid, SIGUSR1);
		break;
	default:
		break;
	}
}

/*
 * Waits for the server's first thread to end, unless it unlocks the mutex: then
 * its mount has gone, and another's may be in the same place, with the same
 * device number.  The mutex stays locked, because no other thread needs it.
 */
static void *
wait_for_end(void *arg)
{
	pthread_mutex_t *alive = arg;

	if (pthread_mutex_lock(alive) != 0)
		kill(getpid(), WATCH_SIGNAL);
	return NULL;
}

/*
 * The server is ready, or has ended.  The process that waits for that is
 * notified.
 */
static void
server_ready(struct layermount *m, struct server *s)
{
	bool ready = is_ready(s->ready);
	pthread_t thread;

	sys_close(s->ready);
	s->ready = -1;
	if (!ready)
		return;
	if (m->o.metrics != NULL && lstat(m->o.metrics, &s->metrics) == -1)
		s->metrics.st_ino = 0;
	/* without a mount there is nothing to unmount */
	s->mounted = mounted_by_us(m->mountpoint, &s->major, &s->minor);
	if (s->mounted) {
		if (sys_thread(&thread, wait_for_end, s->alive) == 0)
			pthread_detach(thread);
		else
			end_server(m, s, SIGTERM);
	}
	if (s->tell < 0)
		return;
	layermount_hide(m);
	if (fdio_write(s->tell, "", 1) != 0)
		end_server(m, s, SIGTERM);
	sys_close(s->tell);
	s->tell = -1;
}

/* Removes the server's socket, unless another has taken its place. */
static void
remove_metrics(const struct layermount *m, const struct server *s)
{
	struct stat st;

	if (s->metrics.st_ino != 0 && lstat(m->o.metrics, &st) == 0 &&
	    st.st_dev == s->metrics.st_dev && st.st_ino == s->metrics.st_ino)
		(void)unlink(m->o.metrics);
}

/*
 * Watches the server until it has exited, and unmounts.  Returns the exit
 * status.
 */
static int
follow(struct layermount *m, struct server *s)
{
	unsigned major, minor;
	char why[64];
	int status = 0;
	pid_t pid;

	while (waitpid(s->pid, &status, WNOHANG) != s->pid) {
		struct pollfd p[] = {
			{ .fd = s->signals, .events = POLLIN },
			{ .fd = s->ready, .events = POLLIN },
			/* POLLERR: nobody waits any longer */
			{ .fd = s->tell },
		};

		if (poll(p, sizeof(p) / sizeof(*p), time_left(s)) == -1)
			continue;
		if (p[0].revents != 0)
			handle_signal(m, s);
		if (p[1].revents != 0) {
			server_ready(m, s);
		} else if (p[2].revents != 0) {
			sys_close(s->tell);
			s->tell = -1;
			end_server(m, s, SIGTERM);
		}
		if (time_left(s) == 0)
			end_by_force(m, s);
	}
	remove_metrics(m, s);
	/* a mount there may now belong to another process */
	if (WIFEXITED(status) && WEXITSTATUS(status) == SERVE_UNMOUNTED)
		return MSG_OK;
	if (mounted_by_us(m->mountpoint, &major, &minor) && (!s->mounted ||
	    (major == s->major && minor == s->minor)) &&
	    umount2(m->mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == -1) {
		/* users other than root need a helper program */
		pid = fork();
		if (pid == 0) {
			execlp("fusermount3", "fusermount3", "-u", "-z", "--",
			    m->mountpoint, (char *)NULL);
			_exit(127);
		}
		while (pid > 0 && waitpid(pid, NULL, 0) == -1 &&
		    errno == EINTR)
			;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	snprintf(why, sizeof(why), "unmounted, because the server was killed "
	    "by signal %d", WTERMSIG(status));
	layermount_fail(m, m->mountpoint, !s->killed ? why :
	    s->deadline_ns == 0 ? "interrupted before the mount was ready" :
	    "unmounted; the server did not end within --timeout, and was "
	    "killed");
	return MSG_ERROR;
}

static int
supervise(struct layermount *m, int tell)
{
	struct server s = { .tell = tell };
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM, SIGUSR1,
		SIGCHLD, SIGPIPE, WATCH_SIGNAL };
	pthread_mutexattr_t attr;
	sigset_t set, old;
	int ready[2], status, rc;

	/* it is never freed */
	s.alive = mmap(NULL, sizeof(*s.alive), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s.alive == MAP_FAILED)
		return fail_with(m, "pipe", -errno);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	rc = -pthread_mutex_init(s.alive, &attr);
	pthread_mutexattr_destroy(&attr);
	if (rc == 0)
		rc = sys_pipe(ready);
	if (rc != 0)
		return fail_with(m, "pipe", rc);
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &old);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC);
	s.pid = s.signals == -1 ? -1 : fork();
	if (s.pid == -1)
		return fail_with(m, "fork", -errno);
	if (s.pid == 0) {
		sys_close(ready[0]);
		sys_close(s.signals);
		if (tell >= 0)
			sys_close(tell);
		pthread_mutex_lock(s.alive);
		sigprocmask(SIG_SETMASK, &old, NULL);
		status = layermount_serve(m, ready[1]);
		if (status == SERVE_UNMOUNTED)
			pthread_mutex_unlock(s.alive);
		_exit(status);
	}
	sys_close(ready[1]);
	s.ready = ready[0];
	status = follow(m, &s);
	if (m->temp_dir != NULL)
		rmdir(m->temp_dir);
	return status;
}

/* Preparing */

/*
 * Checks that nobody else can put data into the cache: what is in it was
 * verified when it was stored, or will be, but the manifests that a store
 * remembers decide what a name means.  The directory's parents do not matter,
 * because another directory in its place would have another owner, and another
 * user's link, which could lead into any directory of ours, is not followed.
 */
static int
check_cache(struct layermount *m, const char *dir)
{
	struct stat st;
	int rc;

	if (lstat(dir, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != 0 &&
	    st.st_uid != geteuid()) {
		msg_error(&m->msg, "%s: a link that belongs to user %lu, but a "
		    "cache must belong to this user or root", dir,
		    (unsigned long)st.st_uid);
		return MSG_ERROR;
	}
	rc = sys_fstat(m->cache_dir, &st);
	if (rc != 0)
		return fail_with(m, dir, rc);
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
	const char *dir = m->o.cache, *tmp = getenv("TMPDIR");
	int rc;

	if (dir == NULL) {
		if (tmp == NULL || *tmp == '\0')
			tmp = "/var/tmp";
		if (asprintf(&m->temp_dir, "%s/layermount.XXXXXX", tmp) == -1) {
			m->temp_dir = NULL;
			return fail_with(m, tmp, -ENOMEM);
		}
		if (mkdtemp(m->temp_dir) == NULL) {
			rc = fail_with(m, tmp, -errno);
			free(m->temp_dir);
			m->temp_dir = NULL;
			return rc;
		}
		dir = m->temp_dir;
	} else if (mkdir(dir, 0700) == -1 && errno != EEXIST) {
		return fail_with(m, dir, -errno);
	}
	m->cache_dir = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC, 0);
	if (m->cache_dir < 0)
		return fail_with(m, dir, m->cache_dir);
	m->cache_path = m->o.cache == NULL ? NULL : realpath(dir, NULL);
	return check_cache(m, dir);
}

/* The result of a request to an existing mount. */
struct question {
	const char *path;
	int error;
};

static void *
ask_mount(void *arg)
{
	struct question *q = arg;
	struct statfs st;

	q->error = statfs(q->path, &st) == -1 ? errno : 0;
	return NULL;
}

/*
 * Finds the mount point, which must not be in use by another process, whose
 * mount this process would unmount.
 */
static int
find_mountpoint(struct layermount *m)
{
	/* the thread may still wait when this process exits */
	static struct question q;
	unsigned major, minor;
	pthread_t thread;

	m->mountpoint = realpath(m->o.mountpoint, NULL);
	if (m->mountpoint == NULL && errno != ENOTCONN)
		return fail_with(m, m->o.mountpoint, -errno);
	if (m->mountpoint != NULL) {
		if (!mounted_by_us(m->mountpoint, &major, &minor))
			return MSG_OK;
		/* a mount that nobody serves is dead; others may be slow */
		q = (struct question){ .path = m->mountpoint };
		if (sys_thread(&thread, ask_mount, &q) != 0 ||
		    !vfs_join(thread) || q.error != ENOTCONN)
			return fail_with(m, m->o.mountpoint, -EBUSY);
	}
	msg_error(&m->msg, "%s: a dead mount, whose server no longer exists; "
	    "unmount it with '%s'", m->o.mountpoint, geteuid() == 0 ?
	    "umount -l" : "fusermount3 -u -z");
	return MSG_ERROR;
}

int
layermount_open_log(struct layermount *m)
{
	const struct layermount_options *o = &m->o;

	if (o->foreground)
		return MSG_OK;
	if (o->log_file == NULL) {
		openlog("layermount", LOG_PID | LOG_NDELAY, LOG_DAEMON);
		return MSG_OK;
	}
	m->log_fd = sys_openat(AT_FDCWD, o->log_file, O_WRONLY | O_CREAT |
	    O_APPEND | O_CLOEXEC, 0666);
	return m->log_fd < 0 ? fail_with(m, o->log_file, m->log_fd) : MSG_OK;
}

int
layermount_background(struct layermount *m,
    int (*serve)(struct layermount *m, int tell))
{
	int ready[2], status, rc;
	pid_t pid;

	if (m->o.foreground)
		return serve(m, -1);
	/* another process stays in the background; this one waits for it */
	rc = sys_pipe(ready);
	if (rc != 0)
		return fail_with(m, "pipe", rc);
	pid = fork();
	if (pid == -1)
		return fail_with(m, "fork", -errno);
	if (pid == 0) {
		sys_close(ready[0]);
		setsid();
		_exit(serve(m, ready[1]));
	}
	sys_close(ready[1]);
	if (is_ready(ready[0]))
		return MSG_OK;
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return MSG_ERROR;
}

int
layermount_run(struct layermount *m)
{
	const struct layermount_options *o = &m->o;
	int status;

	m->start_ns = sys_now_ns();
	status = find_mountpoint(m);
	if (status == MSG_OK)
		status = layermount_open_log(m);
	if (status != MSG_OK)
		goto out;
	if (o->stats) {
		m->stats_fd = o->stats_file == NULL ? sys_dup(STDERR_FILENO) :
		    sys_openat(AT_FDCWD, o->stats_file, O_WRONLY | O_CREAT |
		    O_APPEND | O_CLOEXEC, 0666);
		if (m->stats_fd < 0) {
			status = fail_with(m, o->stats_file == NULL ?
			    "standard error" : o->stats_file, m->stats_fd);
			goto out;
		}
	}
	status = open_cache(m);
	if (status == MSG_OK)
		status = layermount_background(m, supervise);
	else if (m->temp_dir != NULL)
		rmdir(m->temp_dir);
out:
	free(m->temp_dir);
	free(m->cache_path);
	free(m->mountpoint);
	return status;
}

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

#include "base/sys.h"
#include "measure/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 126, NOT_FOUND = 127 };

static int
report_failed(struct touchlog *t, const char *what, int rc)
{
	msg_error(&t->msg, "%s: %s", what, strerror(-rc));
	return MSG_ERROR;
}

static int
run_program(struct touchlog *t, char **argv, int out, int *status)
{
	struct proc_stage st = { .argv = argv, .envp = environ };
	struct proc_run r = { .stages = &st, .count = 1, .in = STDIN_FILENO,
		.out = out, .err = -1 };
	int rc = proc_find(argv[0], getenv("PATH"), &st.path);

	if (rc != 0)
		return rc;
	rc = proc_run(&t->proc, &r);
	sys_free(st.path);
	*status = r.stopped != 0 ? 128 + r.stopped : proc_status(st.status);
	return rc;
}

static int
refuse_exact(struct touchlog *t, const char *what, int rc)
{
	msg_error(&t->msg, "--exact: %s: %s", what, strerror(-rc));
	return -1;
}

/*
 * Mounts an image of the root over it, in this mount namespace.  An
 * uncompressed EROFS filesystem reads single pages rather than larger blocks,
 * so on a device without read-ahead exactly the requested pages are in memory.
 * The image file has no name, so it is deleted when its last user closes it.
 * The working directory may be inside the root.  Returns 0, or -1 after
 * reporting the reason.
 */
static int
mount_image(struct touchlog *t)
{
	static char tool[] = "mkfs.erofs", quiet[] = "-d0";
	char name[64], device[LOOP_NAME_B], cwd[PATH_MAX];
	char *root = strdup(t->o.root);
	char *argv[] = { tool, quiet, name, root, NULL };
	const char *dir = getenv("TMPDIR");
	int image, fd, status = 0, rc = root == NULL ? -ENOMEM : 0;

	dir = dir != NULL && *dir != '\0' ? dir : "/var/tmp";
	image = rc != 0 ? rc : sys_openat(AT_FDCWD, dir,
	    O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (image < 0) {
		free(root);
		return refuse_exact(t, dir, image);
	}
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), image);
	rc = run_program(t, argv, -1, &status);
	free(root);
	if (rc != 0) {
		rc = refuse_exact(t, tool, rc);
		goto out;
	}
	if (status != 0) {
		msg_error(&t->msg, "--exact: mkfs.erofs exited with status %d",
		    status);
		rc = -1;
		goto out;
	}
	fd = loop_attach(image, 0, device);
	if (fd < 0) {
		rc = refuse_exact(t, "loop device", fd);
		goto out;
	}
	if (getcwd(cwd, sizeof(cwd)) == NULL ||
	    mount(device, t->o.root, "erofs", MS_RDONLY, NULL) == -1 ||
	    chdir(cwd) == -1)
		rc = refuse_exact(t, t->o.root, -errno);
	sys_close(fd);
out:
	sys_close(image);
	return rc;
}

/*
 * Does the work of the first process in the PID namespace.  Returns the exit
 * status of the command, or MSG_ERROR, 126 or 127 after reporting an error.
 */
static int
run_watched(struct touchlog *t)
{
	struct stat st;
	int status = 0, stopped, rc;

	/*
	 * Create a mount namespace.  Mounts made outside appear in it, but
	 * mounts made in it do not propagate; /proc shows the PID namespace.
	 */
	if (unshare(CLONE_NEWNS) == -1 ||
	    mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) == -1 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
	    NULL) == -1)
		return report_failed(t, "mount namespace", -errno);
	/* otherwise it would be detected only after the command has run */
	if (t->o.output != NULL && !t->o.force &&
	    lstat(t->o.output, &st) == 0) {
		msg_error(&t->msg, "%s exists (-f replaces it)", t->o.output);
		return MSG_ERROR;
	}
	if (t->o.exact && mount_image(t) != 0)
		return MSG_ERROR;
	t->root = sys_openat(AT_FDCWD, t->o.root,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (t->root < 0)
		return report_failed(t, t->o.root, t->root);
	touchlog_warn_of_mounts(t);
	if (t->o.pages && !t->o.exact) {
		rc = touchlog_make_cold(t);
		if (rc != 0)
			return report_failed(t, t->o.root, rc);
	}
	rc = opens_start(&t->opens, t->root);
	if (rc != 0) {
		status = report_failed(t, "fanotify", rc);
		goto out;
	}
	rc = run_program(t, t->o.command, t->o.output != NULL ?
	    STDOUT_FILENO : STDERR_FILENO, &status);
	stopped = opens_stop(t->opens);
	if (rc != 0) {
		report_failed(t, t->o.command[0], rc);
		status = rc == -ENOENT ? NOT_FOUND : CANNOT_RUN;
		goto out;
	}
	if (stopped == -EOVERFLOW)
		msg_error(&t->msg, "the kernel lost some events, so the list "
		    "is incomplete");
	else if (stopped != 0)
		status = report_failed(t, "fanotify", stopped);
	/* also if the command failed or was killed */
	if (!proc_pending(&t->proc) && touchlog_write(t) != 0)
		status = MSG_ERROR;
out:
	opens_free(t->opens);
	return status;
}

/*
 * Starts the child and waits for it, forwarding the signals that this process
 * receives.  Returns its status as a shell would report it, MSG_ERROR if it
 * could not be started, or -N if this process received signal N.
 */
static int
run_inside(struct touchlog *t)
{
	int stopped = 0, status = 0, sig;
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
		/* the child is killed if this process ends */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		t->proc.self = getpid();
		status = run_watched(t);
		if (msg_finish(&t->msg) == MSG_ERROR && status == 0)
			status = MSG_ERROR;
		_exit(status);
	}
	if (pid == -1) {
		msg_error(&t->msg, "%s", strerror(errno));
		return MSG_ERROR;
	}
	while (waitpid(pid, &status, WNOHANG) == 0) {
		sig = sigwaitinfo(&t->proc.wait, NULL);
		if (sig <= 0 || sig == SIGCHLD)
			continue;
		stopped = sig;
		kill(pid, sig);
	}
	return stopped != 0 ? -stopped : proc_status(status);
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

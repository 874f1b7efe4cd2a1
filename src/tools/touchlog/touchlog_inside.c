/*
 * touchlog_inside.c - running and watching the command in its own namespaces
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "touchlog.h"

#include "base/sys.h"
#include "measure/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
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
 * Creates and opens an image of the root: an uncompressed EROFS filesystem
 * reads single pages rather than larger blocks, so on a device without
 * read-ahead exactly the requested pages are in memory.  The image file has no
 * name, so it is deleted when its last user closes it.  Returns -1 after
 * reporting an error.
 */
static int
make_image(struct touchlog *t)
{
	static char tool[] = "mkfs.erofs", quiet[] = "-d0";
	char name[64], *root = strdup(t->o.root);
	char *argv[] = { tool, quiet, name, root, NULL };
	const char *dir = getenv("TMPDIR");
	int fd, status = 0, rc = root == NULL ? -ENOMEM : 0;

	dir = dir != NULL && *dir != '\0' ? dir : "/var/tmp";
	fd = rc != 0 ? rc : sys_openat(AT_FDCWD, dir,
	    O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(root);
		return refuse_exact(t, dir, fd);
	}
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), fd);
	rc = run_program(t, argv, -1, &status);
	free(root);
	if (rc == 0 && status == 0)
		return fd;
	sys_close(fd);
	if (rc != 0)
		return refuse_exact(t, tool, rc);
	msg_error(&t->msg, "--exact: mkfs.erofs exited with status %d", status);
	return -1;
}

/*
 * Mounts an image of the root over it, in this mount namespace; only the pages
 * requested from it are read into memory.  The working directory may be inside
 * it.  Returns 0, or -1 after reporting the reason.
 */
static int
mount_image(struct touchlog *t)
{
	char device[LOOP_NAME_B], cwd[PATH_MAX];
	int image = make_image(t), fd, rc = 0;

	if (image < 0)
		return -1;
	fd = loop_attach(image, 0, device);
	if (fd < 0) {
		rc = refuse_exact(t, "loop device", fd);
	} else {
		if (getcwd(cwd, sizeof(cwd)) == NULL ||
		    mount(device, t->o.root, "erofs", MS_RDONLY, NULL) == -1 ||
		    chdir(cwd) == -1)
			rc = refuse_exact(t, t->o.root, -errno);
		sys_close(fd);
	}
	sys_close(image);
	return rc;
}

/*
 * Runs the command.  Returns its status, or the status that indicates a failure
 * to run it.
 */
static int
watch(struct touchlog *t)
{
	int status = 0, rc = opens_start(&t->opens, t->root), stopped;

	if (rc != 0)
		return report_failed(t, "fanotify", rc);
	rc = run_program(t, t->o.command, t->o.output != NULL ?
	    STDOUT_FILENO : STDERR_FILENO, &status);
	stopped = opens_stop(t->opens);
	if (rc != 0) {
		report_failed(t, t->o.command[0], rc);
		return rc == -ENOENT ? NOT_FOUND : CANNOT_RUN;
	}
	if (stopped == -EOVERFLOW)
		msg_error(&t->msg, "the kernel lost some events, so the list "
		    "is incomplete");
	else if (stopped != 0)
		return report_failed(t, "fanotify", stopped);
	return status;
}

static int
write_list(struct touchlog *t)
{
	int fd = STDOUT_FILENO, rc = touchlog_find_names(t);

	if (rc == 0 && t->o.output != NULL) {
		rc = output_create(&t->out, t->o.output, t->o.force);
		fd = t->out.fd;
	}
	if (rc != 0)
		return report_failed(t, t->o.output != NULL ? t->o.output :
		    t->o.root, rc);
	rc = touchlog_write(t, fd);
	if (t->o.output != NULL && rc == 0)
		rc = output_commit(&t->out, false);
	else if (t->o.output != NULL)
		output_abort(&t->out);
	if (rc < 0)
		report_failed(t, t->o.output != NULL ? t->o.output :
		    "standard output", rc);
	return rc == 0 ? 0 : MSG_ERROR;
}

/*
 * Opens the root, and evicts its files if pages are to be listed.  Returns 0 or
 * MSG_ERROR.
 */
static int
open_root(struct touchlog *t)
{
	int rc = 0;

	if (t->o.exact && mount_image(t) != 0)
		return MSG_ERROR;
	t->root = sys_openat(AT_FDCWD, t->o.root,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (t->root < 0)
		return report_failed(t, t->o.root, t->root);
	touchlog_warn_of_mounts(t);
	if (t->o.pages && !t->o.exact)
		rc = touchlog_make_cold(t);
	return rc == 0 ? 0 : report_failed(t, t->o.root, rc);
}

int
touchlog_inside(struct touchlog *t)
{
	struct stat st;
	int status;

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
		status = MSG_ERROR;
	} else {
		status = open_root(t);
	}
	if (status == 0) {
		status = watch(t);
		/* also if the command failed or was killed */
		if (t->opens != NULL && status != CANNOT_RUN &&
		    status != NOT_FOUND && !proc_pending(&t->proc) &&
		    write_list(t) != 0)
			status = MSG_ERROR;
	}
	opens_free(t->opens);
	for (size_t i = 0; i < t->count; i++)
		sys_free(t->files[i].path);
	sys_free(t->files);
	return status;
}

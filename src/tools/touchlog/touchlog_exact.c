/*
 * touchlog_exact.c - a copy of the root that shows which pages are accessed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An uncompressed EROFS filesystem reads single pages rather than larger
 * blocks.  On a device without read-ahead, exactly the requested pages are in
 * memory.  The image file has no name, so it is deleted when its last user
 * closes it.
 */
#include "touchlog.h"

#include "base/sys.h"
#include "measure/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static int
exact_failed(struct touchlog *t, const char *what, int rc)
{
	msg_error(&t->msg, "--exact: %s: %s", what, strerror(-rc));
	return -1;
}

/* Creates and opens the image, or returns -1 after reporting the reason. */
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
		return exact_failed(t, dir, fd);
	}
	snprintf(name, sizeof(name), "/proc/%d/fd/%d", getpid(), fd);
	rc = touchlog_run(t, argv, -1, &status);
	free(root);
	if (rc == 0 && status == 0)
		return fd;
	sys_close(fd);
	if (rc != 0)
		return exact_failed(t, tool, rc);
	msg_error(&t->msg, "--exact: mkfs.erofs exited with status %d", status);
	return -1;
}

/* Mounts the image over the root; the working directory may be inside it. */
static int
mount_image(struct touchlog *t, int image)
{
	char device[LOOP_NAME_B], cwd[PATH_MAX];
	int fd = loop_attach(image, 0, device), rc = 0;

	if (fd < 0)
		return exact_failed(t, "loop device", fd);
	if (getcwd(cwd, sizeof(cwd)) == NULL ||
	    mount(device, t->o.root, "erofs", MS_RDONLY, NULL) == -1 ||
	    chdir(cwd) == -1)
		rc = exact_failed(t, t->o.root, -errno);
	sys_close(fd);
	return rc;
}

int
touchlog_mount_exact(struct touchlog *t)
{
	int fd = make_image(t), rc;

	if (fd < 0)
		return -1;
	rc = mount_image(t, fd);
	sys_close(fd);
	return rc;
}

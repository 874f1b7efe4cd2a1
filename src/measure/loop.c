/*
 * loop.c - attaching an image file to a loop device
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/loop.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdio.h>
#include <sys/ioctl.h>

enum { TRIES = 64 };			/* another process may claim the device
					 * first */

int
loop_attach(int image, uint64_t readahead_B, char name[LOOP_NAME_B])
{
	const struct loop_config config = { .fd = (uint32_t)image,
	    .info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR };
	int control = sys_openat(AT_FDCWD, "/dev/loop-control",
	    O_RDWR | O_CLOEXEC, 0);
	int fd = -EBUSY, rc;

	if (control < 0)
		return control;
	for (int i = 0; fd == -EBUSY && i < TRIES; i++) {
		int n = ioctl(control, LOOP_CTL_GET_FREE);

		if (n == -1) {
			fd = -errno;
			continue;
		}
		snprintf(name, LOOP_NAME_B, "/dev/loop%d", n);
		fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
		if (fd >= 0 && ioctl(fd, LOOP_CONFIGURE, &config) == -1) {
			rc = -errno;
			sys_close(fd);
			fd = rc;
		}
	}
	sys_close(control);
	/* unit: sectors; must be set before anything is read */
	if (fd >= 0 && ioctl(fd, BLKRASET, (unsigned long)((readahead_B +
	    511) / 512)) == -1) {
		rc = -errno;
		sys_close(fd);
		fd = rc;
	}
	return fd;
}

/*
 * winwait_quiet.c - counting read requests to the devices of mounted images
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The source is /sys/dev/block/MAJOR:MINOR/stat, described in the kernel's
 * Documentation/block/stat.rst: field 1 is the number of completed reads, and
 * field 3 the number of sectors read.
 */
#include "winwait.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static int
open_one(const char *path)
{
	struct stat st;
	char name[64];
	dev_t dev;

	if (stat(path, &st) == -1)
		return -errno;
	dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	snprintf(name, sizeof(name), "/sys/dev/block/%u:%u/stat", major(dev),
	    minor(dev));
	return sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
}

int
winwait_quiet_open(struct winwait *w)
{
	for (int i = 0; i < w->o.image_count; i++) {
		w->images[i] = open_one(w->o.images[i]);
		if (w->images[i] >= 0)
			continue;
		msg_error(&w->msg, "%s: %s", w->o.images[i],
		    w->images[i] == -ENOENT ? "not found, or not on a block "
		    "device" : strerror(-w->images[i]));
		return -1;
	}
	return 0;
}

uint64_t
winwait_quiet_count(const struct winwait *w)
{
	uint64_t sum = 0;

	for (int i = 0; i < w->o.image_count; i++) {
		char text[256], *s = text;
		ssize_t n = sys_pread(w->images[i], text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		sum += strtoull(s, &s, 10);
		strtoull(s, &s, 10);
		sum += strtoull(s, NULL, 10);
	}
	return sum;
}

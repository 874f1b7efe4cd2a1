/*
 * layermount_readahead.c - limiting the kernel's readahead during startup
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Startup touches single pages of many files, and each page read ahead may
 * require another unit.  Therefore readahead is set to START_KIB, if permitted,
 * until a file is read sequentially or some time has passed.
 */
#include "layermount_mounted.h"

#include "layermount.h"

#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { START_KIB = 4, START_S = 30 };

static void
set(struct layermount *m, uint64_t kib)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%llu\n",
	    (unsigned long long)kib);

	(void)sys_pwrite(m->readahead_fd, text, (size_t)n, 0);
}

void
readahead_open(struct layermount *m)
{
	unsigned major, minor;
	char path[64];
	int fd;

	atomic_store(&m->raised, true);
	if (!mounted_by_us(m->mountpoint, &major, &minor))
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb",
	    major, minor);
	/* only root may set it; otherwise, the negotiated value applies */
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	m->readahead_fd = fd;
	readahead_lower(m);
}

void
readahead_lower(struct layermount *m)
{
	if (m->readahead_fd < 0)
		return;
	set(m, START_KIB);
	atomic_store(&m->raised, false);
	/* the SIGALRM handler raises it again */
	alarm(START_S);
}

void
readahead_raise(struct layermount *m)
{
	if (!atomic_exchange(&m->raised, true))
		set(m, m->o.readahead >> 10);
}

void
readahead_close(struct layermount *m)
{
	if (m->readahead_fd >= 0)
		sys_close(m->readahead_fd);
	m->readahead_fd = -1;
}

/*
 * layermount.c - mount layers that are read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/fdio.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

/* The minimum size of an allocation with a separate mapping, in bytes. */
enum { MAPPED_MIN = 128 << 10 };

void
layermount_warn(struct layermount *m, const char *name, const char *why)
{
	pthread_mutex_lock(&m->message);
	msg_warn(&m->msg, "%s: %s", name, why);
	pthread_mutex_unlock(&m->message);
}

int
layermount_refuse(struct layermount *m, const char *name, int rc,
    const char *why)
{
	if (*why == '\0')
		why = strerror(-rc);
	if (m->store != NULL)
		layermount_warn(m, name, why);
	else
		msg_error(&m->msg, "%s: %s", name, why);
	return rc;
}

void
layermount_hide(const struct layermount *m)
{
	int last = m->o.store ? STDOUT_FILENO : STDERR_FILENO;

	for (int fd = 0; m->null_fd >= 0 && fd <= last; fd++)
		dup2(m->null_fd, fd);
}

int
main(int argc, char **argv)
{
	struct layermount m = { .cache_dir = -1, .stats_fd = -1,
		.readahead_fd = -1, .message = PTHREAD_MUTEX_INITIALIZER };
	int status;

	fdio_hold_standard();
#ifdef M_MMAP_THRESHOLD
	/* return the memory of large units to the system immediately */
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
#endif
	msg_init(&m.msg, argv[0]);
	/* a confined process cannot open this */
	m.null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	status = layermount_parse(&m, argc, argv);
	if (status >= 0)
		return status;
	return m.o.probe ? layermount_probe(&m) : layermount_run(&m);
}

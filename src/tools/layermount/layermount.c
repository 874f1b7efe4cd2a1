/*
 * layermount.c - mount layers that are read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/fdio.h"
#include "base/sys.h"

#include <ctype.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* The minimum size of an allocation with a separate mapping, in bytes. */
enum { MAPPED_MIN = 128 << 10 };

/* Sends a message to the system log.  Called with the lock held. */
static void
put_log(int priority, const char *name, const char *why)
{
	char text[8192];
	const char *from = text;

	snprintf(text, sizeof(text), "%s: %s", name, why);
	for (char *c = text; *c != '\0'; c++)
		if (iscntrl((unsigned char)*c))
			*c = '?';
	syslog(priority, "%s", from);
}

/* Keeps a message for those who ask.  Called with the lock held. */
static void
keep_message(struct layermount *m, const char *name, const char *why)
{
	snprintf(m->last_message, sizeof(m->last_message), "%s: %s", name,
	    why);
	m->last_message_s = (int64_t)time(NULL);
}

static void
warn_about(void *arg, const char *name, const char *why)
{
	struct layermount *m = arg;

	pthread_mutex_lock(&m->message);
	keep_message(m, name, why);
	if (m->in_log && !m->msg.quiet)
		put_log(LOG_WARNING, name, why);
	msg_warn(&m->msg, "%s: %s", name, why);
	pthread_mutex_unlock(&m->message);
}

void
layermount_fail(void *arg, const char *name, const char *why)
{
	struct layermount *m = arg;

	pthread_mutex_lock(&m->message);
	keep_message(m, name, why);
	if (m->in_log)
		put_log(LOG_ERR, name, why);
	msg_error(&m->msg, "%s: %s", name, why);
	pthread_mutex_unlock(&m->message);
}

struct vfs_report
layermount_report(struct layermount *m)
{
	return (struct vfs_report){ .warn = warn_about,
		.fail = m->o.store ? warn_about : layermount_fail,
		.arg = m };
}

void
layermount_hide(struct layermount *m)
{
	for (int fd = 0; m->null_fd >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(m->null_fd, fd);
	if (m->log_fd >= 0)
		dup2(m->log_fd, STDERR_FILENO);
	m->in_log = m->log_fd < 0;
}

int
main(int argc, char **argv)
{
	struct layermount m = { .cache_dir = -1, .stats_fd = -1,
		.log_fd = -1, .readahead.fd = -1, .metrics_fd = -1,
		.message = PTHREAD_MUTEX_INITIALIZER };
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
		goto out;
	if (m.o.probe)
		status = layermount_probe(&m);
	else if (m.o.status)
		status = layermount_status(&m);
#ifdef COLDPRESS_CONTAINERD
	else if (m.o.containerd != NULL)
		status = layermount_containerd(&m);
#endif
	else
		status = layermount_run(&m);
out:
	sys_free(m.o.credentials);
	sys_free(m.o.credentials_for);
	return status;
}

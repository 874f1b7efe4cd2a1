/*
 * proc_usage.c - the resource usage and exit status of a dead child
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc_impl.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static uint64_t
io_field(const char *text, const char *name)
{
	const char *s = strstr(text, name);

	return s == NULL ? 0 : strtoull(s + strlen(name), NULL, 10);
}

int
proc_open_io(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* Reads and closes /proc/PID/io, described in proc_pid_io(5). */
static void
read_io(int fd, struct proc_usage *u)
{
	char text[512];
	ssize_t n;

	if (fd < 0)
		return;
	n = sys_read(fd, text, sizeof(text) - 1);
	sys_close(fd);
	if (n <= 0)
		return;
	text[n] = '\0';
	u->io = true;
	u->rchar_B = io_field(text, "rchar: ");
	u->wchar_B = io_field(text, "wchar: ");
	u->read_B = io_field(text, "\nread_bytes: ");
	u->write_B = io_field(text, "\nwrite_bytes: ");
	u->cancelled_B = io_field(text, "cancelled_write_bytes: ");
}

void
proc_usage_add(struct proc_usage *a, const struct proc_usage *b)
{
	a->user_us += b->user_us;
	a->sys_us += b->sys_us;
	if (b->maxrss_KiB > a->maxrss_KiB)
		a->maxrss_KiB = b->maxrss_KiB;
	a->minflt += b->minflt;
	a->majflt += b->majflt;
	a->nvcsw += b->nvcsw;
	a->nivcsw += b->nivcsw;
	a->io |= b->io;
	a->rchar_B += b->rchar_B;
	a->wchar_B += b->wchar_B;
	a->read_B += b->read_B;
	a->write_B += b->write_B;
	a->cancelled_B += b->cancelled_B;
}

static uint64_t
micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

int
proc_reap(pid_t pid, int io, struct proc_usage *u)
{
	struct proc_usage one = { .io = false };
	struct rusage ru = { .ru_maxrss = 0 };
	int status = 0;

	read_io(io, &one);
	while (wait4(pid, &status, 0, &ru) == -1 && errno == EINTR)
		;
	one.user_us = micros(ru.ru_utime);
	one.sys_us = micros(ru.ru_stime);
	one.maxrss_KiB = ru.ru_maxrss;
	one.minflt = ru.ru_minflt;
	one.majflt = ru.ru_majflt;
	one.nvcsw = ru.ru_nvcsw;
	one.nivcsw = ru.ru_nivcsw;
	proc_usage_add(u, &one);
	return status;
}

int
proc_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

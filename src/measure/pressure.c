/*
 * pressure.c - measuring other activity on the machine: stalls, steal and load
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "measure/pressure.h"

#include "base/sys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
open_file(const char *path)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	return fd < 0 ? -1 : fd;
}

void
pressure_open(struct pressure *p)
{
	p->stalls[PRESSURE_CPU] = open_file("/proc/pressure/cpu");
	p->stalls[PRESSURE_IO] = open_file("/proc/pressure/io");
	p->stalls[PRESSURE_MEM] = open_file("/proc/pressure/memory");
	p->stat = open_file("/proc/stat");
	p->load = open_file("/proc/loadavg");
	p->tick_ns = 1000000000 / sysconf(_SC_CLK_TCK);
}

/* Returns the start of a file as a string, or "" if it cannot be read. */
static const char *
text_of(int fd, char *buf, size_t size)
{
	ssize_t n = fd < 0 ? -1 : sys_pread(fd, buf, size - 1, 0);

	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

/* Parses the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in us. */
static int64_t
stall(int fd)
{
	char buf[128];
	const char *s = strstr(text_of(fd, buf, sizeof(buf)), "total=");

	return s == NULL ? -1 : strtoll(s + 6, NULL, 10);
}

/* Returns the eighth number after "cpu", in ticks. */
static int64_t
steal(int fd)
{
	char buf[192], *s = buf + 3;
	int64_t ticks = -1;

	if (strncmp(text_of(fd, buf, sizeof(buf)), "cpu ", 4) != 0)
		return -1;
	for (int i = 0; i < 8; i++) {
		char *end;

		ticks = strtoll(s, &end, 10);
		if (end == s)
			return -1;
		s = end;
	}
	return ticks;
}

void
pressure_read_stalls(const struct pressure *p, struct pressure_now *now)
{
	for (int i = 0; i < PRESSURE_STALLS; i++)
		now->stall_us[i] = stall(p->stalls[i]);
}

void
pressure_read_steal(const struct pressure *p, struct pressure_now *now)
{
	int64_t ticks = steal(p->stat);
	char buf[64];

	now->steal_ns = ticks < 0 ? -1 : ticks * p->tick_ns;
	now->load1 = -1;
	if (*text_of(p->load, buf, sizeof(buf)) != '\0')
		now->load1 = strtod(buf, NULL);
}

void
pressure_close(struct pressure *p)
{
	const int fds[] = { p->stalls[0], p->stalls[1], p->stalls[2], p->stat,
		p->load };

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			sys_close(fds[i]);
}

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
open_counters(const char *path)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	return fd < 0 ? -1 : fd;
}

void
pressure_open(struct pressure *p)
{
	p->stalls[PRESSURE_CPU] = open_counters("/proc/pressure/cpu");
	p->stalls[PRESSURE_IO] = open_counters("/proc/pressure/io");
	p->stalls[PRESSURE_MEM] = open_counters("/proc/pressure/memory");
	p->stat = open_counters("/proc/stat");
	p->load = open_counters("/proc/loadavg");
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

void
pressure_read_stalls(const struct pressure *p, struct pressure_now *now)
{
	char buf[128];

	/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in us */
	for (int i = 0; i < PRESSURE_STALLS; i++) {
		const char *s = strstr(text_of(p->stalls[i], buf,
		    sizeof(buf)), "total=");

		now->stall_us[i] = s == NULL ? -1 : strtoll(s + 6, NULL, 10);
	}
}

void
pressure_read_steal(const struct pressure *p, struct pressure_now *now)
{
	char buf[192], *s = buf + 3, *end;
	int64_t ticks = -1;

	now->steal_ns = now->load1 = -1;
	/* the eighth number after "cpu", in ticks */
	if (strncmp(text_of(p->stat, buf, sizeof(buf)), "cpu ", 4) == 0) {
		for (int i = 0; i < 8 && s != NULL; i++) {
			ticks = strtoll(s, &end, 10);
			s = end == s ? NULL : end;
		}
		if (s != NULL && ticks >= 0)
			now->steal_ns = ticks * p->tick_ns;
	}
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

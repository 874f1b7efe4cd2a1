/*
 * progress.c - a progress line on a terminal during long work
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/progress.h"

#include "base/sys.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

enum { UPDATES_PER_S = 5, FORMS_PER_S = 4, LINE_MAX_B = 80 };

void
progress_start(struct progress *p, int fd, uint64_t total_B, bool quiet)
{
	atomic_init(&p->done_B, 0);
	p->total_B = total_B;
	p->start_ns = p->drawn_ns = (int64_t)sys_now_ns();
	p->shown = !quiet && isatty(fd);
	p->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	p->fd = fd;
	p->width = 0;
	p->form = NULL;
}

void
progress_start_form(struct progress *p, uint64_t total_B,
    const struct progress_form *form)
{
	progress_start(p, -1, total_B, true);
	p->form = form;
}

void
progress_add(struct progress *p, uint64_t bytes)
{
	atomic_fetch_add_explicit(&p->done_B, bytes, memory_order_relaxed);
}

/* Writes three digits and a unit, so the columns stay aligned. */
static void
put_size(char *text, size_t size, double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB",
	    "PiB", "EiB" };
	size_t i = 0;

	/* 999.5 would be rounded to 1000 */
	while (bytes >= 999.5 && i < sizeof(units) / sizeof(units[0]) - 1) {
		bytes /= 1024;
		i++;
	}
	snprintf(text, size, "%.*f %s", i == 0 || bytes >= 99.95 ? 0 :
	    bytes >= 9.995 ? 1 : 2, bytes, units[i]);
}

size_t
progress_text(char *text, size_t size, uint64_t done_B, uint64_t total_B,
    uint64_t elapsed_ns)
{
	double seconds = (double)elapsed_ns / (double)SECOND_NS;
	double rate = seconds > 0 ? (double)done_B / seconds : 0;
	char done[32], per_s[32], left[32];
	int n;

	put_size(done, sizeof(done), (double)done_B);
	put_size(per_s, sizeof(per_s), rate);
	/*
	 * a growing file can exceed its total, which is then treated as unknown
	 */
	if (total_B == 0 || done_B > total_B) {
		n = snprintf(text, size, "%10s  %10s/s", done, per_s);
	} else {
		double rest = (double)(total_B - done_B);
		bool known = rate > 0 && rest / rate < 1e6;
		uint64_t s = known ? (uint64_t)(rest / rate + 0.5) : 0;

		if (!known)
			snprintf(left, sizeof(left), "?");
		else if (s < 3600)
			snprintf(left, sizeof(left), "%" PRIu64 ":%02" PRIu64,
			    s / 60, s % 60);
		else
			snprintf(left, sizeof(left), "%" PRIu64 ":%02" PRIu64
			    ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
		n = snprintf(text, size, "%5.1f %%  %10s  %10s/s  %s left",
		    100 * (double)done_B / (double)total_B, done, per_s, left);
	}
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}

/*
 * Overwrites the previous line, padding with blanks, and moves the cursor back
 * to the first column.  A carriage return works on every terminal.
 */
static void
overwrite(struct progress *p, const char *text, size_t len)
{
	char line[2 * LINE_MAX_B + 4];
	size_t blanks = p->width > len ? p->width - len : 0;
	int n = snprintf(line, sizeof(line), "\r%s%*s\r", text, (int)blanks,
	    "");

	if (sys_write(p->fd, line, (size_t)n) < 0)
		p->fd = -1;
	p->width = len;
}

static void
draw_form(struct progress *p)
{
	int64_t now;

	pthread_mutex_lock(&p->lock);
	now = (int64_t)sys_now_ns();
	if (now >= p->drawn_ns + SECOND_NS / FORMS_PER_S) {
		p->drawn_ns = now;
		p->form->draw(p->form->arg, atomic_load_explicit(&p->done_B,
		    memory_order_relaxed), p->total_B);
	}
	pthread_mutex_unlock(&p->lock);
}

void
progress_draw(struct progress *p)
{
	char text[LINE_MAX_B];
	size_t size = LINE_MAX_B;
	struct winsize w;
	int64_t now;
	pid_t front;

	if (p->form != NULL)
		draw_form(p);
	if (!p->shown)
		return;
	pthread_mutex_lock(&p->lock);
	now = (int64_t)sys_now_ns();
	if (p->fd == -1 || now < p->start_ns + SECOND_NS ||
	    now < p->drawn_ns + SECOND_NS / UPDATES_PER_S)
		goto out;
	/* another job may be in the foreground of the terminal */
	front = tcgetpgrp(p->fd);
	if (front != -1 && front != getpgrp())
		goto out;
	p->drawn_ns = now;
	/* a line wider than the terminal is wrapped, and cannot be erased */
	if (ioctl(p->fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 &&
	    w.ws_col < LINE_MAX_B)
		size = w.ws_col;
	overwrite(p, text, progress_text(text, size,
	    atomic_load_explicit(&p->done_B, memory_order_relaxed),
	    p->total_B, (uint64_t)(now - p->start_ns)));
out:
	pthread_mutex_unlock(&p->lock);
}

void
progress_end(struct progress *p)
{
	if (!p->shown)
		return;
	pthread_mutex_lock(&p->lock);
	if (p->fd != -1 && p->width > 0)
		overwrite(p, "", 0);
	pthread_mutex_unlock(&p->lock);
}

void
progress_erase(struct progress *p)
{
	if (p->form != NULL) {
		pthread_mutex_lock(&p->lock);
		p->form->yield(p->form->arg);
		pthread_mutex_unlock(&p->lock);
	}
	progress_end(p);
}

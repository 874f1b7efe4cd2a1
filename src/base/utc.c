/*
 * utc.c - a date as text, without the C library's time zones
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/utc.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

struct date {
	int year, month, day;
	int hour, minute, second;
};

int64_t
utc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static bool
is_leap(int year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static struct date
date_of(int64_t ns)
{
	static const int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	int64_t sec = ns < 0 ? 0 : ns / 1000000000;
	int days = (int)(sec / 86400), rest = (int)(sec % 86400), n;
	struct date d = { .year = 1970, .month = 1, .hour = rest / 3600,
		.minute = rest / 60 % 60, .second = rest % 60 };

	/* 63 bits of nanoseconds end in 2262: at most 292 iterations */
	for (; days >= (n = is_leap(d.year) ? 366 : 365); d.year++)
		days -= n;
	for (; d.month < 12; d.month++) {
		n = lengths[d.month - 1] + (d.month == 2 && is_leap(d.year));
		if (days < n)
			break;
		days -= n;
	}
	d.day = days + 1;
	return d;
}

void
utc_text(char text[UTC_B], int64_t ns)
{
	struct date d = date_of(ns);

	snprintf(text, UTC_B, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
	    d.year % 10000, d.month % 100, d.day % 100, d.hour % 100,
	    d.minute % 100, d.second % 100,
	    (int)((ns < 0 ? 0 : ns) / 1000000 % 1000));
}

void
utc_name(char text[UTC_B], int64_t ns)
{
	struct date d = date_of(ns);

	snprintf(text, UTC_B, "%04d%02d%02dT%02d%02d%02dZ", d.year % 10000,
	    d.month % 100, d.day % 100, d.hour % 100, d.minute % 100,
	    d.second % 100);
}

/*
 * utc.c - dates as text, without the C library's time zones
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/utc.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define YEAR_1 INT64_C(-62135596800)
#define YEAR_10000 INT64_C(253402300800)

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

/* Returns the Gregorian date of a time in seconds since 1970. */
static struct date
date_of(int64_t seconds)
{
	int64_t days = seconds / 86400 - (seconds % 86400 < 0);
	int rest = (int)(seconds - days * 86400);
	/* eras of 400 years, starting at 0000-03-01 */
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int doy = (int)(doe - (365 * yoe + yoe / 4 - yoe / 100));
	int shifted = (5 * doy + 2) / 153;	/* months since March */
	int month = shifted < 10 ? shifted + 3 : shifted - 9;

	return (struct date){ .year = (int)(yoe + era * 400) + (month <= 2),
		.month = month, .day = doy - (153 * shifted + 2) / 5 + 1,
		.hour = rest / 3600, .minute = rest / 60 % 60,
		.second = rest % 60 };
}

void
utc_text(char text[UTC_B], int64_t ns)
{
	struct date d;

	ns = ns < 0 ? 0 : ns;
	d = date_of(ns / 1000000000);
	snprintf(text, UTC_B, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
	    d.year % 10000, d.month % 100, d.day % 100, d.hour % 100,
	    d.minute % 100, d.second % 100, (int)(ns / 1000000 % 1000));
}

void
utc_name(char text[UTC_B], int64_t ns)
{
	struct date d = date_of(ns < 0 ? 0 : ns / 1000000000);

	snprintf(text, UTC_B, "%04d%02d%02dT%02d%02d%02dZ", d.year % 10000,
	    d.month % 100, d.day % 100, d.hour % 100, d.minute % 100,
	    d.second % 100);
}

/* Parses a number of exactly n digits.  Returns the text after it, or NULL. */
static const char *
digits(const char *s, int n, int *value)
{
	if (s == NULL)
		return NULL;
	for (*value = 0; n > 0; n--, s++) {
		if (*s < '0' || *s > '9')
			return NULL;
		*value = *value * 10 + (*s - '0');
	}
	return s;
}

static const char *
mark(const char *s, const char *set)
{
	return s == NULL || *s == '\0' || strchr(set, *s) == NULL ? NULL :
	    s + 1;
}

int
utc_parse(const char *s, int64_t *seconds, uint32_t *ns)
{
	/* days of a year before each month */
	static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243,
		273, 304, 334 };
	int hours = 0, minutes = 0, sign = 0;
	uint32_t unit = 100000000;
	struct date d;
	int64_t y;
	bool leap;

	s = digits(s, 4, &d.year);
	s = digits(mark(s, "-"), 2, &d.month);
	s = digits(mark(s, "-"), 2, &d.day);
	s = digits(mark(s, "Tt "), 2, &d.hour);
	s = digits(mark(s, ":"), 2, &d.minute);
	s = digits(mark(s, ":"), 2, &d.second);
	*ns = 0;
	if (s != NULL && *s == '.') {
		for (s++; *s >= '0' && *s <= '9'; s++, unit /= 10)
			*ns += unit * (uint32_t)(*s - '0');
		if (s[-1] == '.')
			return -EINVAL;
	}
	/* the zone: "Z", or a signed offset from it */
	if (s == NULL || *s == 'Z' || *s == 'z') {
		s = mark(s, "Zz");
	} else {
		sign = *s == '-' ? -1 : 1;
		s = digits(mark(s, "+-"), 2, &hours);
		s = digits(mark(s, ":"), 2, &minutes);
	}
	if (s == NULL || *s != '\0' || d.year < 1 || d.month < 1 ||
	    d.month > 12 || d.day < 1 || d.day > 31 || d.hour > 23 ||
	    d.minute > 59 || d.second > 60)
		return -EINVAL;
	/* days from 1970-01-01 to the Gregorian date */
	y = d.year - 1;
	leap = d.year % 4 == 0 && (d.year % 100 != 0 || d.year % 400 == 0);
	*seconds = (y * 365 + y / 4 - y / 100 + y / 400 - 719162 +
	    before[d.month - 1] + (d.month > 2 && leap) + d.day - 1) * 86400 +
	    d.hour * 3600 + d.minute * 60 + d.second -
	    sign * (hours * 60 + minutes) * 60;
	return 0;
}

bool
utc_rfc3339(char text[UTC_B], int64_t seconds, uint32_t ns)
{
	struct date d;
	int n;

	if (seconds < YEAR_1 || seconds >= YEAR_10000)
		return false;
	d = date_of(seconds);
	n = snprintf(text, UTC_B, "%04u-%02u-%02uT%02u:%02u:%02u",
	    (unsigned)d.year % 10000, (unsigned)d.month % 100,
	    (unsigned)d.day % 100, (unsigned)d.hour % 100,
	    (unsigned)d.minute % 100, (unsigned)d.second % 100);
	if (ns > 0) {
		n += snprintf(text + n, (size_t)(UTC_B - n), ".%09u", ns);
		while (text[n - 1] == '0')
			n--;
	}
	text[n] = 'Z';
	text[n + 1] = '\0';
	return true;
}

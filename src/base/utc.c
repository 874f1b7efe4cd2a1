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

	/* 63 bits of nanoseconds last until 2262: at most 292 iterations */
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

/* Returns the number of days from 1970-01-01 to a Gregorian date. */
static int64_t
days_to(const struct date *d)
{
	static const int before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243,
		273, 304, 334 };
	int64_t y = d->year - 1;

	return y * 365 + y / 4 - y / 100 + y / 400 - 719162 +
	    before[d->month - 1] + (d->month > 2 && is_leap(d->year)) +
	    d->day - 1;
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

/* Parses a fraction of a second, if there is one. */
static const char *
fraction(const char *s, uint32_t *ns)
{
	uint32_t unit = 100000000;

	*ns = 0;
	if (s == NULL || *s != '.')
		return s;
	for (s++; *s >= '0' && *s <= '9'; s++, unit /= 10)
		*ns += unit * (uint32_t)(*s - '0');
	return s[-1] == '.' ? NULL : s;
}

/*
 * Parses the zone: "Z", or a signed offset from it, which is stored in seconds.
 */
static const char *
zone(const char *s, int *offset)
{
	int hours = 0, minutes = 0, sign;

	*offset = 0;
	if (s == NULL || *s == 'Z' || *s == 'z')
		return mark(s, "Zz");
	sign = *s == '-' ? -1 : 1;
	s = digits(mark(s, "+-"), 2, &hours);
	s = digits(mark(s, ":"), 2, &minutes);
	*offset = sign * (hours * 60 + minutes) * 60;
	return s;
}

int
utc_parse(const char *s, int64_t *seconds, uint32_t *ns)
{
	struct date d;
	int offset;

	s = digits(s, 4, &d.year);
	s = digits(mark(s, "-"), 2, &d.month);
	s = digits(mark(s, "-"), 2, &d.day);
	s = digits(mark(s, "Tt "), 2, &d.hour);
	s = digits(mark(s, ":"), 2, &d.minute);
	s = digits(mark(s, ":"), 2, &d.second);
	s = zone(fraction(s, ns), &offset);
	if (s == NULL || *s != '\0' || d.year < 1 || d.month < 1 ||
	    d.month > 12 || d.day < 1 || d.day > 31 || d.hour > 23 ||
	    d.minute > 59 || d.second > 60)
		return -EINVAL;
	*seconds = days_to(&d) * 86400 + d.hour * 3600 + d.minute * 60 +
	    d.second - offset;
	return 0;
}

/* Computes the Gregorian date of a day counted from 1970-01-01. */
static void
civil(int64_t days, int64_t *year, int *month, int *day)
{
	/* eras of 400 years, starting at 0000-03-01 */
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097;
	int64_t doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int doy = (int)(doe - (365 * yoe + yoe / 4 - yoe / 100));
	int shifted = (5 * doy + 2) / 153;	/* months since March */

	*day = doy - (153 * shifted + 2) / 5 + 1;
	*month = shifted < 10 ? shifted + 3 : shifted - 9;
	*year = yoe + era * 400 + (*month <= 2);
}

bool
utc_rfc3339(char text[UTC_B], int64_t seconds, uint32_t ns)
{
	int64_t days = seconds / 86400, rest = seconds % 86400, year;
	int month, day, n;

	if (seconds < YEAR_1 || seconds >= YEAR_10000)
		return false;
	days -= rest < 0;
	rest += rest < 0 ? 86400 : 0;
	civil(days, &year, &month, &day);
	n = snprintf(text, UTC_B, "%04u-%02u-%02uT%02u:%02u:%02u",
	    (unsigned)year % 10000, (unsigned)month % 100,
	    (unsigned)day % 100, (unsigned)(rest / 3600) % 100,
	    (unsigned)(rest / 60 % 60), (unsigned)(rest % 60));
	if (ns > 0) {
		n += snprintf(text + n, (size_t)(UTC_B - n), ".%09u", ns);
		while (text[n - 1] == '0')
			n--;
	}
	text[n] = 'Z';
	text[n + 1] = '\0';
	return true;
}

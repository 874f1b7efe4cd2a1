/*
 * utc.h - dates as text, without the C library's time zones
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * gmtime(3) would pull all the time zone code into a static program and account
 * for a tenth of its size.  Thread-safe.
 */
#ifndef COLDPRESS_UTC_H
#define COLDPRESS_UTC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

enum { UTC_B = 32 };

/*
 * Returns the time of the system clock, which may be set back, in nanoseconds
 * since 1970.
 */
int64_t utc_now_ns(void);

/*
 * Formats a nonnegative time in nanoseconds since 1970 as
 * "2026-11-20T22:08:04.123Z" (ISO 8601).
 */
void utc_text(char text[UTC_B], int64_t ns);

/* Formats a time as "20261120T220804Z", for use in names. */
void utc_name(char text[UTC_B], int64_t ns);

/*
 * Parses an RFC 3339 date in the years 1 to 9999, with a zone and any fraction
 * of a second, into a time since 1970.  Returns 0 or -EINVAL.
 */
int utc_parse(const char *text, int64_t *seconds, uint32_t *ns);

/*
 * Formats a file's time, seconds since 1970 plus ns (below 1e9), as
 * "2026-11-20T22:08:04Z" or "2026-11-20T22:08:04.12Z" (RFC 3339).  Returns
 * false if the year is not in 1..9999.
 */
bool utc_rfc3339(char text[UTC_B], int64_t seconds, uint32_t ns);

/* Returns a span of time, such as those of getrusage(2), in microseconds. */
static inline uint64_t
utc_span_us(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

#endif

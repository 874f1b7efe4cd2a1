/*
 * http_header.h - parsing values of HTTP header fields
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 9110, 10.2.3 (Retry-After), 11 (challenges), 14.4
 * (Content-Range); RFC 2046, 5.1.1 (boundary); RFC 6750, 3 and the
 * distribution project's "Token Authentication Specification" (Bearer).
 *
 * Values are not trusted: a value that does not fit in its buffer is an error.
 * All functions are thread-safe.
 */
#ifndef COLDPRESS_HTTP_HEADER_H
#define COLDPRESS_HTTP_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_BOUNDARY = 71,		/* including the NUL */
	HTTP_PARAMETER = 512
};

#define HTTP_UNKNOWN UINT64_MAX

/* The bytes from offset to offset + length of an object of `total` bytes. */
struct http_content_range {
	uint64_t offset, length;
	uint64_t total;			/* or HTTP_UNKNOWN */
};

enum http_scheme { HTTP_NO_SCHEME, HTTP_BASIC, HTTP_BEARER };

struct http_challenge {
	enum http_scheme scheme;
	char realm[HTTP_PARAMETER];
	char service[HTTP_PARAMETER];
	char scope[HTTP_PARAMETER];
};

/*
 * Parses "bytes 0-99/200", with an asterisk in place of an unknown total.  If
 * the range is an asterisk, the length is 0.  Returns 0 or -EBADMSG.
 */
int http_content_range(const char *value, struct http_content_range *r);

/* Finds the "boundary" parameter of a media type.  Returns 0 or -EBADMSG. */
int http_boundary(const char *value, char boundary[HTTP_BOUNDARY]);

/*
 * Selects one of the challenges in a field: Bearer with a realm or, if there is
 * none, Basic.  Returns 0, or -EBADMSG if neither is present.
 */
int http_challenge(const char *value, struct http_challenge *c);

/*
 * Returns the number of seconds to wait, from a Retry-After value (a number or
 * a date); 0 if the value cannot be parsed.
 */
unsigned http_retry_after(const char *value);

#endif

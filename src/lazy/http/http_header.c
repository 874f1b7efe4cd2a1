/*
 * http_header.c - parsing values of HTTP header fields
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_header.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { RETRY_MAX = 86400 };

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static const char *
skip_blanks(const char *s)
{
	while (is_blank(*s))
		s++;
	return s;
}

/* Parses a decimal number at *s, which must be less than 2^63. */
static int
parse_number(const char **s, uint64_t *n)
{
	const char *start = *s;

	for (*n = 0; **s >= '0' && **s <= '9'; (*s)++) {
		if (*n >= (UINT64_C(1) << 63) / 10)
			return -EBADMSG;
		*n = 10 * *n + (uint64_t)(**s - '0');
	}
	return *s == start ? -EBADMSG : 0;
}

static int
take_char(const char **s, char c)
{
	if (**s != c)
		return -EBADMSG;
	(*s)++;
	return 0;
}

int
http_content_range(const char *value, struct http_content_range *r)
{
	const char *s = skip_blanks(value);
	uint64_t last;
	int rc;

	if (strncasecmp(s, "bytes", 5) != 0 || !is_blank(s[5]))
		return -EBADMSG;
	s = skip_blanks(s + 5);
	/* "first-last" or an asterisk */
	r->offset = r->length = 0;
	if (take_char(&s, '*') != 0) {
		rc = parse_number(&s, &r->offset);
		if (rc == 0)
			rc = take_char(&s, '-');
		if (rc == 0)
			rc = parse_number(&s, &last);
		if (rc != 0 || last < r->offset)
			return -EBADMSG;
		r->length = last - r->offset + 1;
	}
	rc = take_char(&s, '/');
	if (rc == 0 && take_char(&s, '*') == 0)
		r->total = HTTP_UNKNOWN;
	else if (rc == 0)
		rc = parse_number(&s, &r->total);
	if (rc != 0 || *skip_blanks(s) != '\0')
		return -EBADMSG;
	return r->offset + r->length <= r->total ? 0 : -EBADMSG;
}

/* Parses a token or a quoted string at *s, up to size - 1 bytes. */
static int
parse_value(const char **s, char *out, size_t size)
{
	bool quoted = **s == '"';
	size_t n = 0;
	char c;

	*s += quoted;
	for (; (c = **s) != '\0'; (*s)++) {
		if (quoted ? c == '"' : c == ',' || c == ';' || is_blank(c))
			break;
		if (quoted && c == '\\' && (*s)[1] != '\0')
			c = *++*s;
		if (n + 1 >= size)
			return -EBADMSG;
		out[n++] = c;
	}
	out[n] = '\0';
	return quoted ? take_char(s, '"') : 0;
}

/* Returns the length of the token at s. */
static size_t
token(const char *s)
{
	return strcspn(s, " \t,;=\"");
}

static bool
is_word(const char *s, size_t n, const char *word)
{
	return n == strlen(word) && strncasecmp(s, word, n) == 0;
}

int
http_boundary(const char *value, char boundary[HTTP_BOUNDARY])
{
	char other[HTTP_PARAMETER];
	const char *s = value + strcspn(value, ";");

	while (*s == ';') {
		s = skip_blanks(s + 1);
		size_t n = token(s);
		bool found = is_word(s, n, "boundary");

		s += n;
		if (take_char(&s, '=') != 0 ||
		    parse_value(&s, found ? boundary : other,
		    found ? HTTP_BOUNDARY : sizeof(other)) != 0)
			return -EBADMSG;
		if (found)
			return *boundary == '\0' ? -EBADMSG : 0;
		s = skip_blanks(s);
	}
	return -EBADMSG;
}

int
http_challenge(const char *value, struct http_challenge *c)
{
	struct http_challenge one;
	char other[HTTP_PARAMETER];
	const char *s = value;

	c->scheme = HTTP_NO_SCHEME;
	for (size_t n; s += strspn(s, " \t,"), (n = token(s)) > 0; ) {
		memset(&one, 0, sizeof(one));
		one.scheme = is_word(s, n, "Bearer") ? HTTP_BEARER :
		    is_word(s, n, "Basic") ? HTTP_BASIC : HTTP_NO_SCHEME;
		s = skip_blanks(s + n);
		/* the parameters, up to the next scheme */
		while ((n = token(s)) != 0 && s[n] == '=') {
			char *to = is_word(s, n, "realm") ? one.realm :
			    is_word(s, n, "service") ? one.service :
			    is_word(s, n, "scope") ? one.scope : other;

			s += n + 1;
			if (parse_value(&s, to, HTTP_PARAMETER) != 0)
				return -EBADMSG;
			s += strspn(s, " \t,");
		}
		if (one.scheme == HTTP_BEARER && *one.realm == '\0')
			continue;
		if (one.scheme > c->scheme)
			*c = one;
	}
	return c->scheme == HTTP_NO_SCHEME ? -EBADMSG : 0;
}

/*
 * Reads a date in one of the forms of RFC 9110, section 5.6.7.  curl_getdate()
 * would return a time of 32 bits where libcurl was built so.  Returns -1 if it
 * is none.
 */
static time_t
read_date(const char *value)
{
	static const char *const forms[] = { "%a, %d %b %Y %H:%M:%S GMT",
		"%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm = { .tm_year = 0 };

		if (strptime(value, forms[i], &tm) != NULL)
			return timegm(&tm);
	}
	return -1;
}

unsigned
http_retry_after(const char *value)
{
	const char *s = skip_blanks(value);
	uint64_t n;
	time_t when;

	if (parse_number(&s, &n) == 0)
		return n > RETRY_MAX ? RETRY_MAX : (unsigned)n;
	when = read_date(value);
	if (when == -1 || when <= time(NULL))
		return 0;
	n = (uint64_t)(when - time(NULL));
	return n > RETRY_MAX ? RETRY_MAX : (unsigned)n;
}

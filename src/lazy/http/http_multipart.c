/*
 * http_multipart.c - incrementally parsing multipart/byteranges
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_multipart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

void
multipart_start(struct multipart *m, const char *boundary,
    multipart_take *take, void *arg)
{
	*m = (struct multipart){ .take = take, .arg = arg };
	snprintf(m->delimiter, sizeof(m->delimiter), "--%s", boundary);
}

static int
begin_body(struct multipart *m)
{
	if (!m->has_range || m->range.length == 0)
		return -EBADMSG;
	m->state = MULTIPART_BODY;
	return 0;
}

static int
head_field(struct multipart *m)
{
	static const char name[] = "Content-Range:";

	if (++m->fields > MULTIPART_FIELDS)
		return -EBADMSG;
	if (strncasecmp(m->line, name, sizeof(name) - 1) != 0)
		return 0;
	if (m->has_range)
		return -EBADMSG;
	m->has_range = true;
	return http_content_range(m->line + sizeof(name) - 1, &m->range);
}

/*
 * Handles a line outside the parts: a delimiter, the last delimiter, or other
 * text.
 */
static int
between(struct multipart *m)
{
	size_t n = strlen(m->delimiter);
	const char *rest = m->line + n;

	if (strncmp(m->line, m->delimiter, n) != 0)
		/* text before the first part is ignored */
		return m->state == MULTIPART_PREAMBLE || m->length == 0 ? 0 :
		    -EBADMSG;
	if (strncmp(rest, "--", 2) == 0) {
		m->state = MULTIPART_END;
		return 0;
	}
	if (rest[strspn(rest, " \t")] != '\0')
		return m->state == MULTIPART_PREAMBLE ? 0 : -EBADMSG;
	m->state = MULTIPART_HEAD;
	m->fields = 0;
	m->has_range = false;
	return 0;
}

/* Handles a complete line. */
static int
end_line(struct multipart *m)
{
	int rc;

	if (m->length > 0 && m->line[m->length - 1] == '\r')
		m->length--;
	m->line[m->length] = '\0';
	if (m->state != MULTIPART_HEAD)
		rc = between(m);
	else
		rc = m->length == 0 ? begin_body(m) : head_field(m);
	m->length = 0;
	return rc;
}

/*
 * Adds bytes up to and including a newline.  Returns the number of bytes used,
 * or -errno.
 */
static ssize_t
add_line(struct multipart *m, const char *data, size_t len)
{
	const char *newline = memchr(data, '\n', len);
	size_t n = newline == NULL ? len : (size_t)(newline - data);
	int rc = 0;

	if (n >= sizeof(m->line) - m->length)
		return -EBADMSG;
	memcpy(m->line + m->length, data, n);
	m->length += n;
	if (newline != NULL)
		rc = end_line(m);
	return rc != 0 ? rc : (ssize_t)(n + (newline != NULL));
}

static ssize_t
add_body(struct multipart *m, const char *data, size_t len)
{
	size_t n = len < m->range.length ? len : (size_t)m->range.length;
	int rc = m->take(m->arg, m->range.offset, data, n);

	m->range.offset += n;
	m->range.length -= n;
	if (m->range.length == 0)
		m->state = MULTIPART_AFTER;
	return rc != 0 ? rc : (ssize_t)n;
}

int
multipart_feed(struct multipart *m, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0 && m->state != MULTIPART_END) {
		ssize_t n = m->state == MULTIPART_BODY ?
		    add_body(m, at, len) : add_line(m, at, len);

		if (n < 0)
			return (int)n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

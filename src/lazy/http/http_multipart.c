/*
 * http_multipart.c - incrementally parsing multipart/byteranges
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_multipart.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

void
multipart_start(struct multipart *m, const char *boundary,
    multipart_take *take, void *arg)
{
	*m = (struct multipart){ .take = take, .arg = arg };
	snprintf(m->delimiter, sizeof(m->delimiter), "--%s", boundary);
}

/* Handles a complete line: a delimiter, a field of a part, or other text. */
static int
end_line(struct multipart *m)
{
	static const char name[] = "Content-Range:";
	size_t n = m->length, skip = strlen(m->delimiter);
	const char *rest = m->line + skip;

	m->length = 0;
	if (n > 0 && m->line[n - 1] == '\r')
		n--;
	m->line[n] = '\0';
	if (m->state == MULTIPART_HEAD && n == 0) {
		if (!m->has_range || m->range.length == 0)
			return -EBADMSG;
		m->state = MULTIPART_BODY;
		return 0;
	}
	if (m->state == MULTIPART_HEAD) {
		if (++m->fields > MULTIPART_FIELDS)
			return -EBADMSG;
		if (strncasecmp(m->line, name, sizeof(name) - 1) != 0)
			return 0;
		if (m->has_range)
			return -EBADMSG;
		m->has_range = true;
		return http_content_range(m->line + sizeof(name) - 1,
		    &m->range);
	}
	if (strncmp(m->line, m->delimiter, skip) != 0)
		/* text before the first part is ignored */
		return m->state == MULTIPART_PREAMBLE || n == 0 ? 0 : -EBADMSG;
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

int
multipart_feed(struct multipart *m, const void *data, size_t len)
{
	const char *at = data, *newline;
	size_t n;
	int rc = 0;

	for (; len > 0 && m->state != MULTIPART_END; at += n, len -= n) {
		if (m->state == MULTIPART_BODY) {
			n = len < m->range.length ? len :
			    (size_t)m->range.length;
			rc = m->take(m->arg, m->range.offset, at, n);
			m->range.offset += n;
			m->range.length -= n;
			if (m->range.length == 0)
				m->state = MULTIPART_AFTER;
		} else {
			newline = memchr(at, '\n', len);
			n = newline == NULL ? len : (size_t)(newline - at);
			if (n >= sizeof(m->line) - m->length)
				return -EBADMSG;
			memcpy(m->line + m->length, at, n);
			m->length += n;
			if (newline != NULL) {
				rc = end_line(m);
				n++;
			}
		}
		if (rc != 0)
			return rc;
	}
	return 0;
}

/*
 * http_server_request.c - reading requests as libcurl sends them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The server name in requests through a proxy is ignored.
 */
#include "http_server_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

static void
parse_ranges(struct request *q, char *s)
{
	q->has_range = true;
	for (q->count = 0; q->count < RANGES; q->count++) {
		struct range *r = &q->ranges[q->count];

		r->first = strtoull(s, &s, 10);
		if (*s++ != '-')
			break;
		r->last = *s == ',' || *s == '\0' ? UINT64_MAX :
		    strtoull(s, &s, 10);
		if (*s++ != ',') {
			q->count++;
			break;
		}
	}
}

static void
parse(struct request *q, char *head)
{
	char *line, *rest = head, *value;

	line = strsep(&rest, "\n");
	q->head_only = sscanf(line, "HEAD %1023s", q->path) == 1;
	if (!q->head_only &&
	    sscanf(line, "GET http://%*[^/]%1023s", q->path) != 1 &&
	    sscanf(line, "GET %1023s", q->path) != 1)
		strcpy(q->path, "/");
	while ((line = strsep(&rest, "\n")) != NULL) {
		line[strcspn(line, "\r")] = '\0';
		value = strchr(line, ':');
		if (value == NULL)
			continue;
		*value++ = '\0';
		value += strspn(value, " ");
		if (strcasecmp(line, "Range") == 0 &&
		    strncmp(value, "bytes=", 6) == 0)
			parse_ranges(q, value + 6);
		else if (strcasecmp(line, "Authorization") == 0)
			snprintf(q->authorization, sizeof(q->authorization),
			    "%s", value);
		else if (strcasecmp(line, "Accept") == 0)
			q->only_manifests = strstr(value, "manifest") != NULL &&
			    strstr(value, "*/*") == NULL;
		else if (strcasecmp(line, "If-Range") == 0)
			snprintf(q->if_range, sizeof(q->if_range), "%s",
			    value);
	}
}

/*
 * Reads a request's head, and appends a NUL.  Returns false if there is no
 * request.
 */
static bool
get_head(const struct connection *c, char *head)
{
	size_t n = 0;

	for (;;) {
		ssize_t got = c->ssl != NULL ? SSL_read(c->ssl, head + n,
		    (int)(HEAD_MAX - 1 - n)) : recv(c->fd, head + n,
		    HEAD_MAX - 1 - n, 0);

		if (got <= 0)
			return false;
		n += (size_t)got;
		head[n] = '\0';
		if (strstr(head, "\r\n\r\n") != NULL)
			return true;
		if (n == HEAD_MAX - 1)
			return false;
	}
}

bool
server_receive(struct request *q, char head[HEAD_MAX])
{
	if (!get_head(q->c, head))
		return false;
	parse(q, head);
	return true;
}

/*
 * http_server_reply.c - sending good replies, or bad replies of a given type
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_server_impl.h"

#include <inttypes.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sending; these return false when the connection is gone */

static bool
put(struct request *q, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = q->c->ssl != NULL ? SSL_write(q->c->ssl, data,
		    len < 16384 ? (int)len : 16384) : send(q->c->fd, data, len,
		    MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool __attribute__((format(printf, 2, 3)))
say(struct request *q, const char *fmt, ...)
{
	char text[2048];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return n > 0 && put(q, text, (size_t)n);
}

/*
 * Waits until the client disconnects, the server stops or, if listening, the
 * client sends something.
 */
static bool
wait_for_end(struct request *q, bool listening)
{
	struct pollfd p[2] = { { .fd = q->c->fd, .events = POLLRDHUP |
		(listening ? POLLIN : 0) },
		{ .fd = q->s->stop[0], .events = POLLIN } };

	poll(p, 2, -1);
	return false;
}

static void
etag(const struct request *q, char text[64])
{
	snprintf(text, 64, "\"v%" PRIu64 "\"", q->mode == SERVER_CHANGES ?
	    q->number : 0);
}

static bool
answer_status(struct request *q, const char *status, const char *fields)
{
	return say(q, "HTTP/1.1 %s\r\nContent-Length: 5\r\n%s\r\noops\n",
	    status, fields);
}

/* Bodies */

/* Sends the bytes of a body, modified according to the mode. */
static bool
put_body(struct request *q, uint64_t offset, uint64_t len)
{
	char *copy;
	bool sent;

	if (q->mode == SERVER_DIES || q->mode == SERVER_STALLS) {
		put(q, q->data + offset, len / 2);
		return q->mode == SERVER_DIES ? false : wait_for_end(q, true);
	}
	if (q->mode != SERVER_FLIPS || len == 0)
		return put(q, q->data + offset, len);
	copy = malloc(len);
	if (copy == NULL)
		abort();
	memcpy(copy, q->data + offset, len);
	copy[len / 3] ^= 16;
	sent = put(q, copy, len);
	free(copy);
	return sent;
}

static bool
answer_whole(struct request *q)
{
	char tag[64];

	etag(q, tag);
	return say(q, "HTTP/1.1 200 OK\r\nContent-Length: %" PRIu64
	    "\r\nETag: %s\r\n%s\r\n", q->size, tag,
	    q->mode == SERVER_ENCODES ? "Content-Encoding: gzip\r\n" : "") &&
	    put_body(q, 0, q->size);
}

static bool
answer_one(struct request *q)
{
	struct range r = q->ranges[0];
	uint64_t len, body;
	char tag[64];

	etag(q, tag);
	if (q->mode == SERVER_SHORT)
		r.last = r.first + (r.last - r.first) / 2;
	if (q->mode == SERVER_MOVES && r.first > 0) {
		r.first--;
		r.last--;
	}
	len = r.last - r.first + 1;
	body = len;
	if (q->mode == SERVER_LONG && r.last + 100 < q->size)
		body += 100;
	say(q, "HTTP/1.1 206 Partial Content\r\nContent-Length: %" PRIu64
	    "\r\nETag: %s\r\n%s", body, tag,
	    q->mode == SERVER_ENCODES ? "Content-Encoding: gzip\r\n" : "");
	if (q->mode != SERVER_NO_RANGE)
		say(q, "Content-Range: bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64
		    "\r\n", r.first, r.last, q->size);
	return say(q, "\r\n") && put_body(q, r.first, body);
}

/* Sends no length; the connection is closed after the body. */
static bool
answer_many(struct request *q)
{
	char tag[64];
	bool sent;

	etag(q, tag);
	sent = say(q, "HTTP/1.1 206 Partial Content\r\nConnection: close\r\n"
	    "ETag: %s\r\nContent-Type: multipart/byteranges; "
	    "boundary=\"=x y=\"\r\n%s\r\n", tag, q->mode == SERVER_ENCODES ?
	    "Content-Encoding: gzip\r\n" : "");
	for (size_t i = 0; sent && i < q->count; i++) {
		struct range r = q->ranges[i];

		if (q->mode == SERVER_SHORT)
			r.last = r.first;
		if (q->mode == SERVER_MOVES)
			r.first = r.last = 0;
		say(q, "\r\n--=x y=\r\nContent-Type: a/b\r\n");
		if (q->mode != SERVER_BAD_PARTS && q->mode != SERVER_NO_RANGE)
			say(q, "Content-Range: bytes %" PRIu64 "-%" PRIu64
			    "/%" PRIu64 "\r\n", r.first, r.last, q->size);
		sent = say(q, "\r\n") && put_body(q, r.first,
		    r.last - r.first + 1 + (q->mode == SERVER_LONG));
	}
	if (sent)
		say(q, "\r\n--=x y=--\r\n");
	return false;
}

static bool
answer_ranges(struct request *q)
{
	char tag[64];

	etag(q, tag);
	if (q->mode == SERVER_IGNORES || !q->has_range ||
	    (*q->if_range != '\0' && strcmp(q->if_range, tag) != 0))
		return answer_whole(q);
	for (size_t i = 0; i < q->count; i++) {
		if (q->ranges[i].first >= q->size)
			return answer_status(q, "416 Range Not Satisfiable",
			    "");
		if (q->ranges[i].last >= q->size)
			q->ranges[i].last = q->size - 1;
	}
	if (q->count == 1)
		return answer_one(q);
	if (q->mode == SERVER_ONE_RANGE)
		return answer_status(q, "400 Bad Request", "");
	if (q->mode == SERVER_WHOLE_FOR_MANY)
		return answer_whole(q);
	return answer_many(q);
}

/* Replies without the file */

static bool
answer_token(struct request *q)
{
	char fields[256];

	if (strcmp(q->authorization, "Bearer sesame") == 0)
		return answer_ranges(q);
	snprintf(fields, sizeof(fields), "WWW-Authenticate: Bearer "
	    "realm=\"http://127.0.0.1:%u/token\",service=\"s\","
	    "scope=\"repository:a:pull\"\r\n", q->s->port);
	return answer_status(q, "401 Unauthorized", fields);
}

static bool
is_known(const struct request *q)
{
	/* base64 of user:password */
	return strcmp(q->authorization, "Basic dXNlcjpwYXNzd29yZA==") == 0;
}

static bool
answer_basic(struct request *q)
{
	if (is_known(q))
		return answer_ranges(q);
	return answer_status(q, "401 Unauthorized",
	    "WWW-Authenticate: Basic realm=\"x\"\r\n");
}

static bool
answer_redirect(struct request *q)
{
	char fields[1200];

	if (strcmp(q->path, "/moved") == 0)
		return answer_ranges(q);
	snprintf(fields, sizeof(fields), "Location: %s\r\n", q->mode ==
	    SERVER_LOOPS ? q->path : q->mode == SERVER_LEAVES ?
	    "file:///etc/hostname" : "/moved");
	return answer_status(q, "307 Temporary Redirect", fields);
}

static bool
answer_elsewhere(struct request *q)
{
	bool again = strcmp(q->path, "/again") == 0;
	char fields[128];

	if (strcmp(q->path, "/moved") == 0)
		return *q->authorization == '\0' ? answer_ranges(q) :
		    answer_status(q, "400 Bad Request", "");
	if (q->mode == SERVER_HANDS_ON && !is_known(q))
		return answer_basic(q);
	snprintf(fields, sizeof(fields), q->mode == SERVER_DEMOTES ?
	    "Location: http://127.0.0.1:%u/moved\r\n" : again ?
	    "Location: http://localhost:%u/moved\r\n" :
	    "Location: /again\r\n", q->s->port);
	return answer_status(q, "302 Found", fields);
}

static bool
answer_without_end(struct request *q)
{
	say(q, "HTTP/1.1 206 Partial Content\r\n");
	while (say(q, "X-Filler: %0512d\r\n", 0))
		;
	return false;
}

/*
 * Closes the socket silently, as if the machine had lost power; the kernel
 * responds to later packets with a reset.
 */
static bool
vanish(struct request *q)
{
	int on = 1, left = 0;

	/* wait until the reply has arrived */
	while (ioctl(q->c->fd, SIOCOUTQ, &left) == 0 && left > 0)
		usleep(1000);
	if (setsockopt(q->c->fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) != 0)
		abort();
	return false;
}

bool
server_answer(struct request *q)
{
	if (strncmp(q->path, "/token?", 7) == 0) {
		const char *json;

		pthread_mutex_lock(&q->s->lock);
		json = q->s->token;
		pthread_mutex_unlock(&q->s->lock);
		if (json == NULL)
			json = "{\"token\":\"sesame\"}";
		return say(q, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n"
		    "%s", strlen(json), json);
	}
	if (q->data == NULL)
		return answer_status(q, "404 Not Found", "");
	/* a blob is none */
	if (q->only_manifests && strstr(q->path, "/blobs/") != NULL)
		return answer_status(q, "406 Not Acceptable", "");
	if (q->head_only)
		return say(q, "HTTP/1.1 200 OK\r\nContent-Length: %" PRIu64
		    "\r\n\r\n", q->size);
	switch (q->mode) {
	case SERVER_404: return answer_status(q, "404 Not Found", "");
	case SERVER_400: return answer_status(q, "400 Bad Request", "");
	case SERVER_416:
		return answer_status(q, "416 Range Not Satisfiable", "");
	case SERVER_429:
		return answer_status(q, "429 Too Many Requests",
		    "Retry-After: 1\r\n");
	case SERVER_500:
		return answer_status(q, "500 Internal Server Error", "");
	case SERVER_503:
		return answer_status(q, "503 Service Unavailable", "");
	case SERVER_SILENT: return wait_for_end(q, true);
	case SERVER_LOOPS: case SERVER_REDIRECTS: case SERVER_LEAVES:
		return answer_redirect(q);
	case SERVER_HANDS_ON: case SERVER_DEMOTES:
		return answer_elsewhere(q);
	case SERVER_GARBAGE:
		say(q, "\xff\xfe\r\n\r\n");
		return false;
	case SERVER_ENDLESS_HEAD: return answer_without_end(q);
	case SERVER_TOKEN: return answer_token(q);
	case SERVER_BASIC: return answer_basic(q);
	/* this reply is good, but it is the last on the connection */
	case SERVER_VANISHES: return answer_ranges(q) && vanish(q);
	case SERVER_DEAF: return answer_ranges(q) &&
	    wait_for_end(q, false);
	default: return answer_ranges(q);
	}
}

/*
 * http_server.c - an HTTP server on loopback that misbehaves on request
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each connection has a thread.  The server understands just what libcurl
 * sends.
 */
#include "http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_MAX = 32 << 10, RANGES = 256, CONNECTIONS = 4096 };

const char *const server_mode_names[SERVER_MODES] = {
	[SERVER_GOOD] = "good", [SERVER_DIES] = "dies",
	[SERVER_IGNORES] = "ignores", [SERVER_SHORT] = "short",
	[SERVER_LONG] = "long", [SERVER_FLIPS] = "flips",
	[SERVER_MOVES] = "moves", [SERVER_NO_RANGE] = "no-range",
	[SERVER_416] = "416", [SERVER_429] = "429", [SERVER_500] = "500",
	[SERVER_503] = "503", [SERVER_404] = "404",
	[SERVER_STALLS] = "stalls", [SERVER_SILENT] = "silent",
	[SERVER_LOOPS] = "loops", [SERVER_REDIRECTS] = "redirects",
	[SERVER_CHANGES] = "changes", [SERVER_ONE_RANGE] = "one-range",
	[SERVER_WHOLE_FOR_MANY] = "whole-for-many",
	[SERVER_BAD_PARTS] = "bad-parts", [SERVER_GARBAGE] = "garbage",
	[SERVER_ENCODES] = "encodes", [SERVER_ENDLESS_HEAD] = "endless-head",
	[SERVER_TOKEN] = "token", [SERVER_BASIC] = "basic",
};

struct server {
	int listener, stop[2];
	unsigned port;
	const char *dir;
	pthread_t thread;
	pthread_mutex_t lock;		/* protects what follows */
	pthread_cond_t ended;
	enum server_mode mode;
	unsigned every;
	uint64_t requests;
	unsigned connections;
	int fds[CONNECTIONS];		/* 0: none */
};

struct range {
	uint64_t first, last;
};

struct request {
	struct server *s;
	int fd;
	enum server_mode mode;
	uint64_t number;
	char path[1024], authorization[1024], if_range[128];
	bool has_range;
	struct range ranges[RANGES];
	size_t count;
	const char *data;		/* contents of the file */
	uint64_t size;
};

/* Sending; these return false when the connection is gone */

static bool
put(struct request *q, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(q->fd, data, len, MSG_NOSIGNAL);

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

/* Waits until the client has gone, or the server stops. */
static bool
wait_for_end(struct request *q)
{
	struct pollfd p[2] = { { .fd = q->fd, .events = POLLIN | POLLRDHUP },
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

/* Sends a body's bytes, or what the mode turns them into. */
static bool
put_body(struct request *q, uint64_t offset, uint64_t len)
{
	char *copy;
	bool sent;

	if (q->mode == SERVER_DIES || q->mode == SERVER_STALLS) {
		put(q, q->data + offset, len / 2);
		return q->mode == SERVER_DIES ? false : wait_for_end(q);
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

/* Sends no length: the connection ends with the body. */
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
answer_basic(struct request *q)
{
	/* base64 of user:password */
	if (strcmp(q->authorization, "Basic dXNlcjpwYXNzd29yZA==") == 0)
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
	    SERVER_LOOPS ? q->path : "/moved");
	return answer_status(q, "307 Temporary Redirect", fields);
}

static bool
answer_without_end(struct request *q)
{
	say(q, "HTTP/1.1 206 Partial Content\r\n");
	while (say(q, "X-Filler: %0512d\r\n", 0))
		;
	return false;
}

static bool
answer(struct request *q)
{
	if (strncmp(q->path, "/token?", 7) == 0)
		return say(q, "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n"
		    "{\"token\":\"sesame\"}");
	if (q->data == NULL)
		return answer_status(q, "404 Not Found", "");
	switch (q->mode) {
	case SERVER_404: return answer_status(q, "404 Not Found", "");
	case SERVER_416:
		return answer_status(q, "416 Range Not Satisfiable", "");
	case SERVER_429:
		return answer_status(q, "429 Too Many Requests",
		    "Retry-After: 1\r\n");
	case SERVER_500:
		return answer_status(q, "500 Internal Server Error", "");
	case SERVER_503:
		return answer_status(q, "503 Service Unavailable", "");
	case SERVER_SILENT: return wait_for_end(q);
	case SERVER_LOOPS: case SERVER_REDIRECTS: return answer_redirect(q);
	case SERVER_GARBAGE:
		say(q, "\xff\xfe\r\n\r\n");
		return false;
	case SERVER_ENDLESS_HEAD: return answer_without_end(q);
	case SERVER_TOKEN: return answer_token(q);
	case SERVER_BASIC: return answer_basic(q);
	default: return answer_ranges(q);
	}
}

/* Requests */

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
	if (sscanf(line, "GET %1023s", q->path) != 1)
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
		else if (strcasecmp(line, "If-Range") == 0)
			snprintf(q->if_range, sizeof(q->if_range), "%s",
			    value);
	}
}

/*
 * Reads a request's head, and appends a NUL.  Returns false if there is none.
 */
static bool
get_head(int fd, char *head)
{
	size_t n = 0;

	for (;;) {
		ssize_t got = recv(fd, head + n, HEAD_MAX - 1 - n, 0);

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

static void
map_file(struct request *q)
{
	const char *name = strcmp(q->path, "/moved") == 0 ? "/blob" : q->path;
	char path[2048];
	struct stat st;
	void *data;
	int fd;

	snprintf(path, sizeof(path), "%s%.*s", q->s->dir,
	    (int)strcspn(name, "?"), name);
	fd = strstr(path, "..") != NULL ? -1 : open(path, O_RDONLY);
	if (fd == -1)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
		    fd, 0);
		if (data != MAP_FAILED) {
			q->data = data;
			q->size = (uint64_t)st.st_size;
		}
	}
	close(fd);
}

static bool
serve_one(struct server *s, int fd, char *head)
{
	struct request q = { .s = s, .fd = fd };
	void *data;
	bool more;

	if (!get_head(fd, head))
		return false;
	parse(&q, head);
	pthread_mutex_lock(&s->lock);
	q.number = ++s->requests;
	q.mode = s->requests % s->every == 0 ? s->mode : SERVER_GOOD;
	pthread_mutex_unlock(&s->lock);
	map_file(&q);
	more = answer(&q);
	memcpy(&data, &q.data, sizeof(data));
	if (data != NULL)
		munmap(data, q.size);
	return more;
}

struct connection {
	struct server *s;
	int fd, slot;
};

static void *
serve(void *arg)
{
	struct connection *c = arg;
	struct server *s = c->s;
	char *head = malloc(HEAD_MAX);

	while (head != NULL && serve_one(s, c->fd, head))
		;
	free(head);
	pthread_mutex_lock(&s->lock);
	close(c->fd);
	s->fds[c->slot] = 0;
	s->connections--;
	pthread_cond_signal(&s->ended);
	pthread_mutex_unlock(&s->lock);
	free(c);
	return NULL;
}

static void
begin(struct server *s, int fd)
{
	struct connection *c = malloc(sizeof(*c));
	pthread_attr_t attr;
	pthread_t thread;
	int slot = 0;

	if (c == NULL)
		abort();
	pthread_mutex_lock(&s->lock);
	while (slot < CONNECTIONS - 1 && s->fds[slot] != 0)
		slot++;
	s->fds[slot] = fd;
	s->connections++;
	pthread_mutex_unlock(&s->lock);
	*c = (struct connection){ .s = s, .fd = fd, .slot = slot };
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, 256 << 10);
	if (pthread_create(&thread, &attr, serve, c) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

static void *
accept_all(void *arg)
{
	struct server *s = arg;
	struct pollfd p[2] = { { .fd = s->listener, .events = POLLIN },
		{ .fd = s->stop[0], .events = POLLIN } };
	int fd, on = 1;

	while (poll(p, 2, -1) >= 0 && p[1].revents == 0) {
		fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		begin(s, fd);
	}
	return NULL;
}

struct server *
server_start(const char *dir)
{
	struct server *s = calloc(1, sizeof(*s));
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	if (s == NULL)
		abort();
	s->dir = dir;
	s->every = 1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->ended, NULL);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s->listener < 0 || pipe2(s->stop, O_CLOEXEC) != 0 ||
	    bind(s->listener, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(s->listener, 512) != 0 ||
	    getsockname(s->listener, (struct sockaddr *)&a, &len) != 0)
		abort();
	s->port = ntohs(a.sin_port);
	if (pthread_create(&s->thread, NULL, accept_all, s) != 0)
		abort();
	return s;
}

void
server_stop(struct server *s)
{
	/* never read, so it remains readable for every thread */
	if (write(s->stop[1], "x", 1) != 1)
		abort();
	pthread_join(s->thread, NULL);
	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < CONNECTIONS; i++)
		if (s->fds[i] != 0)
			shutdown(s->fds[i], SHUT_RDWR);
	while (s->connections > 0)
		pthread_cond_wait(&s->ended, &s->lock);
	pthread_mutex_unlock(&s->lock);
	close(s->listener);
	close(s->stop[0]);
	close(s->stop[1]);
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

unsigned
server_port(const struct server *s)
{
	return s->port;
}

void
server_set(struct server *s, enum server_mode mode, unsigned every)
{
	pthread_mutex_lock(&s->lock);
	s->mode = mode;
	s->every = every;
	pthread_mutex_unlock(&s->lock);
}

uint64_t
server_requests(struct server *s)
{
	uint64_t n;

	pthread_mutex_lock(&s->lock);
	n = s->requests;
	pthread_mutex_unlock(&s->lock);
	return n;
}

/*
 * http_proxy.c - an HTTP proxy on loopback that misbehaves on request
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each connection is forwarded to the server named in its first request:
 * through a tunnel for CONNECT, and otherwise with its requests unchanged.
 */
#include "http_proxy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUF_B = 16 << 10, SOME_MAX = 20000 };

const char *const proxy_mode_names[PROXY_MODES] = {
	[PROXY_GOOD] = "good", [PROXY_CUTS] = "cuts",
	[PROXY_RESETS] = "resets", [PROXY_STALLS] = "stalls",
	[PROXY_REFUSES] = "refuses", [PROXY_ASKS] = "asks",
};

struct proxy {
	int listener, stop[2];
	unsigned port;
	pthread_t thread;
	pthread_mutex_t lock;		/* protects the following */
	pthread_cond_t ended;
	enum proxy_mode mode;
	unsigned every;
	uint64_t connections;
	unsigned open;
};

struct tunnel {
	struct proxy *p;
	int client, server;
	enum proxy_mode mode;
	size_t some;			/* bytes until it misbehaves */
};

static bool
put(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool
say(const struct tunnel *t, const char *text)
{
	return put(t->client, text, strlen(text));
}

/*
 * Waits until one side has sent something.  Returns false when the proxy stops.
 */
static bool
wait_for(const struct tunnel *t, struct pollfd p[3])
{
	p[0] = (struct pollfd){ .fd = t->p->stop[0], .events = POLLIN };
	p[1] = (struct pollfd){ .fd = t->client, .events = POLLIN };
	p[2] = (struct pollfd){ .fd = t->server, .events = POLLIN };
	return poll(p, 3, -1) > 0 && p[0].revents == 0;
}

/* Reads a request's head, and appends a NUL.  Returns its length, or 0. */
static size_t
get_head(const struct tunnel *t, char *buf)
{
	struct pollfd p[3];
	size_t n = 0;

	for (*buf = '\0'; strstr(buf, "\r\n\r\n") == NULL; buf[n] = '\0') {
		ssize_t got = n < BUF_B - 1 && wait_for(t, p) ?
		    recv(t->client, buf + n, BUF_B - 1 - n, 0) : 0;

		if (got <= 0)
			return 0;
		n += (size_t)got;
	}
	return n;
}

static int
connect_to(unsigned port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Connects to the server named in the first request, and forwards it. */
static bool
begin(struct tunnel *t, char *buf)
{
	size_t n = get_head(t, buf);
	bool connects = strncmp(buf, "CONNECT ", 8) == 0;
	unsigned port;

	if (n == 0 || sscanf(buf, connects ? "CONNECT %*[^:]:%u" :
	    "GET http://%*[^:]:%u", &port) != 1)
		return false;
	if (t->mode == PROXY_REFUSES)
		return say(t, "HTTP/1.1 403 Forbidden\r\n"
		    "Content-Length: 0\r\n\r\n") && false;
	if (t->mode == PROXY_ASKS && strstr(buf, "Proxy-Authorization: "
	    "Basic dXNlcjpwYXNzd29yZA==\r\n") == NULL)
		return say(t, "HTTP/1.1 407 Proxy Authentication Required\r\n"
		    "Proxy-Authenticate: Basic realm=\"p\"\r\n"
		    "Connection: close\r\nContent-Length: 0\r\n\r\n") &&
		    false;
	t->server = connect_to(port);
	if (t->server < 0)
		return say(t, "HTTP/1.1 502 Bad Gateway\r\n"
		    "Content-Length: 0\r\n\r\n") && false;
	return connects ? say(t, "HTTP/1.1 200 Connection established\r\n"
	    "X-Filler: 0\r\n\r\n") : put(t->server, buf, n);
}

/* Keeps the connection open, doing nothing, until the client closes it. */
static void
stall(const struct tunnel *t)
{
	struct pollfd p[2] = { { .fd = t->client, .events = POLLRDHUP },
		{ .fd = t->p->stop[0], .events = POLLIN } };

	poll(p, 2, -1);
}

static void
misbehave(const struct tunnel *t)
{
	const struct linger now = { .l_onoff = 1 };

	if (t->mode == PROXY_STALLS)
		stall(t);
	else if (t->mode == PROXY_RESETS)
		setsockopt(t->client, SOL_SOCKET, SO_LINGER, &now,
		    sizeof(now));
}

/*
 * Forwards what the server sends.  Returns whether the connection remains open.
 */
static bool
forward_reply(struct tunnel *t, char *buf)
{
	bool bad = t->mode == PROXY_CUTS || t->mode == PROXY_RESETS ||
	    t->mode == PROXY_STALLS;
	ssize_t n = recv(t->server, buf, BUF_B, 0);

	if (n <= 0)
		return false;
	if (!bad || (size_t)n <= t->some) {
		t->some -= bad ? (size_t)n : 0;
		return put(t->client, buf, (size_t)n);
	}
	put(t->client, buf, t->some);
	misbehave(t);
	return false;
}

static void
forward(struct tunnel *t, char *buf)
{
	struct pollfd p[3];
	ssize_t n;

	while (wait_for(t, p)) {
		if (p[1].revents != 0) {
			n = recv(t->client, buf, BUF_B, 0);
			if (n <= 0 || !put(t->server, buf, (size_t)n))
				return;
		}
		if (p[2].revents != 0 && !forward_reply(t, buf))
			return;
	}
}

static void *
serve(void *arg)
{
	struct tunnel *t = arg;
	struct proxy *p = t->p;
	char *buf = malloc(BUF_B);

	if (buf != NULL && begin(t, buf))
		forward(t, buf);
	free(buf);
	if (t->server >= 0)
		close(t->server);
	close(t->client);
	free(t);
	pthread_mutex_lock(&p->lock);
	p->open--;
	pthread_cond_signal(&p->ended);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void
start(struct proxy *p, int fd)
{
	struct tunnel *t = malloc(sizeof(*t));
	pthread_attr_t attr;
	pthread_t thread;

	if (t == NULL)
		abort();
	pthread_mutex_lock(&p->lock);
	p->open++;
	*t = (struct tunnel){ .p = p, .client = fd, .server = -1,
		.mode = ++p->connections % p->every == 0 ? p->mode :
		PROXY_GOOD, .some = p->connections * 7919 % SOME_MAX };
	pthread_mutex_unlock(&p->lock);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, serve, t) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

static void *
accept_all(void *arg)
{
	struct proxy *s = arg;
	struct pollfd p[2] = { { .fd = s->listener, .events = POLLIN },
		{ .fd = s->stop[0], .events = POLLIN } };
	int fd;

	while (poll(p, 2, -1) >= 0 && p[1].revents == 0) {
		fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			start(s, fd);
	}
	return NULL;
}

struct proxy *
proxy_start(void)
{
	struct proxy *p = calloc(1, sizeof(*p));
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	if (p == NULL)
		abort();
	p->every = 1;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->ended, NULL);
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (p->listener < 0 || pipe2(p->stop, O_CLOEXEC) != 0 ||
	    bind(p->listener, (struct sockaddr *)&a, sizeof(a)) != 0 ||
	    listen(p->listener, 512) != 0 ||
	    getsockname(p->listener, (struct sockaddr *)&a, &len) != 0)
		abort();
	p->port = ntohs(a.sin_port);
	if (pthread_create(&p->thread, NULL, accept_all, p) != 0)
		abort();
	return p;
}

void
proxy_stop(struct proxy *p)
{
	/* never read, so it remains readable for every thread */
	if (write(p->stop[1], "x", 1) != 1)
		abort();
	pthread_join(p->thread, NULL);
	pthread_mutex_lock(&p->lock);
	while (p->open > 0)
		pthread_cond_wait(&p->ended, &p->lock);
	pthread_mutex_unlock(&p->lock);
	close(p->listener);
	close(p->stop[0]);
	close(p->stop[1]);
	pthread_cond_destroy(&p->ended);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

unsigned
proxy_port(const struct proxy *p)
{
	return p->port;
}

void
proxy_set(struct proxy *p, enum proxy_mode mode, unsigned every)
{
	pthread_mutex_lock(&p->lock);
	p->mode = mode;
	p->every = every;
	pthread_mutex_unlock(&p->lock);
}

uint64_t
proxy_connections(struct proxy *p)
{
	uint64_t n;

	pthread_mutex_lock(&p->lock);
	n = p->connections;
	pthread_mutex_unlock(&p->lock);
	return n;
}

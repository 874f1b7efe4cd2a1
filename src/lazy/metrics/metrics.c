/*
 * metrics.c - answering at a Unix socket
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/metrics/metrics.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PAUSE_MS = 100 };		/* after a connection that failed */

struct connection {
	int fd;				/* -1: none */
	uint64_t end_ns;		/* when it is given up */
	char request[METRICS_REQUEST];
	size_t len;
	struct strbuf reply;		/* empty: not known yet */
	size_t sent;
};

struct metrics {
	struct metrics_pages pages;
	int listener;
	int stop[2];			/* a pipe; its end is closed to stop */
	pthread_t thread;
	uint64_t accept_ns;		/* no connections before this time */
	struct connection c[METRICS_CONNECTIONS];
};

static uint64_t
after_ms(unsigned ms)
{
	return sys_now_ns() + ms * UINT64_C(1000000);
}

static void
drop(struct connection *c)
{
	sys_close(c->fd);
	strbuf_free(&c->reply);
	c->fd = -1;
	c->len = c->sent = 0;
}

/* Replies */

/* Sets the reply to a request.  Drops the connection if memory is short. */
static void
reply(struct metrics *m, struct connection *c, enum metrics_page page,
    bool head)
{
	static const char *const status[] = { [METRICS_TEXT] = "200 OK",
		[METRICS_HEALTH] = "200 OK", [METRICS_NO_PAGE] =
		"404 Not Found", [METRICS_NO_METHOD] =
		"405 Method Not Allowed", [METRICS_BAD] = "400 Bad Request",
		[METRICS_LARGE] = "431 Request Header Fields Too Large" };
	const char *line = status[page];
	struct strbuf body = { .len = 0 };

	if (page == METRICS_TEXT)
		m->pages.text(m->pages.arg, &body);
	else if (page != METRICS_HEALTH)
		strbuf_fmt(&body, "%s\n", line + 4);
	else if (!m->pages.health(m->pages.arg, &body))
		line = "503 Service Unavailable";
	strbuf_fmt(&c->reply, "HTTP/1.1 %s\r\nContent-Type: text/plain; %s"
	    "charset=utf-8\r\nContent-Length: %zu\r\n%sCache-Control: no-store"
	    "\r\nConnection: close\r\n\r\n", line, page == METRICS_TEXT ?
	    "version=0.0.4; " : "", body.len, page == METRICS_NO_METHOD ?
	    "Allow: GET, HEAD\r\n" : "");
	if (!head && body.len > 0)
		strbuf_add(&c->reply, body.data, body.len);
	if (body.failed || c->reply.failed)
		drop(c);
	strbuf_free(&body);
}

/* Receives and sends what is possible without waiting. */
static void
go_on(struct metrics *m, struct connection *c)
{
	enum metrics_page page = METRICS_MORE;
	bool head;
	ssize_t n;

	if (c->reply.len == 0) {
		n = recv(c->fd, c->request + c->len, METRICS_REQUEST - c->len,
		    MSG_DONTWAIT);
		if (n > 0) {
			c->len += (size_t)n;
			page = metrics_parse(c->request, c->len, &head);
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			drop(c);
			return;
		}
		if (page == METRICS_MORE)
			return;
		reply(m, c, page, head);
		if (c->fd < 0)
			return;
	}
	n = send(c->fd, c->reply.data + c->sent, c->reply.len - c->sent,
	    MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		c->sent += (size_t)n;
	else if (n == -1 && errno != EAGAIN && errno != EINTR)
		c->sent = c->reply.len;
	if (c->sent == c->reply.len)
		drop(c);
}

/* Connections */

static void
take(struct metrics *m)
{
	int fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC |
	    SOCK_NONBLOCK);
	size_t i = 0;

	if (fd < 0) {
		/* too many descriptors, for example */
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			m->accept_ns = after_ms(PAUSE_MS);
		return;
	}
	while (i < METRICS_CONNECTIONS - 1 && m->c[i].fd >= 0)
		i++;
	m->c[i].fd = fd;
	m->c[i].end_ns = after_ms(METRICS_PATIENCE_MS);
}

/* Returns the milliseconds until a time, for poll(). */
static int
until(uint64_t now, uint64_t end)
{
	return end <= now ? 0 : (int)((end - now) / 1000000) + 1;
}

static void *
answer(void *arg)
{
	struct pollfd p[METRICS_CONNECTIONS + 2];
	struct metrics *m = arg;

	for (;;) {
		uint64_t now = sys_now_ns();
		size_t open = 0;
		int wait = -1, left;

		for (size_t i = 0; i < METRICS_CONNECTIONS; i++) {
			struct connection *c = &m->c[i];

			if (c->fd >= 0 && c->end_ns <= now)
				drop(c);
			p[i] = (struct pollfd){ .fd = c->fd, .events =
				c->reply.len > 0 ? POLLOUT : POLLIN };
			if (c->fd < 0)
				continue;
			open++;
			left = until(now, c->end_ns);
			wait = wait < 0 || left < wait ? left : wait;
		}
		left = until(now, m->accept_ns);
		if (left > 0 && (wait < 0 || left < wait))
			wait = left;
		p[METRICS_CONNECTIONS] = (struct pollfd){ .fd = left > 0 ||
			open == METRICS_CONNECTIONS ? -1 : m->listener,
			.events = POLLIN };
		p[METRICS_CONNECTIONS + 1] = (struct pollfd){
			.fd = m->stop[0], .events = POLLIN };
		if (poll(p, METRICS_CONNECTIONS + 2, wait) <= 0)
			continue;
		if (p[METRICS_CONNECTIONS + 1].revents != 0)
			return NULL;
		for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
			if (p[i].fd >= 0 && p[i].revents != 0)
				go_on(m, &m->c[i]);
		if (p[METRICS_CONNECTIONS].revents != 0)
			take(m);
	}
}

int
metrics_start(struct metrics **out, int listener,
    const struct metrics_pages *pages)
{
	struct metrics *m = sys_calloc(1, sizeof(*m));
	int flags = fcntl(listener, F_GETFL), rc;

	if (m == NULL)
		return -ENOMEM;
	m->pages = *pages;
	m->listener = listener;
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		m->c[i].fd = -1;
	rc = flags == -1 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) ==
	    -1 ? -errno : sys_pipe(m->stop);
	if (rc == 0) {
		rc = sys_thread(&m->thread, answer, m);
		if (rc != 0) {
			sys_close(m->stop[0]);
			sys_close(m->stop[1]);
		}
	}
	if (rc != 0)
		sys_free(m);
	else
		*out = m;
	return rc;
}

void
metrics_stop(struct metrics *m)
{
	if (m == NULL)
		return;
	sys_close(m->stop[1]);
	pthread_join(m->thread, NULL);
	sys_close(m->stop[0]);
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		if (m->c[i].fd >= 0)
			drop(&m->c[i]);
	sys_free(m);
}

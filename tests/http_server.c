/*
 * http_server.c - an HTTP server on loopback that misbehaves on request
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each connection has a thread.  The server supports only the requests that
 * libcurl sends.
 */
#include "http_server_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const server_mode_names[SERVER_MODES] = {
	[SERVER_GOOD] = "good", [SERVER_DIES] = "dies",
	[SERVER_IGNORES] = "ignores", [SERVER_SHORT] = "short",
	[SERVER_LONG] = "long", [SERVER_FLIPS] = "flips",
	[SERVER_MOVES] = "moves", [SERVER_NO_RANGE] = "no-range",
	[SERVER_400] = "400", [SERVER_416] = "416", [SERVER_429] = "429",
	[SERVER_500] = "500", [SERVER_503] = "503", [SERVER_404] = "404",
	[SERVER_STALLS] = "stalls", [SERVER_SILENT] = "silent",
	[SERVER_LEAVES] = "leaves",
	[SERVER_HANDS_ON] = "hands on", [SERVER_DEMOTES] = "demotes", [SERVER_LOOPS] = "loops", [SERVER_REDIRECTS] = "redirects",
	[SERVER_CHANGES] = "changes", [SERVER_ONE_RANGE] = "one-range",
	[SERVER_WHOLE_FOR_MANY] = "whole-for-many",
	[SERVER_BAD_PARTS] = "bad-parts", [SERVER_GARBAGE] = "garbage",
	[SERVER_ENCODES] = "encodes", [SERVER_ENDLESS_HEAD] = "endless-head",
	[SERVER_TOKEN] = "token", [SERVER_BASIC] = "basic",
	[SERVER_VANISHES] = "vanishes", [SERVER_DEAF] = "deaf",
};

static void
map_file(struct request *q)
{
	const char *name = strcmp(q->path, "/moved") == 0 ||
	    strcmp(q->path, "/again") == 0 ? "/blob" : q->path;
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
serve_one(struct connection *c, char *head)
{
	struct server *s = c->s;
	struct request q = { .s = s, .c = c };
	void *data;
	bool more;

	if (!server_receive(&q, head))
		return false;
	pthread_mutex_lock(&s->lock);
	q.number = ++s->requests;
	q.mode = s->requests % s->every == 0 ? s->mode : SERVER_GOOD;
	pthread_mutex_unlock(&s->lock);
	map_file(&q);
	more = server_answer(&q);
	memcpy(&data, &q.data, sizeof(data));
	if (data != NULL)
		munmap(data, q.size);
	return more;
}

/* Has the connection reset when it is closed. */
static void
abandon(struct connection *c)
{
	const struct linger none = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

/*
 * Ends a connection whose handshake failed.  The client may have sent its request
 * already; if that were left unread, its kernel would discard the alert that says
 * why.
 */
static void
dismiss(struct connection *c, char *head)
{
	shutdown(c->fd, SHUT_WR);
	while (read(c->fd, head, HEAD_MAX) > 0)
		;
}

/* Returns whether requests can be read. */
static bool
greet(struct connection *c, char *head)
{
	enum server_resets resets;
	unsigned delay_ms;
	bool done;

	pthread_mutex_lock(&c->s->lock);
	c->ssl = c->s->tls == NULL ? NULL : SSL_new(c->s->tls);
	delay_ms = c->s->delay_ms;
	resets = c->s->resets;
	pthread_mutex_unlock(&c->s->lock);
	if (c->ssl != NULL)
		usleep(delay_ms * 1000);
	done = c->ssl == NULL || (SSL_set_fd(c->ssl, c->fd) == 1 &&
	    SSL_accept(c->ssl) == 1);
	if (resets == SERVER_RESETS_ALL ||
	    (resets == SERVER_RESETS_FAILED && !done)) {
		abandon(c);
		return false;
	}
	if (!done)
		dismiss(c, head);
	return done;
}

static void *
serve(void *arg)
{
	struct connection *c = arg;
	struct server *s = c->s;
	char *head = malloc(HEAD_MAX);

	if (head == NULL)
		abort();
	if (greet(c, head))
		while (serve_one(c, head))
			;
	free(head);
	SSL_free(c->ssl);
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
	/* OpenSSL may write to a socket that the client has closed */
	signal(SIGPIPE, SIG_IGN);
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
	/*
	 * this byte is never read, so the pipe remains readable for every
	 * thread
	 */
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
	SSL_CTX_free(s->tls);
	pthread_cond_destroy(&s->ended);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void
server_secure(struct server *s, const char *pem)
{
	SSL_CTX *new = NULL, *old;

	if (pem != NULL) {
		new = SSL_CTX_new(TLS_server_method());
		if (new == NULL || SSL_CTX_use_certificate_file(new, pem,
		    SSL_FILETYPE_PEM) != 1 || SSL_CTX_use_PrivateKey_file(new,
		    pem, SSL_FILETYPE_PEM) != 1)
			abort();
	}
	pthread_mutex_lock(&s->lock);
	old = s->tls;
	s->tls = new;
	for (int i = 0; i < CONNECTIONS; i++)
		if (s->fds[i] != 0)
			shutdown(s->fds[i], SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
	SSL_CTX_free(old);
}

void
server_demand(struct server *s, const char *pem)
{
	pthread_mutex_lock(&s->lock);
	if (SSL_CTX_load_verify_locations(s->tls, pem, NULL) != 1)
		abort();
	SSL_CTX_set_verify(s->tls, SSL_VERIFY_PEER |
	    SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	pthread_mutex_unlock(&s->lock);
}

void
server_accept(struct server *s, const char *pem)
{
	pthread_mutex_lock(&s->lock);
	SSL_CTX_set_client_CA_list(s->tls, SSL_load_client_CA_file(pem));
	pthread_mutex_unlock(&s->lock);
}

void
server_limit_tls(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	if (SSL_CTX_set_max_proto_version(s->tls, TLS1_2_VERSION) != 1)
		abort();
	pthread_mutex_unlock(&s->lock);
}

void
server_reset(struct server *s, enum server_resets which)
{
	pthread_mutex_lock(&s->lock);
	s->resets = which;
	pthread_mutex_unlock(&s->lock);
}

void
server_delay(struct server *s, unsigned ms)
{
	pthread_mutex_lock(&s->lock);
	s->delay_ms = ms;
	pthread_mutex_unlock(&s->lock);
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

void
server_set_token(struct server *s, const char *json)
{
	pthread_mutex_lock(&s->lock);
	s->token = json;
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

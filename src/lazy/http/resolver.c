/*
 * resolver.c - looking up host names in a process of its own
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The process looks up each name in a thread of its own, since one may take as
 * long as a dead name server makes it; so answers come in any order, and are told
 * apart by a number.
 */
#include "lazy/http/resolver.h"

#include "aside.h"

#include "base/sandbox.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
	uint32_t number;
	char host[RESOLVER_HOST];
};

struct answer {
	uint32_t number;
	char text[RESOLVER_TEXT];	/* "" if there is none */
};

/* The process */

/* What the C library reads to look up a name. */
static const char *const configuration[] = { "/etc", "/usr", "/lib", "/lib64",
	"/run/systemd/resolve", "/run/resolvconf", "/run/nscd",
	"/run/NetworkManager" };

static void
write_addresses(const struct addrinfo *a, char text[RESOLVER_TEXT])
{
	size_t used = 0;
	char one[NI_MAXHOST];

	for (; a != NULL; a = a->ai_next) {
		bool six = a->ai_family == AF_INET6;

		if (getnameinfo(a->ai_addr, a->ai_addrlen, one, sizeof(one),
		    NULL, 0, NI_NUMERICHOST) != 0 ||
		    used + strlen(one) + 4 > RESOLVER_TEXT)
			continue;
		used += (size_t)snprintf(text + used, RESOLVER_TEXT - used,
		    "%s%s%s%s", used > 0 ? "," : "", six ? "[" : "", one,
		    six ? "]" : "");
	}
}

static void *
look_up(void *arg)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct question *q = arg;
	struct answer a = { .number = q->number };
	struct addrinfo *all = NULL;

	if (getaddrinfo(q->host, NULL, &hints, &all) == 0) {
		write_addresses(all, a.text);
		freeaddrinfo(all);
	}
	send(ASIDE_ASKED, &a, sizeof(a), MSG_NOSIGNAL);
	free(q);
	return NULL;
}

static void
confine_resolver(void)
{
	enum { PLACES = sizeof(configuration) / sizeof(*configuration) };
	int dirs[PLACES], fd;
	bool confined;
	size_t count = 0;

	for (size_t i = 0; i < PLACES; i++) {
		fd = open(configuration[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd != -1)
			dirs[count++] = fd;
	}
	if (sandbox_enter_fetching(-1, dirs, count, &confined) != 0)
		_exit(1);
	while (count > 0)
		close(dirs[--count]);
}

static void
answer_questions(void *arg)
{
	struct question q, *copy;
	pthread_attr_t detached;
	pthread_t thread;
	ssize_t n;

	(void)arg;
	confine_resolver();
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	for (;;) {
		n = recv(ASIDE_ASKED, &q, sizeof(q), 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n != sizeof(q))
			_exit(0);
		q.host[RESOLVER_HOST - 1] = '\0';
		copy = malloc(sizeof(q));
		if (copy == NULL)
			continue;
		*copy = q;
		if (pthread_create(&thread, &detached, look_up, copy) != 0)
			look_up(copy);
	}
}

/* The parent */

enum { KEPT_S = 60, HOSTS = 32 };

static const uint64_t second = 1000000000, millisecond = 1000000;

struct known_host {
	char host[RESOLVER_HOST], text[RESOLVER_TEXT];
	uint64_t until_ns;
};

struct resolver {
	struct aside process;
	uint32_t number;		/* of the last question */
	struct known_host known[HOSTS];	/* the latest */
	pthread_mutex_t lock;		/* held while there is a question */
};

int
resolver_start(struct resolver **out)
{
	struct resolver *r = sys_calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return -ENOMEM;
	rc = aside_start(&r->process, "resolver", answer_questions, NULL);
	if (rc != 0) {
		sys_free(r);
		return rc;
	}
	pthread_mutex_init(&r->lock, NULL);
	*out = r;
	return 0;
}

void
resolver_stop(struct resolver *r)
{
	if (r == NULL)
		return;
	aside_stop(&r->process);
	pthread_mutex_destroy(&r->lock);
	sys_free(r);
}

/* Asks, and waits for the answer.  Returns 0, -ETIMEDOUT or -EPIPE. */
static int
ask_process(struct resolver *r, const char *host, unsigned timeout_ms,
    char text[RESOLVER_TEXT])
{
	uint64_t end = sys_now_ns() + timeout_ms * millisecond, now;
	struct pollfd p = { .fd = r->process.fd, .events = POLLIN };
	struct question q = { .number = ++r->number };
	struct answer a;
	ssize_t n;

	strcpy(q.host, host);
	if (send(r->process.fd, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
		return -EPIPE;
	while ((now = sys_now_ns()) < end) {
		if (poll(&p, 1, (int)((end - now) / millisecond + 1)) <= 0)
			continue;
		n = recv(r->process.fd, &a, sizeof(a), 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n != sizeof(a))
			return -EPIPE;
		/* others are answers for which nobody waited to the end */
		if (a.number == q.number) {
			memcpy(text, a.text, RESOLVER_TEXT);
			text[RESOLVER_TEXT - 1] = '\0';
			return 0;
		}
	}
	return -ETIMEDOUT;
}

/* The host's place, or the one that may be given up first. */
static struct known_host *
place_of(struct resolver *r, const char *host)
{
	struct known_host *first = r->known;

	for (struct known_host *k = r->known; k < r->known + HOSTS; k++) {
		if (strcmp(k->host, host) == 0)
			return k;
		if (k->until_ns < first->until_ns)
			first = k;
	}
	*first = (struct known_host){ .until_ns = 0 };
	strcpy(first->host, host);
	return first;
}

int
resolver_find(struct resolver *r, const char *host, unsigned timeout_ms,
    char text[RESOLVER_TEXT])
{
	char found[RESOLVER_TEXT] = "";
	struct known_host *k;
	int rc = 0;

	*text = '\0';
	if (strlen(host) >= RESOLVER_HOST)
		return -ENOENT;
	pthread_mutex_lock(&r->lock);
	k = place_of(r, host);
	if (sys_now_ns() >= k->until_ns) {
		rc = ask_process(r, host, timeout_ms, found);
		/* without an answer, what was found earlier may still be so */
		if (rc == 0)
			strcpy(k->text, found);
		else if (*k->text != '\0')
			rc = 0;
		k->until_ns = sys_now_ns() + (*k->text != '\0' ?
		    KEPT_S * second : timeout_ms * millisecond);
	}
	strcpy(text, k->text);
	pthread_mutex_unlock(&r->lock);
	return rc != 0 ? rc : *text == '\0' ? -ENOENT : 0;
}

/*
 * http_client.h - a client of http_server.h that checks the data it reads
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_HTTP_CLIENT_H
#define COLDPRESS_TESTS_HTTP_CLIENT_H

#include "lazy/http/http.h"

#include "base/sys.h"
#include "http_server.h"
#include "scratch.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum {
	SIZE = 3000000, TIMES = 100, CONNECTIONS = 8,
	/*
	 * timeouts: to give up, to outlast a stalled server, and for everything
	 * else
	 */
	SHORT_S = 3, STALL_S = 12, LONG_S = 60
};

static char dir[SCRATCH_B], path[SCRATCH_B + 8];
static uint8_t *content;
static struct server *server;
/* A file with the certificate that a client trusts; NULL: no TLS. */
static const char *trusted;
/* The timeout of clients opened later. */
static unsigned timeout_s = LONG_S;

static inline int
set_up(void **state)
{
	FILE *f;
	uint32_t x = 1;

	(void)state;
	content = malloc(SIZE);
	if (content == NULL || scratch_make(dir) == NULL)
		return -1;
	for (size_t i = 0; i < SIZE; i++) {
		x = x * 1664525 + 1013904223;
		content[i] = (uint8_t)(x >> 24);
	}
	snprintf(path, sizeof(path), "%s/blob", dir);
	f = fopen(path, "w");
	if (f == NULL || fwrite(content, 1, SIZE, f) != SIZE ||
	    fclose(f) != 0)
		return -1;
	server = server_start(dir);
	return 0;
}

static inline int
tear_down(void **state)
{
	(void)state;
	server_stop(server);
	unlink(path);
	rmdir(dir);
	free(content);
	return 0;
}

struct client {
	struct http *h;
	struct http_object *o;
	bool one;			/* reads one range at a time */
};

static inline struct client
client_open(enum server_mode mode, unsigned every, const char *credentials)
{
	char url[64];
	struct http_options o = { .timeout_s = timeout_s,
		.connections = CONNECTIONS, .credentials = credentials,
		.credentials_for = url, .ca_file = trusted };
	char why[LAYER_WHY];
	struct client c = { .one = false };

	server_set(server, mode, every);
	snprintf(url, sizeof(url), "%s://127.0.0.1:%u/blob", trusted == NULL ?
	    "http" : "https", server_port(server));
	assert_int_equal(http_open(&c.h, &o, why), 0);
	assert_int_equal(http_object_open(&c.o, c.h, url), 0);
	return c;
}

static inline void
client_close(struct client *c)
{
	http_object_close(c->o);
	http_close(c->h);
}

enum { RANGES = 7 };

/*
 * Reads seven ranges chosen by `which`, some near each other, some far apart,
 * some overlapping: the data must be correct, and the memory around the buffers
 * must not change.
 */
static inline int
read_some(struct client *c, unsigned which, bool *right)
{
	static const uint64_t at[RANGES] = { 100, 350, 5000, 5100, 700000,
		1500000, 2900000 };
	struct layer_range r[RANGES];
	uint8_t *buf = calloc(RANGES, 4002);
	int rc;

	if (buf == NULL)
		abort();
	for (unsigned i = 0; i < RANGES; i++)
		r[i] = (struct layer_range){ .offset = at[(i * 3 + which) %
			RANGES] + which * 31 % 50000, .length = 1 + (which * 97
			+ i * 601) % 4000, .buf = buf + 4002 * i + 1 };
	rc = http_read(c->o, r, c->one ? 1 : RANGES, HTTP_READ);
	*right = true;
	for (unsigned i = 0; i < RANGES; i++) {
		uint8_t *b = r[i].buf;

		if (b[-1] != 0 || b[r[i].length] != 0 || (rc == 0 &&
		    (i == 0 || !c->one) && memcmp(b, content + r[i].offset, r[i].length) != 0))
			*right = false;
	}
	free(buf);
	return rc;
}

/* Every other reply is bad; all reads succeed in the end. */
static inline void
recovers(enum server_mode mode, unsigned every, const char *credentials)
{
	struct client c = client_open(mode, every, credentials);
	bool right;

	for (unsigned i = 0; i < TIMES; i++) {
		int rc = read_some(&c, i, &right);

		if (rc != 0 || !right)
			fail_msg("%s: read %u: %d, %s",
			    server_mode_names[mode], i, rc, right ?
			    "right bytes" : "wrong bytes");
	}
	client_close(&c);
}

/* A fault to recover from, of every n-th reply, as a case for at_once(). */
struct recovery {
	enum server_mode mode;
	unsigned every;
	const char *credentials;
};
#define RECOVERS(test, ...)						\
	{ #test "(" #__VA_ARGS__ ")", test, NULL, NULL,			\
	    &(struct recovery){ __VA_ARGS__ } }

static inline void
test_recovery(void **state)
{
	const struct recovery *r = *state;

	recovers(r->mode, r->every, r->credentials);
}

/* Parallel readers, which together perform a given number of reads. */
struct readers {
	struct client *c;
	int want;			/* expected result of each read */
	unsigned next, wrong;
	bool first;
	uint64_t slowest_ns;
	pthread_mutex_t lock;
};

static inline void
count_read(struct readers *r, unsigned i, int rc, bool right, uint64_t ns)
{
	pthread_mutex_lock(&r->lock);
	if (ns > r->slowest_ns)
		r->slowest_ns = ns;
	/* the first reply cannot differ from an earlier one */
	if (r->want == -ESTALE && rc == 0 && right && !r->first) {
		r->first = true;
	} else if (rc != r->want || !right) {
		r->wrong++;
		print_error("read %u: %d instead of %d, %s bytes\n", i, rc,
		    r->want, right ? "right" : "wrong");
	}
	pthread_mutex_unlock(&r->lock);
}

static inline void *
read_shared(void *arg)
{
	struct readers *r = arg;

	for (;;) {
		uint64_t start = sys_now_ns();
		bool right;
		unsigned i;
		int rc;

		pthread_mutex_lock(&r->lock);
		i = r->next++;
		pthread_mutex_unlock(&r->lock);
		if (i >= TIMES)
			return NULL;
		rc = read_some(r->c, i, &right);
		count_read(r, i, rc, right, sys_now_ns() - start);
	}
}

/*
 * Checks that each of a hundred reads, shared by count threads, returns want.
 */
static inline void
read_all(struct client *c, unsigned count, int want, const char *name)
{
	struct readers r = { .c = c, .want = want,
		.lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[TIMES];

	for (unsigned i = 0; i < count; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
		    read_shared, &r), 0);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	print_message("%s: %d reads, the slowest in %.1f s\n", name, TIMES,
	    (double)r.slowest_ns / 1e9);
	assert_int_equal(r.wrong, 0);
}

#endif

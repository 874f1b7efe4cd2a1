/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/http.h"

#include "http_server.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pthread.h>
#include <unistd.h>
#include <cmocka.h>

enum { SIZE = 3000000, TIMEOUT_S = 3, TIMES = 100, READERS = 20 };

static char dir[SCRATCH_B], path[SCRATCH_B + 8];
static uint8_t *content;
static struct server *server;

static int
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

static int
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
};

static struct client
client_open(enum server_mode mode, unsigned every, const char *credentials)
{
	struct http_options o = { .timeout_s = TIMEOUT_S, .connections = 8,
		.credentials = credentials };
	char url[64], why[LAYER_WHY];
	struct client c;

	server_set(server, mode, every);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob",
	    server_port(server));
	assert_int_equal(http_open(&c.h, &o, why), 0);
	assert_int_equal(http_object_open(&c.o, c.h, url), 0);
	return c;
}

static void
client_close(struct client *c)
{
	http_object_close(c->o);
	http_close(c->h);
}

enum { RANGES = 7 };

/*
 * Reads seven ranges determined by which, near and far, some overlapping: the
 * bytes must be right, and nothing around them changed.
 */
static int
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
	rc = http_read(c->o, r, RANGES, HTTP_READ);
	*right = true;
	for (unsigned i = 0; i < RANGES; i++) {
		uint8_t *b = r[i].buf;

		if (b[-1] != 0 || b[r[i].length] != 0 || (rc == 0 &&
		    memcmp(b, content + r[i].offset, r[i].length) != 0))
			*right = false;
	}
	free(buf);
	return rc;
}

/* Every other reply is bad; all reads succeed in the end. */
static void
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

struct readers {
	struct client *c;
	int want;
	unsigned next, wrong;
	bool first;
	pthread_mutex_t lock;
};

static void *
read_failing(void *arg)
{
	struct readers *r = arg;
	bool right;

	for (;;) {
		unsigned i;
		int rc;

		pthread_mutex_lock(&r->lock);
		i = r->next++;
		pthread_mutex_unlock(&r->lock);
		if (i >= READERS)
			return NULL;
		rc = read_some(r->c, i, &right);
		if (rc == r->want && right)
			continue;
		pthread_mutex_lock(&r->lock);
		/* the very first reply cannot differ from an earlier one */
		if (r->want == -ESTALE && rc == 0 && right && !r->first)
			r->first = true;
		else
			r->wrong++;
		pthread_mutex_unlock(&r->lock);
		print_error("read %u: %d instead of %d\n", i, rc, r->want);
	}
}

/* Every reply is bad; each of several parallel reads ends with this error. */
static void
fails(enum server_mode mode, int want, const char *credentials)
{
	struct client c = client_open(mode, 1, credentials);
	struct readers r = { .c = &c, .want = want,
		.lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[READERS];
	bool right;

	for (int i = 0; i < READERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
		    read_failing, &r), 0);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(r.wrong, 0);
	/* afterwards, reads work again */
	server_set(server, SERVER_GOOD, 1);
	if (want != -ESTALE)
		assert_int_equal(read_some(&c, 1, &right), 0);
	client_close(&c);
}

static void
test_good(void **state)
{
	struct http_counts n[HTTP_PHASES];
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	uint64_t size;
	bool right;

	(void)state;
	assert_int_equal(http_size(c.o, &size), 0);
	assert_int_equal(size, SIZE);
	assert_int_equal(read_some(&c, 5, &right), 0);
	assert_true(right);
	http_counted(c.h, n);
	assert_int_equal(n[HTTP_INDEX].requests, 1);
	/* several ranges: one request */
	assert_int_equal(n[HTTP_READ].requests, 1);
	assert_true(n[HTTP_READ].wire > n[HTTP_READ].useful);
	assert_int_equal(n[HTTP_READ].retries, 0);
	client_close(&c);
}

static void
test_ends(void **state)
{
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	uint8_t buf[20];
	struct layer_range r = { .offset = SIZE - 10, .length = 20,
		.buf = buf };

	(void)state;
	assert_int_equal(http_read(c.o, &r, 1, HTTP_READ) < 0, 1);
	r.length = 10;
	assert_int_equal(http_read(c.o, &r, 1, HTTP_READ), 0);
	assert_memory_equal(buf, content + SIZE - 10, 10);
	r.length = 11;
	assert_int_equal(http_read(c.o, &r, 1, HTTP_READ), -ENODATA);
	r.offset = INT64_MAX;
	assert_int_equal(http_read(c.o, &r, 1, HTTP_READ), -EINVAL);
	r.length = 0;
	assert_int_equal(http_read(c.o, &r, 1, HTTP_READ), 0);
	client_close(&c);
}

/* It is discovered only once that a server cannot answer several ranges. */
static void
test_learns(void **state)
{
	static const enum server_mode modes[] = { SERVER_ONE_RANGE,
		SERVER_WHOLE_FOR_MANY, SERVER_BAD_PARTS, SERVER_IGNORES };

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct client c = client_open(modes[i], 1, NULL);
		struct http_counts n[HTTP_PHASES];
		uint64_t first;
		bool right;

		assert_int_equal(read_some(&c, 3, &right), 0);
		assert_true(right);
		http_counted(c.h, n);
		first = n[HTTP_READ].requests;
		assert_int_equal(read_some(&c, 4, &right), 0);
		assert_true(right);
		http_counted(c.h, n);
		assert_true(n[HTTP_READ].requests - first < first);
		client_close(&c);
	}
}

static void
test_recovers(void **state)
{
	static const enum server_mode modes[] = { SERVER_DIES, SERVER_IGNORES,
		SERVER_SHORT, SERVER_LONG, SERVER_MOVES, SERVER_NO_RANGE,
		SERVER_500, SERVER_503, SERVER_REDIRECTS, SERVER_ONE_RANGE,
		SERVER_WHOLE_FOR_MANY, SERVER_BAD_PARTS, SERVER_GARBAGE,
		SERVER_ENCODES };

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		recovers(modes[i], 2, NULL);
	recovers(SERVER_REDIRECTS, 1, NULL);
	recovers(SERVER_TOKEN, 1, NULL);
	recovers(SERVER_BASIC, 1, "user:password");
}

static void
test_fails(void **state)
{
	static const struct {
		enum server_mode mode;
		int want;
	} cases[] = {
		{ SERVER_404, -ENOENT }, { SERVER_416, -ENODATA },
		{ SERVER_429, -ETIMEDOUT }, { SERVER_500, -ETIMEDOUT },
		{ SERVER_503, -ETIMEDOUT }, { SERVER_MOVES, -ETIMEDOUT },
		{ SERVER_NO_RANGE, -ETIMEDOUT }, { SERVER_LOOPS, -ELOOP },
		{ SERVER_SILENT, -ETIMEDOUT }, { SERVER_GARBAGE, -ETIMEDOUT },
		{ SERVER_ENCODES, -ETIMEDOUT }, { SERVER_CHANGES, -ESTALE },
		{ SERVER_ENDLESS_HEAD, -ETIMEDOUT },
		{ SERVER_BASIC, -EACCES },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("%s\n", server_mode_names[cases[i].mode]);
		fails(cases[i].mode, cases[i].want, NULL);
	}
}

/* A flipped bit is left to the digests to detect; nothing else may happen. */
static void
test_flips(void **state)
{
	struct client c = client_open(SERVER_FLIPS, 1, NULL);
	bool right;

	(void)state;
	assert_int_equal(read_some(&c, 1, &right), 0);
	assert_false(right);
	client_close(&c);
}

static void
test_stalls(void **state)
{
	(void)state;
	recovers(SERVER_STALLS, 40, NULL);
	recovers(SERVER_SILENT, 40, NULL);
}

static void
test_no_server(void **state)
{
	struct http_options o = { .timeout_s = 1, .connections = 1 };
	struct http_object *object;
	char why[LAYER_WHY];
	uint64_t size;
	struct http *h;

	(void)state;
	assert_int_equal(http_open(&h, &o, why), 0);
	assert_int_equal(http_object_open(&object, h, "ftp://x/"), -EINVAL);
	assert_int_equal(http_object_open(&object, h, "none"), -EINVAL);
	assert_int_equal(http_object_open(&object, h, "http://127.0.0.1:1/"),
	    0);
	assert_int_equal(http_size(object, &size), -ETIMEDOUT);
	http_object_why(object, why);
	assert_non_null(strstr(why, "onnect"));
	http_object_close(object);
	http_close(h);
}

static void
test_get(void **state)
{
	struct client c = client_open(SERVER_503, 2, NULL);
	char url[64], why[LAYER_WHY];
	struct http_document d;

	(void)state;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob",
	    server_port(server));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(http_get(c.h, url, NULL, SIZE, &d, why), 0);
		assert_int_equal(d.body.len, SIZE);
		assert_memory_equal(d.body.data, content, SIZE);
		http_document_free(&d);
	}
	assert_int_equal(http_get(c.h, url, NULL, SIZE - 1, &d, why), -EFBIG);
	http_document_free(&d);
	client_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_learns),
		cmocka_unit_test(test_recovers),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_get),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

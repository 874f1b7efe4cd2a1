/* SPDX-License-Identifier: BSD-2-Clause */
#include "at_once.h"
#include "http_client.h"

#include <errno.h>

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
	/* several ranges take one request */
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

/* A server's inability to answer several ranges is discovered only once. */
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

/* What a server redirected to is asked again, until it has expired. */
static void
test_target_expires(void **state)
{
	struct client c = client_open(SERVER_REDIRECTS, 1, NULL);
	uint64_t before;
	bool right;

	(void)state;
	assert_int_equal(read_some(&c, 1, &right), 0);
	server_set(server, SERVER_GOOD, 1);
	while (server_requests(server) % 2 == 0) {
		assert_int_equal(read_some(&c, 1, &right), 0);
		assert_true(right);
	}
	/* the next request is refused, and the one after it is not */
	server_set(server, SERVER_404, 2);
	before = server_requests(server);
	assert_int_equal(read_some(&c, 1, &right), 0);
	assert_true(right);
	assert_int_equal(server_requests(server), before + 2);
	client_close(&c);
}

/* They are sent again after a redirect, but not to the other name. */
static void
test_hands_on(void **state)
{
	struct http_counts n[HTTP_PHASES];
	struct client c;
	uint64_t size;

	(void)state;
	c = client_open(SERVER_HANDS_ON, 1, "user:password");
	assert_int_equal(http_size(c.o, &size), 0);
	assert_int_equal(size, SIZE);
	http_counted(c.h, n);
	/* the one that is refused, and three in a chain */
	assert_int_equal(n[HTTP_INDEX].requests, 4);
	client_close(&c);
	recovers(SERVER_HANDS_ON, 1, "user:password");
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

/* Credentials are not sent to a server that they are not for. */
static void
test_other_server(void **state)
{
	char url[64], others[3][64], why[LAYER_WHY];
	struct http_options o = { .timeout_s = 1, .connections = 1,
		.credentials = "user:password" };
	unsigned port = server_port(server);
	struct http_document d;
	struct http *h;

	(void)state;
	server_set(server, SERVER_BASIC, 1);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob", port);
	snprintf(others[0], sizeof(others[0]), "http://127.0.0.1:1/blob");
	snprintf(others[1], sizeof(others[1]), "http://localhost:%u/", port);
	snprintf(others[2], sizeof(others[2]), "https://127.0.0.1:%u/", port);
	for (int i = 0; i < 4; i++) {
		o.credentials_for = i == 3 ? NULL : others[i];
		assert_int_equal(http_open(&h, &o, why), 0);
		assert_int_equal(http_get(h, url, NULL, 8 << 20, &d, why),
		    -EACCES);
		http_document_free(&d);
		http_close(h);
	}
}

static void
write_auths(const char *name, unsigned port, const char *base64)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	if (base64 == NULL)
		fputs("{\"auths\": {", f);
	else
		fprintf(f, "{\"auths\":{\"127.0.0.1:%u\":{\"auth\":\"%s\"}}}",
		    port, base64);
	assert_int_equal(fclose(f), 0);
}

/* Credentials are read again when they are refused, from a file replaced or not. */
static void
test_auths_again(void **state)
{
	static const char wrong[] = "dXNlcjp3cm9uZw==",
	    right[] = "dXNlcjpwYXNzd29yZA==";
	char name[SCRATCH_B + 16], next[SCRATCH_B + 16], url[64],
	    why[LAYER_WHY];
	struct http_options o = { .timeout_s = 1, .connections = 1,
		.auth_file = name };
	unsigned port = server_port(server);
	struct http_document d;
	struct http *h;

	(void)state;
	server_set(server, SERVER_BASIC, 1);
	snprintf(name, sizeof(name), "%s/auth.json", dir);
	snprintf(next, sizeof(next), "%s/next.json", dir);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob", port);
	write_auths(name, port, wrong);
	assert_int_equal(http_open(&h, &o, why), 0);
	for (int i = 0; i < 5; i++) {
		int rc = http_get(h, url, NULL, 8 << 20, &d, why);

		http_document_free(&d);
		/* the third time, it is half written; then, it is gone */
		assert_int_equal(rc, i == 0 ? -EACCES : 0);
		if (i == 0) {
			write_auths(next, port, right);
			assert_int_equal(rename(next, name), 0);
		} else if (i == 1) {
			write_auths(name, port, NULL);
		} else if (i == 2) {
			assert_int_equal(unlink(name), 0);
		}
	}
	http_close(h);
	/* what is wrong from the start is an error */
	write_auths(name, port, NULL);
	assert_int_not_equal(http_open(&h, &o, why), 0);
	assert_non_null(strstr(why, "auth.json"));
	unlink(name);
	assert_int_equal(http_open(&h, &o, why), -ENOENT);
}

static void
test_no_server(void **state)
{
	struct http_options o = { .timeout_s = 1, .connections = 1 };
	struct http_counts c[HTTP_PHASES];
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
	/* only a request that was answered before is worth repeating */
	assert_int_equal(http_size(object, &size), -EHOSTUNREACH);
	http_object_why(object, why);
	assert_non_null(strstr(why, "onnect"));
	assert_null(strstr(why, "gave up"));
	http_counted(h, c);
	assert_int_equal(c[HTTP_INDEX].requests, 1);
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
		RECOVERS(test_recovery, SERVER_DIES, 2, NULL),
		RECOVERS(test_recovery, SERVER_IGNORES, 2, NULL),
		RECOVERS(test_recovery, SERVER_SHORT, 2, NULL),
		RECOVERS(test_recovery, SERVER_LONG, 2, NULL),
		RECOVERS(test_recovery, SERVER_MOVES, 2, NULL),
		RECOVERS(test_recovery, SERVER_NO_RANGE, 2, NULL),
		RECOVERS(test_recovery, SERVER_500, 2, NULL),
		RECOVERS(test_recovery, SERVER_503, 2, NULL),
		RECOVERS(test_recovery, SERVER_REDIRECTS, 2, NULL),
		RECOVERS(test_recovery, SERVER_ONE_RANGE, 2, NULL),
		RECOVERS(test_recovery, SERVER_WHOLE_FOR_MANY, 2, NULL),
		RECOVERS(test_recovery, SERVER_BAD_PARTS, 2, NULL),
		RECOVERS(test_recovery, SERVER_GARBAGE, 2, NULL),
		RECOVERS(test_recovery, SERVER_ENCODES, 2, NULL),
		RECOVERS(test_recovery, SERVER_REDIRECTS, 1, NULL),
		RECOVERS(test_recovery, SERVER_TOKEN, 1, NULL),
		RECOVERS(test_recovery, SERVER_BASIC, 1, "user:password"),
		cmocka_unit_test(test_target_expires),
		cmocka_unit_test(test_hands_on),
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_other_server),
		cmocka_unit_test(test_auths_again),
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_get),
	};

	return at_once(tests, sizeof(tests) / sizeof(*tests), set_up,
	    tear_down);
}

/*
 * test_http_whole.c - reading whole objects, and what is kept for a server
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sys_fault.h"

#include "http_client.h"

#include "http_private.h"

#include <sys/stat.h>

enum { OBJECTS = 20 };

/* Reads the blob whole, `count` times, each into a range of this length. */
static int
read_whole(struct client *c, size_t count, size_t room, uint64_t *lengths,
    char **buf)
{
	struct layer_range r[OBJECTS];
	char base[64], why[LAYER_WHY] = "";
	int rc;

	*buf = malloc(count * room);
	assert_non_null(*buf);
	memset(*buf, 'u', count * room);
	for (size_t i = 0; i < count; i++)
		r[i] = (struct layer_range){ .object = "blob",
			.length = room, .buf = *buf + i * room };
	snprintf(base, sizeof(base), "http://127.0.0.1:%u",
	    server_port(server));
	rc = http_read_whole(c->h, base, r, count, lengths, HTTP_READ, why);
	if (rc != 0)
		assert_true(*why != '\0');
	return rc;
}

/* Checks that `count` objects are read, of which `room` bytes are wanted. */
static void
reads(enum server_mode mode, unsigned every, const char *credentials,
    size_t count, size_t room)
{
	struct client c = client_open(mode, every, credentials);
	size_t want = room < SIZE ? room : SIZE;
	uint64_t lengths[OBJECTS];
	char *buf;

	assert_int_equal(read_whole(&c, count, room, lengths, &buf), 0);
	for (size_t i = 0; i < count; i++) {
		const char *at = buf + i * room;

		assert_int_equal(lengths[i], want);
		assert_memory_equal(at, content, want);
		for (size_t k = want; k < room; k++)
			assert_int_equal(at[k], 0);
	}
	free(buf);
	client_close(&c);
}

static void
test_lengths(void **state)
{
	(void)state;
	reads(SERVER_GOOD, 1, NULL, 1, SIZE);
	reads(SERVER_GOOD, 1, NULL, 1, SIZE + 1);
	reads(SERVER_GOOD, 1, NULL, 1, SIZE - 1);
	reads(SERVER_GOOD, 1, NULL, OBJECTS, SIZE / 100);
}

/* The rest of an object that is too large is not read. */
static void
test_oversized(void **state)
{
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	struct http_counts counts[HTTP_PHASES];
	uint64_t length;
	char *buf;

	(void)state;
	assert_int_equal(read_whole(&c, 1, 1000, &length, &buf), 0);
	assert_int_equal(length, 1000);
	http_counted(c.h, counts);
	assert_true(counts[HTTP_READ].wire < SIZE / 2);
	free(buf);
	client_close(&c);
}

static void
test_recovers(void **state)
{
	static const enum server_mode modes[] = { SERVER_DIES, SERVER_500,
		SERVER_ENCODES, SERVER_GARBAGE, SERVER_REDIRECTS };

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		reads(modes[i], 2, NULL, 3, SIZE);
	reads(SERVER_TOKEN, 1, NULL, 2, SIZE);
	/* which the token server gets, too */
	reads(SERVER_TOKEN, 1, "user:password", 2, SIZE);
	reads(SERVER_BASIC, 1, "user:password", 2, SIZE);
}

static void
test_fails(void **state)
{
	static const struct {
		enum server_mode mode;
		int want;
	} cases[] = {
		{ SERVER_404, -ENOENT }, { SERVER_400, -EPROTO },
		{ SERVER_LOOPS, -ELOOP }, { SERVER_LEAVES, -EPROTONOSUPPORT },
		{ SERVER_BASIC, -EACCES },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct client c = client_open(cases[i].mode, 1, NULL);
		uint64_t lengths[2];
		char *buf;
		int rc = read_whole(&c, 2, 1000, lengths, &buf);

		if (rc != cases[i].want)
			fail_msg("%s: %d", server_mode_names[cases[i].mode],
			    rc);
		free(buf);
		client_close(&c);
	}
}

/* The URL must fit, with its NUL. */
static void
test_long_name(void **state)
{
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	char *name = malloc(HTTP_URL), base[64], byte, why[LAYER_WHY];
	struct layer_range r = { .object = name, .length = 1, .buf = &byte };
	uint64_t length;
	size_t room;

	(void)state;
	assert_non_null(name);
	snprintf(base, sizeof(base), "http://127.0.0.1:%u",
	    server_port(server));
	room = HTTP_URL - strlen(base) - 1;
	memset(name, 'n', HTTP_URL);
	name[room] = '\0';
	assert_int_equal(http_read_whole(c.h, base, &r, 1, &length, HTTP_READ,
	    why), -ENAMETOOLONG);
	name[room - 1] = '\0';
	assert_int_not_equal(http_read_whole(c.h, base, &r, 1, &length,
	    HTTP_READ, why), -ENAMETOOLONG);
	free(name);
	client_close(&c);
}

static void
test_no_memory(void **state)
{
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	struct layer_range r = { .object = "blob" };
	char why[LAYER_WHY] = "";
	uint64_t length;

	(void)state;
	assert_true(fault_plan("malloc:1:ENOMEM"));
	assert_int_equal(http_read_whole(c.h, "http://127.0.0.1", &r, 1,
	    &length, HTTP_READ, why), -ENOMEM);
	assert_true(fault_plan(""));
	client_close(&c);
}

/* A token is kept for each repository. */
static void
test_two_tokens(void **state)
{
	struct client c = client_open(SERVER_TOKEN, 1, NULL);
	char why[LAYER_WHY], url[SCRATCH_B + 64];
	struct http_document d;
	uint64_t before = server_requests(server);

	(void)state;
	for (int i = 0; i < 6; i++) {
		snprintf(url, sizeof(url), "http://127.0.0.1:%u/v2/%c/blobs/x",
		    server_port(server), "ab"[i % 2]);
		assert_int_equal(http_get(c.h, url, NULL, SIZE, &d, why), 0);
		http_document_free(&d);
	}
	/* the first of each: refused, the token, read */
	assert_int_equal(server_requests(server) - before, 2 * 3 + 4);
	client_close(&c);
}

/* What is learned about a server is not taken for true of another. */
static void
test_two_servers(void **state)
{
	struct server *other = server_start(dir);
	struct client c = client_open(SERVER_GOOD, 1, NULL);
	struct http_object *o = c.o;
	uint64_t before;
	char url[64];
	bool right;

	(void)state;
	server_set(other, SERVER_ONE_RANGE, 1);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob",
	    server_port(other));
	assert_int_equal(http_object_open(&c.o, c.h, url), 0);
	assert_int_equal(read_some(&c, 1, &right), 0);
	assert_true(right);
	http_object_close(c.o);
	c.o = o;
	before = server_requests(server);
	assert_int_equal(read_some(&c, 1, &right), 0);
	assert_true(right);
	assert_int_equal(server_requests(server) - before, 1);
	client_close(&c);
	server_stop(other);
}

/* Makes and removes the blobs of two repositories. */
static void
repositories(bool make)
{
	char name[SCRATCH_B + 32];

	snprintf(name, sizeof(name), "%s/v2", dir);
	if (make)
		assert_int_equal(mkdir(name, 0700), 0);
	for (const char *r = "ab"; *r != '\0'; r++) {
		for (int i = 0; i < 3; i++) {
			static const char *const under[] = { "", "/blobs",
				"/blobs/x" };
			int k = make ? i : 2 - i;

			snprintf(name, sizeof(name), "%s/v2/%c%s", dir, *r,
			    under[k]);
			if (make)
				assert_int_equal(k == 2 ? symlink(path, name) :
				    mkdir(name, 0700), 0);
			else
				remove(name);
		}
	}
	snprintf(name, sizeof(name), "%s/v2", dir);
	if (!make)
		remove(name);
}

static int
set_up_all(void **state)
{
	if (set_up(state) != 0)
		return -1;
	repositories(true);
	return 0;
}

static int
tear_down_all(void **state)
{
	repositories(false);
	return tear_down(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_oversized),
		cmocka_unit_test(test_recovers),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_two_tokens),
		cmocka_unit_test(test_two_servers),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}

/*
 * test_http_refused.c - reading from a server while calls are refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of the system fails in turn, but not those of
 * libcurl and of the server.  A call fails, with a reason, or gives the right
 * bytes.  And token servers whose answers are none.
 */
#include "suffers.h"

#include "http_client.h"

#include "http_private.h"

static char url[64], auth[SCRATCH_B + 8];

/* The server's misbehaviour, and the client's credentials. */
static enum server_mode mode;
static const char *user, *auth_file;

static int
take_some(void *arg, uint64_t offset, const void *data, size_t len)
{
	uint64_t *at = arg;

	if (offset + len > SIZE || memcmp(content + offset, data, len) != 0)
		fail_msg("%s: other bytes at %llu", suffers_run.call,
		    (unsigned long long)offset);
	*at = offset + len > *at ? offset + len : *at;
	return *at > 100000 ? -EDOM : 0;
}

static int
use_object(struct http *h, struct http_object *o)
{
	char reason[LAYER_WHY] = "", base[64];
	uint8_t buf[3][1000];
	struct layer_range r[3] = { { .offset = 5, .length = 1000 },
		{ .offset = 2000, .length = 10 },
		{ .offset = 2000000, .length = 999 } };
	struct layer_range whole = { .object = "blob", .length = 100,
		.whole = true, .buf = buf[0] };
	struct http_document d;
	uint64_t size, at = 0;
	int rc = http_size(o, &size);

	if (rc == 0)
		take_number(size);
	for (int i = 0; i < 3; i++)
		r[i].buf = buf[i];
	if (rc == 0)
		rc = http_read(o, r, 3, HTTP_READ);
	for (int i = 0; rc == 0 && i < 3; i++)
		if (memcmp(buf[i], content + r[i].offset, r[i].length) != 0)
			fail_msg("%s: other bytes", suffers_run.call);
	if (rc != 0) {
		http_object_why(o, reason);
		return explained(rc, reason);
	}
	rc = http_get(h, url, "a/b", SIZE, &d, reason);
	if (rc == 0 && (d.body.len != SIZE || memcmp(d.body.data, content,
	    SIZE) != 0))
		fail_msg("%s: another document", suffers_run.call);
	http_document_free(&d);
	if (explained(rc, reason) != 0)
		return rc;
	snprintf(base, sizeof(base), "http://127.0.0.1:%u",
	    server_port(server));
	rc = http_read_whole(h, base, &whole, 1, &size, HTTP_READ, reason);
	if (rc == 0)
		take(buf[0], 100);
	if (rc == 0)
		rc = http_read_all(o, take_some, &at, HTTP_READ);
	return rc == -EDOM ? 0 : rc;
}

static int
run(void)
{
	const struct http_options ho = { .timeout_s = 3, .connections = 2,
		.credentials = user, .credentials_for = url,
		.auth_file = auth_file };
	char reason[LAYER_WHY] = "";
	struct http_object *o;
	struct http *h;
	int rc = http_open(&h, &ho, reason);

	if (rc != 0)
		return explained(rc, reason);
	server_set(server, mode, 1);
	rc = http_object_open(&o, h, url);
	if (rc == 0) {
		rc = use_object(h, o);
		http_object_close(o);
	}
	http_close(h);
	return rc;
}

static void
refused(void **state)
{
	(void)state;
	suffers_run.first = 40;
	suffers_run.turns = 15;
	mode = SERVER_GOOD;
	SUFFERS(run);
	mode = SERVER_TOKEN;
	user = "user:password";
	SUFFERS(run);
	mode = SERVER_BASIC;
	user = NULL;
	auth_file = auth;
	SUFFERS(run);
	auth_file = NULL;
	mode = SERVER_REDIRECTS;
	SUFFERS(run);
}

/* Token servers */

static void
tokens(void **state)
{
	static const struct {
		const char *json, *why;
		int rc;
	} rows[] = {
		{ "{\"token\":\"sesame\"}", "", 0 },
		{ "{\"access_token\":\"sesame\"}", "", 0 },
		{ "{\"token\":\"sesame\",\"access_token\":\"x\"}", "", 0 },
		{ "{}", "sent no token", -EACCES },
		{ "{\"token\":7}", "sent no token", -EACCES },
		{ "{\"token\":\"a\\r\\nX: y\"}", "sent no token", -EACCES },
		{ "{\"token\":\"a\\n\"}", "sent no token", -EACCES },
		{ "{\"token\":\"a\\r\"}", "sent no token", -EACCES },
		{ "sesame", "not a JSON object", -EBADMSG },
		{ "[]", "not a JSON object", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct client c = client_open(SERVER_TOKEN, 1, NULL);
		char reason[LAYER_WHY] = "";
		uint8_t byte;
		struct layer_range r = { .offset = 7, .length = 1,
			.buf = &byte };
		int rc;

		server_set_token(server, rows[i].json);
		rc = http_read(c.o, &r, 1, HTTP_READ);
		http_object_why(c.o, reason);
		if (rc != rows[i].rc || (rc != 0 && strstr(reason,
		    rows[i].why) == NULL))
			fail_msg("%s: %d, %s", rows[i].json, rc, reason);
		client_close(&c);
	}
	server_set_token(server, NULL);
}

/* Files with credentials */

static void
logins(void **state)
{
	static const struct {
		const char *json, *base64, *token;
		int rc;
	} rows[] = {
		{ "{}", NULL, NULL, -ENOENT },
		{ "[]", NULL, NULL, -EBADMSG },
		{ "{\"auths\":[]}", NULL, NULL, -ENOENT },
		{ "{\"auths\":{\"a.org\":{}}}", NULL, NULL, -ENOENT },
		{ "{\"auths\":{\"a.org\":7}}", NULL, NULL, -ENOENT },
		{ "{\"auths\":{\"a.org\":{\"auth\":\"x\"}}}", "x", NULL, 0 },
		{ "{\"auths\":{\"b.org\":{\"auth\":\"x\"}}}", NULL, NULL,
		    -ENOENT },
		{ "{\"auths\":{\"a.org\":{\"identitytoken\":\"t\"}}}", NULL,
		    "t", 0 },
		{ "{\"auths\":{\"a.org\":{\"identitytoken\":\"\"}}}", NULL,
		    NULL, -ENOENT },
		{ "{\"auths\":{\"a.org\":{\"auth\":\"x\",\"identitytoken\":"
		    "\"t\"}}}", "x", "t", 0 },
		/* the first entry that says something */
		{ "{\"auths\":{\"a.org\":{\"identitytoken\":\"t\"},"
		    "\"https://a.org\":{\"auth\":\"x\"}}}", NULL, "t", 0 },
		{ "{\"auths\":{\"a.org\":{\"auth\":\"x\"},"
		    "\"https://a.org\":{\"auth\":\"y\"}}}", "x", NULL, 0 },
		{ "{\"auths\":{\"a.org\":{},\"https://a.org\":{\"auth\":"
		    "\"y\"}}}", "y", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *base64, *token;
		int rc = http_auth_lookup(rows[i].json, strlen(rows[i].json),
		    "a.org:443", &base64, &token);

		if (rc != rows[i].rc || (base64 == NULL) != (rows[i].base64 ==
		    NULL) || (token == NULL) != (rows[i].token == NULL) ||
		    (base64 != NULL && strcmp(base64, rows[i].base64) != 0) ||
		    (token != NULL && strcmp(token, rows[i].token) != 0))
			fail_msg("%s: %d, %s, %s", rows[i].json, rc, base64 ==
			    NULL ? "none" : base64, token == NULL ? "none" :
			    token);
		sys_free(base64);
		sys_free(token);
	}
}

static int
begin_all(void **state)
{
	FILE *f;

	assert_true(fault_plan(""));
	if (set_up(state) != 0)
		return 1;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob",
	    server_port(server));
	snprintf(auth, sizeof(auth), "%s/auth", dir);
	f = fopen(auth, "w");
	assert_non_null(f);
	fprintf(f, "{\"auths\":{\"127.0.0.1:%u\":{\"auth\":"
	    "\"dXNlcjpwYXNzd29yZA==\"}}}", server_port(server));
	return fclose(f);
}

static int
end_all(void **state)
{
	unlink(auth);
	return tear_down(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(tokens),
		cmocka_unit_test(logins),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}

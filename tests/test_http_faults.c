/* SPDX-License-Identifier: BSD-2-Clause */
#include "at_once.h"
#include "http_client.h"

/* Every reply is bad; each of many parallel reads ends with this error. */
struct failure {
	enum server_mode mode;
	int want;
};

static void
test_fails(void **state)
{
	const struct failure *f = *state;
	struct client c;
	bool right;

	timeout_s = f->want == -ETIMEDOUT ? SHORT_S : LONG_S;
	c = client_open(f->mode, 1, NULL);
	read_all(&c, TIMES, f->want, server_mode_names[f->mode]);
	/* afterwards, reads work again */
	server_set(server, SERVER_GOOD, 1);
	if (f->want != -ESTALE)
		assert_int_equal(read_some(&c, 1, &right), 0);
	client_close(&c);
}

/* A server that has stopped. */
static void
test_gone(void **state)
{
	struct client c;
	bool right;

	(void)state;
	timeout_s = SHORT_S;
	c = client_open(SERVER_GOOD, 1, NULL);
	assert_int_equal(read_some(&c, 1, &right), 0);
	server_stop(server);
	read_all(&c, TIMES, -ETIMEDOUT, "gone");
	client_close(&c);
	server = server_start(dir);
}

#define FAILS(mode, want)						\
	{ "fails(" #mode ", " #want ")", test_fails, NULL, NULL,	\
	    &(struct failure){ mode, want } }

int
main(void)
{
	const struct CMUnitTest tests[] = {
		FAILS(SERVER_404, -ENOENT),
		FAILS(SERVER_416, -ENODATA),
		FAILS(SERVER_429, -ETIMEDOUT),
		FAILS(SERVER_500, -ETIMEDOUT),
		FAILS(SERVER_503, -ETIMEDOUT),
		FAILS(SERVER_MOVES, -ETIMEDOUT),
		FAILS(SERVER_NO_RANGE, -ETIMEDOUT),
		FAILS(SERVER_LOOPS, -ELOOP),
		FAILS(SERVER_LEAVES, -EPROTONOSUPPORT),
		FAILS(SERVER_SILENT, -ETIMEDOUT),
		FAILS(SERVER_GARBAGE, -ETIMEDOUT),
		FAILS(SERVER_ENCODES, -ETIMEDOUT),
		FAILS(SERVER_CHANGES, -ESTALE),
		FAILS(SERVER_ENDLESS_HEAD, -ETIMEDOUT),
		FAILS(SERVER_BASIC, -EACCES),
		cmocka_unit_test(test_gone),
	};

	return at_once(tests, sizeof(tests) / sizeof(*tests), set_up,
	    tear_down);
}

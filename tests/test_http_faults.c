/* SPDX-License-Identifier: BSD-2-Clause */
#include "http_client.h"

/* Every reply is bad; each of many parallel reads ends with this error. */
static void
fails(enum server_mode mode, int want)
{
	struct client c;
	bool right;

	timeout_s = want == -ETIMEDOUT ? SHORT_S : LONG_S;
	c = client_open(mode, 1, NULL);
	read_all(&c, TIMES, want, server_mode_names[mode]);
	/* afterwards, reads work again */
	server_set(server, SERVER_GOOD, 1);
	if (want != -ESTALE)
		assert_int_equal(read_some(&c, 1, &right), 0);
	client_close(&c);
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
		{ SERVER_LEAVES, -EPROTONOSUPPORT },
		{ SERVER_SILENT, -ETIMEDOUT }, { SERVER_GARBAGE, -ETIMEDOUT },
		{ SERVER_ENCODES, -ETIMEDOUT }, { SERVER_CHANGES, -ESTALE },
		{ SERVER_ENDLESS_HEAD, -ETIMEDOUT },
		{ SERVER_BASIC, -EACCES },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		fails(cases[i].mode, cases[i].want);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

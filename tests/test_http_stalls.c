/* SPDX-License-Identifier: BSD-2-Clause */
#include "http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void
test_stalls(void **state)
{
	(void)state;
	timeout_s = STALL_S;
	recovers(SERVER_STALLS, 40, NULL);
	recovers(SERVER_SILENT, 40, NULL);
}

/* Every connection is half-open after its first reply, and is kept. */
static void
half_open(enum server_mode mode)
{
	struct client c;

	timeout_s = STALL_S / 2;
	c = client_open(mode, 1, NULL);
	c.one = true;
	read_all(&c, CONNECTIONS, 0, server_mode_names[mode]);
	client_close(&c);
}

static void
test_deaf(void **state)
{
	(void)state;
	half_open(SERVER_DEAF);
}

static void
test_vanishes(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	int rc = setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on));

	(void)state;
	close(fd);
	if (rc != 0)
		skip();
	half_open(SERVER_VANISHES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_deaf),
		cmocka_unit_test(test_vanishes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

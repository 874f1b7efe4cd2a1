/* SPDX-License-Identifier: BSD-2-Clause */
#include "at_once.h"
#include "http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static void
test_stalls(void **state)
{
	timeout_s = STALL_S;
	test_recovery(state);
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

/* The queue of connections that nobody accepts is full: SYNs are dropped. */
static void
test_no_connection(void **state)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct http_options o = { .timeout_s = SHORT_S,
		.connections = CONNECTIONS };
	int full = socket(AF_INET, SOCK_STREAM, 0), queued[4];
	socklen_t size = sizeof(a);
	char url[64], why[LAYER_WHY];
	uint8_t byte;
	struct layer_range r = { .length = 1, .buf = &byte };
	struct client c;

	(void)state;
	assert_int_equal(bind(full, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(full, 0), 0);
	assert_int_equal(getsockname(full, (struct sockaddr *)&a, &size), 0);
	for (int i = 0; i < 4; i++) {
		queued[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(queued[i], (struct sockaddr *)&a, sizeof(a));
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/blob",
	    ntohs(a.sin_port));
	assert_int_equal(http_open(&c.h, &o, why), 0);
	assert_int_equal(http_object_open(&c.o, c.h, url), 0);
	assert_int_equal(http_read(c.o, &r, 1, HTTP_READ), -ETIMEDOUT);
	http_object_why(c.o, why);
	print_message("%s\n", why);
	assert_non_null(strstr(why, "no connection in time (gave up after 3 s)"));
	client_close(&c);
	for (int i = 0; i < 4; i++)
		close(queued[i]);
	close(full);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RECOVERS(test_stalls, SERVER_STALLS, 40, NULL),
		RECOVERS(test_stalls, SERVER_SILENT, 40, NULL),
		cmocka_unit_test(test_deaf),
		cmocka_unit_test(test_vanishes),
		cmocka_unit_test(test_no_connection),
	};

	return at_once(tests, sizeof(tests) / sizeof(*tests), set_up,
	    tear_down);
}

/*
 * test_metrics.c - requests for metrics, and clients that misbehave
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/metrics/metrics.h"

#include "sys_fault.h"

#include "base/sys.h"
#include "scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

enum { BIG = 3 << 20 };

static char dir[SCRATCH_B];
static struct sockaddr_un address;
static int listener;
static struct metrics *server;
static _Atomic bool well;
static size_t text_size;

static void
give_text(void *arg, struct strbuf *b)
{
	(void)arg;
	metrics_describe(b, "x_total", METRICS_COUNTER, "Xs.");
	metrics_sample(b, "x_total", NULL, NULL, 7);
	while (b->len < text_size)
		strbuf_str(b, "# more\n");
}

static bool
give_health(void *arg, struct strbuf *b)
{
	(void)arg;
	strbuf_str(b, well ? "well\n" : "the disk is on fire\n");
	return well;
}

static int
start(void **state)
{
	const struct metrics_pages pages = { .text = give_text,
		.health = give_health };

	(void)state;
	if (scratch_make(dir) == NULL)
		return -1;
	address.sun_family = AF_UNIX;
	snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/s", dir);
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) !=
	    0 || listen(listener, 64) != 0)
		return -1;
	return metrics_start(&server, listener, &pages);
}

static int
stop(void **state)
{
	(void)state;
	metrics_stop(server);
	close(listener);
	unlink(address.sun_path);
	return rmdir(dir);
}

static int
connected(void)
{
	const struct timeval patience = { .tv_sec = 20 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address,
	    sizeof(address)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
	    sizeof(patience)), 0);
	return fd;
}

/* Reads up to the end.  Returns the number of bytes, or -errno. */
static ssize_t
receive(int fd, char *buf, size_t room)
{
	size_t len = 0;
	ssize_t n;

	while ((n = recv(fd, buf + len, room - 1 - len, 0)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	close(fd);
	return n < 0 && len == 0 ? -errno : (ssize_t)len;
}

static char got[8192];

static const char *
ask(const char *request)
{
	int fd = connected();

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL),
	    (ssize_t)strlen(request));
	(void)receive(fd, got, sizeof(got));
	return got;
}

static void
parsed(void **state)
{
	static const struct {
		const char *text;
		enum metrics_page page;
		bool head;
	} cases[] = {
		{ "", METRICS_MORE, false },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\n", METRICS_MORE,
			false },
		{ "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", METRICS_TEXT,
			false },
		{ "GET /metrics HTTP/1.0\n\n", METRICS_TEXT, false },
		{ "GET /metrics?a=b HTTP/1.1\r\n\r\n", METRICS_TEXT, false },
		{ "HEAD /healthz HTTP/1.1\r\n\r\n", METRICS_HEALTH, true },
		{ "GET / HTTP/1.1\r\n\r\n", METRICS_NO_PAGE, false },
		{ "GET /metricsx HTTP/1.1\r\n\r\n", METRICS_NO_PAGE, false },
		{ "GET /metric HTTP/1.1\r\n\r\n", METRICS_NO_PAGE, false },
		{ "POST /metrics HTTP/1.1\r\n\r\n", METRICS_NO_METHOD, false },
		{ "get /metrics HTTP/1.1\r\n\r\n", METRICS_NO_METHOD, false },
		{ "GET /metrics HTTP/2.0\r\n\r\n", METRICS_BAD, false },
		{ "GET /metrics HTTP/1.1 x\r\n\r\n", METRICS_BAD, false },
		{ "GET  /metrics HTTP/1.1\r\n\r\n", METRICS_BAD, false },
		{ "GET http://h/metrics HTTP/1.1\r\n\r\n", METRICS_BAD,
			false },
		{ "GET /metrics\r\n\r\n", METRICS_BAD, false },
		{ "\r\n\r\n", METRICS_BAD, false },
		{ " /metrics HTTP/1.1\r\n\r\n", METRICS_BAD, false },
	};
	char large[METRICS_REQUEST];
	bool head;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(metrics_parse(cases[i].text,
		    strlen(cases[i].text), &head), cases[i].page);
		assert_int_equal(head, cases[i].head);
	}
	assert_int_equal(metrics_parse("GET /metrics\0 HTTP/1.1\n\n", 25,
	    &head), METRICS_BAD);
	memset(large, 'x', sizeof(large));
	assert_int_equal(metrics_parse(large, sizeof(large) - 1, &head),
	    METRICS_MORE);
	assert_int_equal(metrics_parse(large, sizeof(large), &head),
	    METRICS_LARGE);
}

static void
written(void **state)
{
	struct strbuf b = { .len = 0 };

	(void)state;
	metrics_describe(&b, "a_bytes", METRICS_GAUGE, "As.");
	metrics_sample(&b, "a_bytes", "of", "x\"y\\z\n", UINT64_MAX);
	strbuf_char(&b, '\0');
	assert_string_equal(b.data, "# HELP a_bytes As.\n# TYPE a_bytes gauge\n"
	    "a_bytes{of=\"x\\\"y\\\\z\\n\"} 18446744073709551615\n");
	strbuf_free(&b);
}

static void
answered(void **state)
{
	(void)state;
	text_size = 0;
	assert_string_equal(ask("GET /metrics HTTP/1.1\r\n\r\n"),
	    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "
	    "charset=utf-8\r\nContent-Length: 52\r\nCache-Control: no-store\r\n"
	    "Connection: close\r\n\r\n# HELP x_total Xs.\n"
	    "# TYPE x_total counter\nx_total 7\n");
	well = true;
	assert_non_null(strstr(ask("GET /healthz HTTP/1.1\r\n\r\n"),
	    "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(got, "\r\n\r\nwell\n"));
	well = false;
	assert_non_null(strstr(ask("GET /healthz HTTP/1.1\r\n\r\n"),
	    "HTTP/1.1 503 Service Unavailable\r\n"));
	assert_non_null(strstr(got, "the disk is on fire\n"));
	assert_null(strstr(ask("HEAD /healthz HTTP/1.1\r\n\r\n"), "fire"));
	assert_non_null(strstr(got, "Content-Length: 20\r\n"));
	assert_memory_equal(ask("GET /x HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 ",
	    13);
	assert_memory_equal(ask("PUT /metrics HTTP/1.1\r\n\r\n"),
	    "HTTP/1.1 405 ", 13);
	assert_memory_equal(ask("hello\r\n\r\n"), "HTTP/1.1 400 ", 13);
}

/* A page that is larger than the socket's buffer, read slowly */
static void
large_page(void **state)
{
	const char request[] = "GET /metrics HTTP/1.1\r\n\r\n";
	char *all = malloc(2 * BIG);
	int fd;

	(void)state;
	assert_non_null(all);
	text_size = BIG;
	fd = connected();
	for (size_t i = 0; i < strlen(request); i++) {
		assert_int_equal(send(fd, request + i, 1, 0), 1);
		usleep(2000);
	}
	usleep(50000);
	assert_true(receive(fd, all, 2 * BIG) > BIG);
	assert_non_null(strstr(all, "x_total 7\n"));
	text_size = 0;
	free(all);
}

/* More clients than there is room for, who say nothing or do not read */
static void
hostile(void **state)
{
	enum { CLIENTS = 3 * METRICS_CONNECTIONS };
	char junk[2 * METRICS_REQUEST], byte;
	int fds[CLIENTS];
	uint64_t before;

	(void)state;
	memset(junk, 'j', sizeof(junk));
	text_size = BIG;
	for (int i = 0; i < METRICS_CONNECTIONS; i++) {
		fds[i] = connected();
		if (i % 2 == 0)
			(void)send(fds[i], "GET /metrics HTTP/1.1\r\n\r\n", 25,
			    MSG_NOSIGNAL);
	}
	for (int i = METRICS_CONNECTIONS; i < CLIENTS; i++) {
		fds[i] = connected();
		if (i % 2 == 0)
			(void)send(fds[i], junk, sizeof(junk), MSG_NOSIGNAL |
			    MSG_DONTWAIT);
		if (i % 3 == 0)
			close(fds[i]);
	}
	/* whoever waits gets an answer once they are given up */
	before = sys_now_ns();
	text_size = 0;
	assert_non_null(strstr(ask("GET /metrics HTTP/1.1\r\n\r\n"),
	    "x_total 7\n"));
	assert_true(sys_now_ns() - before < 3 * METRICS_PATIENCE_MS *
	    UINT64_C(1000000));
	/* those have been dropped */
	assert_int_equal(recv(fds[1], &byte, 1, 0), 0);
	for (int i = 0; i < CLIENTS; i++)
		if (i < METRICS_CONNECTIONS || i % 3 != 0)
			close(fds[i]);
	before = sys_now_ns();
	assert_non_null(strstr(ask("GET /metrics HTTP/1.1\r\n\r\n"),
	    "x_total 7\n"));
	assert_true(sys_now_ns() - before < METRICS_PATIENCE_MS *
	    UINT64_C(1000000));
}

static void
no_memory(void **state)
{
	const struct metrics_pages pages = { .arg = NULL };
	struct metrics *m;

	(void)state;
	assert_true(fault_plan("malloc:1:ENOMEM"));
	assert_int_equal(metrics_start(&m, -1, &pages), -ENOMEM);
	assert_true(fault_plan(""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parsed),
		cmocka_unit_test(written),
		cmocka_unit_test(answered),
		cmocka_unit_test(large_page),
		cmocka_unit_test(hostile),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, start, stop);
}

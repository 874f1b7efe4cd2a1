/* SPDX-License-Identifier: BSD-2-Clause */
#include "at_once.h"
#include "http_client.h"
#include "http_proxy.h"
#include "tls_made.h"

static char pem[SCRATCH_B + 8];
static struct proxy *proxy;

static int
set_up_proxy(void **state)
{
	if (set_up(state) != 0)
		return -1;
	snprintf(pem, sizeof(pem), "%s/pem", dir);
	tls_make(pem, "IP:127.0.0.1", -1, 1);
	proxy = proxy_start();
	unsetenv("no_proxy");
	unsetenv("NO_PROXY");
	return 0;
}

static int
tear_down_proxy(void **state)
{
	unlink(pem);
	proxy_stop(proxy);
	return tear_down(state);
}

/* Sets both proxies, with these credentials, with or without TLS. */
static void
use(const char *credentials, bool tls)
{
	char url[64];

	snprintf(url, sizeof(url), "http://%s127.0.0.1:%u", credentials,
	    proxy_port(proxy));
	setenv("http_proxy", url, 1);
	setenv("https_proxy", url, 1);
	trusted = tls ? pem : NULL;
	server_secure(server, trusted);
}

/* Reads through the proxy; n is the result of every read. */
static void
reads(enum proxy_mode mode, unsigned every, unsigned threads, int n)
{
	uint64_t before = proxy_connections(proxy);
	struct client c;

	timeout_s = n == -ETIMEDOUT ? SHORT_S : mode == PROXY_STALLS ? STALL_S :
	    LONG_S;
	proxy_set(proxy, mode, every);
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, threads, n, proxy_mode_names[mode]);
	client_close(&c);
	assert_true(proxy_connections(proxy) > before);
}

struct proxied {
	enum proxy_mode mode;
	unsigned every, threads;
	const char *credentials;
	/* of every read: the proxy may be in front of all servers, or, with
	 * TLS, only this one */
	int plain, tls;
};

static void
test_plain(void **state)
{
	const struct proxied *p = *state;

	use(p->credentials, false);
	reads(p->mode, p->every, p->threads, p->plain);
}

static void
test_tls(void **state)
{
	const struct proxied *p = *state;

	use(p->credentials, true);
	reads(p->mode, p->every, p->threads, p->tls);
}

static void
test_no_proxy(void **state)
{
	uint64_t before;
	struct client c;

	(void)state;
	use("", false);
	proxy_set(proxy, PROXY_REFUSES, 1);
	before = proxy_connections(proxy);
	setenv("no_proxy", "127.0.0.1", 1);
	timeout_s = LONG_S;
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, CONNECTIONS, 0, "no proxy");
	client_close(&c);
	assert_int_equal(proxy_connections(proxy), before);
	unsetenv("no_proxy");
	/* nothing listens there */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	timeout_s = SHORT_S;
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, TIMES, -ETIMEDOUT, "no such proxy");
	client_close(&c);
}

/* A read fails: the message says this, and contains no password. */
static void
says(const char *proxy_url, const char *text)
{
	char why[LAYER_WHY];
	struct client c;
	bool right;

	setenv("http_proxy", proxy_url, 1);
	timeout_s = 1;
	c = client_open(SERVER_GOOD, 1, NULL);
	assert_int_not_equal(read_some(&c, 0, &right), 0);
	http_object_why(c.o, why);
	client_close(&c);
	if (strstr(why, text) == NULL || strstr(why, "secret") != NULL)
		fail_msg("%s: %s", proxy_url, why);
}

static void
test_messages(void **state)
{
	static const char invalid[] = "the proxy's URL is not valid or not "
	    "supported; http_proxy is 127.0.0.1:1";
	char url[64];

	(void)state;
	trusted = NULL;
	server_secure(server, NULL);
	says("http://user:secret@127.0.0.1:1/", "; http_proxy is 127.0.0.1:1 (");
	says("user:secret@127.0.0.1:1", "; http_proxy is 127.0.0.1:1 (");
	says("http://user:secret secret@127.0.0.1:1", invalid);
	says("ftp://user:secret@127.0.0.1:1", invalid);
	setenv("no_proxy", "other", 1);
	says("http://127.0.0.1:1", "127.0.0.1:1, no_proxy is other (");
	unsetenv("no_proxy");
	use("user:secret@", false);
	proxy_set(proxy, PROXY_ASKS, 1);
	snprintf(url, sizeof(url), "%s", getenv("http_proxy"));
	says(url, "the proxy requires valid credentials; http_proxy is "
	    "127.0.0.1:");
}

#define PROXIED(...)							\
	{ "plain(" #__VA_ARGS__ ")", test_plain, NULL, NULL,		\
	    &(struct proxied){ __VA_ARGS__ } },				\
	{ "tls(" #__VA_ARGS__ ")", test_tls, NULL, NULL,		\
	    &(struct proxied){ __VA_ARGS__ } }

int
main(void)
{
	const struct CMUnitTest tests[] = {
		PROXIED(PROXY_GOOD, 1, CONNECTIONS, "", 0, 0),
		PROXIED(PROXY_CUTS, 2, CONNECTIONS, "", 0, 0),
		PROXIED(PROXY_RESETS, 2, CONNECTIONS, "", 0, 0),
		PROXIED(PROXY_STALLS, 40, CONNECTIONS, "", 0, 0),
		PROXIED(PROXY_REFUSES, 1, TIMES, "", -EACCES, -ETIMEDOUT),
		PROXIED(PROXY_ASKS, 1, TIMES, "", -EPROTO, -ETIMEDOUT),
		PROXIED(PROXY_ASKS, 1, CONNECTIONS, "user:password@", 0, 0),
		PROXIED(PROXY_ASKS, 1, TIMES, "user:wrong@", -EPROTO,
		    -ETIMEDOUT),
		cmocka_unit_test(test_no_proxy),
		cmocka_unit_test(test_messages),
	};

	return at_once(tests, sizeof(tests) / sizeof(*tests), set_up_proxy,
	    tear_down_proxy);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "at_once.h"
#include "http_client.h"
#include "http_private.h"
#include "lazy/http/http_servers.h"
#include "tls_made.h"

static char good[SCRATCH_B + 8], bad[SCRATCH_B + 8];

static int
set_up_tls(void **state)
{
	if (set_up(state) != 0)
		return -1;
	snprintf(good, sizeof(good), "%s/good", dir);
	snprintf(bad, sizeof(bad), "%s/bad", dir);
	tls_make(good, "IP:127.0.0.1", -1, 1);
	return 0;
}

static int
tear_down_tls(void **state)
{
	unlink(good);
	unlink(bad);
	return tear_down(state);
}

static void
secure(const char *pem, const char *trust)
{
	server_secure(server, pem);
	trusted = trust;
}

/*
 * Checks that a hundred parallel reads are refused, for a reason that contains
 * `says`.
 */
static void
refuses(const char *trust, const char *name, const char *says)
{
	struct client c;
	char why[LAYER_WHY];

	secure(bad, trust);
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, TIMES, -EKEYREJECTED, name);
	http_object_why(c.o, why);
	print_message("%s\n", why);
	assert_non_null(strcasestr(why, says));
	client_close(&c);
}

static void
test_refused(void **state)
{
	(void)state;
	tls_make(bad, "IP:127.0.0.1", -2, -1);
	refuses(bad, "expired", "expired");
	tls_make(bad, "IP:127.0.0.1", 1, 2);
	refuses(bad, "not valid yet", "not yet valid");
	tls_make(bad, "IP:127.0.0.2,DNS:localhost", -1, 1);
	/* "target host name", or since curl 8.10 "target ipv4 address" */
	refuses(bad, "another host", "matches target");
	tls_make(bad, "IP:127.0.0.1", -1, 1);
	refuses(good, "not trusted", "certificate");
}

/*
 * While certificates are being rejected, a read that waits for a connection
 * does not stall: it is refused, too, and only once.
 */
static void
test_refused_slowly(void **state)
{
	struct http_counts n[HTTP_PHASES];
	struct client c;

	(void)state;
	tls_make(bad, "IP:127.0.0.1", -2, -1);
	secure(bad, bad);
	/* a connection is much faster than a stall, but all reads are slower */
	timeout_s = STALL_S;
	server_delay(server, 400);
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, TIMES, -EKEYREJECTED, "expired, slow");
	http_counted(c.h, n);
	assert_int_equal(n[HTTP_READ].retries, 0);
	client_close(&c);
	server_delay(server, 0);
	timeout_s = LONG_S;
}

/* A certificate expires while connections exist, and is renewed. */
static void
test_expires(void **state)
{
	struct client c;
	char both[SCRATCH_B + 8];
	FILE *from, *to;
	int ch;

	(void)state;
	/* the file `both' makes both certificates trusted */
	tls_make(bad, "IP:127.0.0.1", -2, -1);
	snprintf(both, sizeof(both), "%s/both", dir);
	to = fopen(both, "w");
	assert_non_null(to);
	for (int i = 0; i < 2; i++) {
		from = fopen(i == 0 ? good : bad, "r");
		assert_non_null(from);
		while ((ch = getc(from)) != EOF)
			putc(ch, to);
		fclose(from);
	}
	assert_int_equal(fclose(to), 0);
	secure(good, both);
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, CONNECTIONS, 0, "valid");
	secure(bad, both);
	read_all(&c, TIMES, -EKEYREJECTED, "expired meanwhile");
	secure(good, both);
	read_all(&c, CONNECTIONS, 0, "renewed");
	client_close(&c);
	unlink(both);
}

/* A redirect does not lead away from TLS. */
static void
test_demotes(void **state)
{
	struct client c;

	(void)state;
	secure(good, good);
	c = client_open(SERVER_DEMOTES, 1, NULL);
	read_all(&c, CONNECTIONS, -EPROTONOSUPPORT, "redirected to http");
	client_close(&c);
}

/* Reads recover from the same faults as without TLS. */
static void
test_recovery_in_tls(void **state)
{
	secure(good, good);
	test_recovery(state);
}

/* A password is not sent in clear text, whoever asks for it there. */
static void
test_token_in_clear(void **state)
{
	struct client c;
	char why[LAYER_WHY];

	(void)state;
	secure(good, good);
	c = client_open(SERVER_TOKEN, 1, "user:password");
	read_all(&c, CONNECTIONS, -EACCES, "a token server without TLS");
	http_object_why(c.o, why);
	print_message("%s\n", why);
	assert_non_null(strstr(why, "does not use https"));
	client_close(&c);
}

/* If only one side speaks TLS, reads fail. */
static void
test_no_tls(void **state)
{
	struct client c;

	(void)state;
	timeout_s = SHORT_S;
	secure(NULL, good);
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, TIMES, -ETIMEDOUT, "no TLS");
	client_close(&c);
}

static void
test_tls_instead(void **state)
{
	struct client c;

	(void)state;
	timeout_s = SHORT_S;
	secure(good, NULL);
	c = client_open(SERVER_GOOD, 1, NULL);
	read_all(&c, TIMES, -ETIMEDOUT, "TLS instead");
	client_close(&c);
}

/* The URL of the server by this name of it. */
static const char *
url_by(const char *name)
{
	static char url[2][64];
	static int n;

	n = 1 - n;
	snprintf(url[n], sizeof(url[n]), "https://%s:%u/blob", name,
	    server_port(server));
	return url[n];
}

/* Adds what is known of a name: files, or NULL. */
static void
add_server(struct http_servers *all, const char *name, unsigned source,
    const char *ca, const char *cert)
{
	struct http_server s = { .unverified = false };

	if (ca != NULL)
		assert_int_equal(http_server_trust(&s, ca), 0);
	if (cert != NULL)
		assert_int_equal(http_server_show(&s, cert, NULL), 0);
	assert_string_equal(s.why, "");
	assert_int_equal(http_servers_add(all, url_by(name), source, &s), 0);
}

static void
gets(struct http *h, const char *name, const char *kin, int want)
{
	const struct http_manner as = { .kin = kin };
	struct http_document d;
	char why[LAYER_WHY] = "";
	int rc = http_get_as(h, url_by(name), &as, SIZE, &d, why);

	if (rc != want)
		fail_msg("%s: %d, %s", name, rc, why);
	http_document_free(&d);
}

static struct http *
open_with(struct http_servers *all)
{
	const struct http_options o = { .timeout_s = SHORT_S,
		.connections = CONNECTIONS, .servers = all };
	char why[LAYER_WHY];
	struct http *h;

	assert_int_equal(http_open(&h, &o, why), 0);
	return h;
}

/* What one server is shown or trusted with is neither for another. */
static void
test_servers(void **state)
{
	struct http_servers *all = http_servers_new();
	struct http *h;

	(void)state;
	tls_make(bad, "IP:127.0.0.1,DNS:localhost", -1, 1);
	server_set(server, SERVER_GOOD, 1);
	server_secure(server, bad);
	server_demand(server, good);
	add_server(all, "127.0.0.1", 1, bad, good);
	add_server(all, "localhost", 1, bad, NULL);
	h = open_with(all);
	gets(h, "127.0.0.1", NULL, 0);
	gets(h, "localhost", NULL, -EKEYREJECTED);
	/* nor is a connection used after another certificate was shown there */
	gets(h, "127.0.0.1", NULL, 0);
	add_server(all, "127.0.0.1", 0, bad, bad);
	gets(h, "127.0.0.1", NULL, -EKEYREJECTED);
	http_close(h);
	http_servers_free(all);
}

/* A client's certificate is renewed, while connections with the old one exist. */
static void
test_renewed(void **state)
{
	struct http_servers *all = http_servers_new();
	char mine[SCRATCH_B + 8];
	struct http *h;

	(void)state;
	snprintf(mine, sizeof(mine), "%s/mine", dir);
	tls_make(bad, "IP:127.0.0.1,DNS:localhost", -1, 1);
	server_set(server, SERVER_GOOD, 1);
	server_secure(server, bad);
	tls_make(mine, "IP:127.0.0.1", -1, 1);
	server_demand(server, mine);
	add_server(all, "127.0.0.1", 0, bad, mine);
	h = open_with(all);
	gets(h, "127.0.0.1", NULL, 0);
	/* the server trusts only the next one */
	tls_make(good, "IP:127.0.0.1", -1, 1);
	server_secure(server, bad);
	server_demand(server, good);
	assert_int_equal(rename(good, mine), 0);
	gets(h, "127.0.0.1", NULL, 0);
	tls_make(mine, "IP:127.0.0.1", -1, 1);
	gets(h, "127.0.0.1", NULL, -EKEYREJECTED);
	tls_make(good, "IP:127.0.0.1", -1, 1);
	http_close(h);
	http_servers_free(all);
	unlink(mine);
}

/*
 * Gets a document from 127.0.0.1, with some certificates to be shown.  Returns
 * what http_get() does, and the number of retries.
 */
static int
get_showing(const char *const *certs, uint64_t *retries, char why[LAYER_WHY])
{
	const struct http_manner as = { .kin = NULL };
	struct http_server s = { .unverified = false };
	struct http_servers *all = http_servers_new();
	struct http_counts n[HTTP_PHASES];
	struct http_document d;
	struct http *h;
	int rc;

	assert_int_equal(http_server_trust(&s, bad), 0);
	for (; *certs != NULL; certs++)
		assert_int_equal(http_server_show(&s, *certs, NULL), 0);
	assert_string_equal(s.why, "");
	assert_int_equal(http_servers_add(all, url_by("127.0.0.1"), 0, &s), 0);
	h = open_with(all);
	*why = '\0';
	rc = http_get_as(h, url_by("127.0.0.1"), &as, SIZE, &d, why);
	http_document_free(&d);
	http_counted(h, n);
	*retries = n[HTTP_INDEX].retries;
	http_close(h);
	http_servers_free(all);
	return rc;
}

/* Checks that the server refuses the client at once, and the reason. */
static void
is_not_admitted(const char *const *certs, const char *says)
{
	char want[LAYER_WHY], why[LAYER_WHY];
	uint64_t retries;

	snprintf(want, sizeof(want), "127.0.0.1:%u %s", server_port(server),
	    says);
	assert_int_equal(get_showing(certs, &retries, why), -EKEYREJECTED);
	assert_string_equal(why, want);
	assert_int_equal(retries, 0);
}

/* Demands a certificate, with TLS 1.2 or a later version. */
static void
demand(const char *cert, bool old)
{
	server_secure(server, bad);
	server_demand(server, cert);
	if (old)
		server_limit_tls(server);
}

/*
 * A server refuses what it is shown, or wants to be shown something, whichever
 * version of TLS it speaks, and whether or not a reset follows its alert.
 */
static void
test_not_admitted(void **state)
{
	char mine[SCRATCH_B + 8];
	const char *const certs[] = { mine, NULL };

	(void)state;
	snprintf(mine, sizeof(mine), "%s/mine", dir);
	tls_make(bad, "IP:127.0.0.1", -1, 1);
	server_set(server, SERVER_GOOD, 1);
	for (int i = 0; i < 4; i++) {
		tls_make(mine, "IP:127.0.0.1", -1, 1);
		demand(good, i & 2);
		server_reset(server, i & 1 ? SERVER_RESETS_FAILED :
		    SERVER_RESETS_NONE);
		is_not_admitted(certs, "refused the client's certificate "
		    "(unknown CA)");
		is_not_admitted(certs + 1, i & 2 ?
		    "asks for a client's certificate (handshake failure)" :
		    "asks for a client's certificate (certificate required)");
		tls_make(mine, "IP:127.0.0.1", -2, -1);
		demand(mine, i & 2);
		is_not_admitted(certs, "refused the client's certificate "
		    "(certificate expired)");
	}
	unlink(mine);
}

/*
 * Of several certificates, with keys of different types, the one is shown whose
 * issuer, or one further up its chain, the server names; if it names none, the
 * first.
 */
static void
test_chosen(void **state)
{
	enum { COUNT = 5 };
	char path_of[COUNT][SCRATCH_B + 8], why[LAYER_WHY];
	struct tls_subject s = { .names = "IP:127.0.0.1", .from = -1,
		.to = 1 };
	const char *certs[COUNT + 1] = { NULL };
	uint64_t retries;

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		static const char *const names[COUNT] = { "a", "b", "c", "root",
			"between" };

		snprintf(path_of[i], sizeof(path_of[i]), "%s/%s", dir,
		    names[i]);
		s.cn = names[i];
		s.rsa = i == 1;
		s.signer = i == 4 ? path_of[3] : NULL;
		tls_make_as(path_of[i], &s);
	}
	/* the last, whose key is of the same type as the first's */
	s.cn = "leaf";
	s.rsa = false;
	s.signer = path_of[4];
	tls_make_as(path_of[2], &s);
	for (int i = 0; i < 3; i++)
		certs[i] = path_of[i];
	tls_make(bad, "IP:127.0.0.1", -1, 1);
	server_set(server, SERVER_GOOD, 1);
	for (int i = 0; i < 8; i++) {
		/* which is wanted, a, b, the root of c, or what nobody has */
		const char *wanted = i / 2 == 2 ? path_of[3] : i / 2 == 3 ?
		    good : path_of[i / 2];

		demand(wanted, i & 1);
		server_accept(server, wanted);
		if (wanted == good)
			is_not_admitted(certs, i & 1 ?
			    "accepts none of the client's certificates "
			    "(handshake failure)" :
			    "accepts none of the client's certificates "
			    "(certificate required)");
		else if (get_showing(certs, &retries, why) != 0)
			fail_msg("%d: %s", i, why);
		/* the first is shown to who names none */
		demand(wanted, i & 1);
		if (i / 2 != 0)
			is_not_admitted(certs, "accepts none of the client's "
			    "certificates (unknown CA)");
		else if (get_showing(certs, &retries, why) != 0)
			fail_msg("%d, without names: %s", i, why);
	}
	for (int i = 0; i < COUNT; i++)
		unlink(path_of[i]);
}

/* Without an alert, it is not known why; the attempt is repeated. */
static void
test_reset(void **state)
{
	const char *const certs[] = { good, NULL };
	char why[LAYER_WHY];
	uint64_t retries;

	(void)state;
	tls_make(bad, "IP:127.0.0.1", -1, 1);
	server_set(server, SERVER_GOOD, 1);
	server_secure(server, bad);
	server_reset(server, SERVER_RESETS_ALL);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get_showing(certs + i, &retries, why),
		    -ETIMEDOUT);
		print_message("%s\n", why);
		assert_non_null(strstr(why, " reset"));
		assert_non_null(strstr(why, "gave up after 3 s"));
		assert_int_equal(strstr(why, "; it was to be shown a client's "
		    "certificate") != NULL, i == 0);
		assert_true(retries >= 2);
	}
}

/* A server is trusted as the one that names it, if nothing is known of it. */
static void
test_kin(void **state)
{
	struct http_servers *all = http_servers_new();
	struct http *h;

	(void)state;
	tls_make(bad, "IP:127.0.0.1,DNS:localhost", -1, 1);
	server_set(server, SERVER_GOOD, 1);
	server_secure(server, bad);
	add_server(all, "127.0.0.1", 0, bad, NULL);
	h = open_with(all);
	gets(h, "localhost", url_by("127.0.0.1"), 0);
	gets(h, "localhost", NULL, -EKEYREJECTED);
	gets(h, "localhost", url_by("127.0.0.1"), 0);
	add_server(all, "localhost", 0, good, NULL);
	gets(h, "localhost", url_by("127.0.0.1"), -EKEYREJECTED);
	http_close(h);
	http_servers_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_slowly),
		cmocka_unit_test(test_expires),
		cmocka_unit_test(test_demotes),
		RECOVERS(test_recovery_in_tls, SERVER_GOOD, 2, NULL),
		RECOVERS(test_recovery_in_tls, SERVER_DIES, 2, NULL),
		RECOVERS(test_recovery_in_tls, SERVER_SHORT, 2, NULL),
		RECOVERS(test_recovery_in_tls, SERVER_503, 2, NULL),
		RECOVERS(test_recovery_in_tls, SERVER_MOVES, 2, NULL),
		RECOVERS(test_recovery_in_tls, SERVER_GARBAGE, 2, NULL),
		RECOVERS(test_recovery_in_tls, SERVER_BASIC, 1, "user:password"),
		cmocka_unit_test(test_token_in_clear),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_renewed),
		cmocka_unit_test(test_not_admitted),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_kin),
		cmocka_unit_test(test_no_tls),
		cmocka_unit_test(test_tls_instead),
	};

	return at_once(tests, sizeof(tests) / sizeof(*tests), set_up_tls,
	    tear_down_tls);
}

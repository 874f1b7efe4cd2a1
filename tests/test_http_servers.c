/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/http/http_servers.h"

#include "scratch.h"
#include "tls_made.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[SCRATCH_B], one[SCRATCH_B + 8], two[SCRATCH_B + 8],
    path[SCRATCH_B + 8];

static int
set_up(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL)
		return -1;
	snprintf(one, sizeof(one), "%s/one", dir);
	snprintf(two, sizeof(two), "%s/two", dir);
	snprintf(path, sizeof(path), "%s/path", dir);
	tls_make(one, "IP:127.0.0.1", -1, 1);
	tls_make(two, "IP:127.0.0.1", -1, 1);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(one);
	unlink(two);
	unlink(path);
	return rmdir(dir);
}

static void
write_path(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void
is_wrong(struct http_server *s, int rc, const char *want)
{
	assert_int_equal(rc, 0);
	if (strstr(s->why, want) == NULL)
		fail_msg("'%s', not '%s'", s->why, want);
	http_server_free(s);
	*s = (struct http_server){ .unverified = false };
}

static void
files(void **state)
{
	struct http_server s = { .unverified = false };
	char *big;

	(void)state;
	is_wrong(&s, http_server_trust(&s, "/nowhere"), "/nowhere: No such");
	is_wrong(&s, http_server_trust(&s, dir), "Is a directory");
	write_path("");
	is_wrong(&s, http_server_trust(&s, path), "expected a certificate");
	write_path("-----BEGIN CERTIFICATE-----\nAAAA\n"
	    "-----END CERTIFICATE-----\n");
	is_wrong(&s, http_server_trust(&s, path), "a damaged one");
	is_wrong(&s, http_server_show(&s, path, one), "a damaged one");
	is_wrong(&s, http_server_show(&s, one, path), "a private key");
	is_wrong(&s, http_server_show(&s, one, two), "found another");
	is_wrong(&s, http_server_show(&s, one, "/nowhere"), "No such file");
	big = malloc((1 << 20) + 2);
	assert_non_null(big);
	memset(big, '\n', (1 << 20) + 1);
	big[(1 << 20) + 1] = '\0';
	write_path(big);
	free(big);
	is_wrong(&s, http_server_trust(&s, path), "File too large");
	/* the first reason stays */
	assert_int_equal(http_server_trust(&s, "/nowhere"), 0);
	is_wrong(&s, http_server_trust(&s, path), "/nowhere");

	/* nothing is shown of what cannot be read */
	assert_int_equal(http_server_show(&s, "/nowhere", one), 0);
	assert_int_equal(s.shown_count, 0);
	is_wrong(&s, http_server_show(&s, one, "/nowhere"), "/nowhere");
	assert_int_equal(http_server_show(&s, one, "/nowhere"), 0);
	assert_int_equal(s.shown_count, 0);
	http_server_free(&s);
	*s.why = '\0';

	assert_int_equal(http_server_show(&s, one, one), 0);
	assert_string_equal(s.why, "");
	is_wrong(&s, http_server_show(&s, two, "/nowhere"), "No such file");
}

static void
read_both(char text[2][4096], size_t len[2])
{
	for (int i = 0; i < 2; i++) {
		FILE *f = fopen(i == 0 ? one : two, "r");

		assert_non_null(f);
		len[i] = fread(text[i], 1, sizeof(text[i]), f);
		fclose(f);
	}
}

/* Of the client's certificates, all are known, and the key of the first. */
static void
several(void **state)
{
	struct http_server s = { .unverified = false };
	char text[2][4096];
	size_t len[2];

	(void)state;
	read_both(text, len);
	assert_int_equal(http_server_show(&s, one, NULL), 0);
	assert_int_equal(http_server_show(&s, two, two), 0);
	assert_string_equal(s.why, "");
	assert_int_equal(s.shown_count, 2);
	assert_int_equal(s.cert.len, len[0] + 1 + len[1]);
	assert_memory_equal(s.cert.data, text[0], len[0]);
	assert_memory_equal(s.cert.data + len[0] + 1, text[1], len[1]);
	assert_int_equal(s.key.len, len[0]);
	assert_memory_equal(s.key.data, text[0], len[0]);
	http_server_free(&s);
	assert_int_equal(s.shown_count, 0);
}

static void
refuses_field(const char *name, const char *value)
{
	struct http_server s = { .unverified = false };
	char why[LAYER_WHY] = "";

	assert_int_equal(http_server_field(&s, name, value, why), -EINVAL);
	assert_memory_equal(why, "expected", 8);
	assert_int_equal(s.fields.len, 0);
}

/* All fields together have 64 KiB, of names and values. */
static void
many_fields(void **state)
{
	struct http_server s = { .unverified = false };
	char why[LAYER_WHY], *value = calloc(1, (64 << 10) + 1);

	(void)state;
	assert_non_null(value);
	memset(value, 'v', 64 << 10);
	assert_int_equal(http_server_field(&s, "n", value, why), -EINVAL);
	assert_non_null(strstr(why, "at most 64 KiB"));
	value[(64 << 10) - 1] = '\0';
	assert_int_equal(http_server_field(&s, "n", value, why), 0);
	assert_int_equal(http_server_field(&s, "m", "", why), -EINVAL);
	http_server_free(&s);
	s = (struct http_server){ .unverified = false };
	/* what separates them counts, too */
	value[100] = '\0';
	assert_int_equal(http_server_field(&s, "n", value, why), 0);
	memset(value, 'v', 64 << 10);
	value[(64 << 10) - 104 - 1] = '\0';
	assert_int_equal(http_server_field(&s, "n", value, why), 0);
	http_server_free(&s);
	free(value);
}

static void
fields(void **state)
{
	static const char want[] = "a-b: c d\0x;\0y;\0a-b: \xc3\xa9\t1";
	struct http_server s = { .unverified = false };
	char why[LAYER_WHY], *big;

	(void)state;
	assert_int_equal(http_server_field(&s, "a-b", "c d", why), 0);
	assert_int_equal(http_server_field(&s, "x", "", why), 0);
	assert_int_equal(http_server_field(&s, "y", " \t", why), 0);
	assert_int_equal(http_server_field(&s, "a-b", "\xc3\xa9\t1", why), 0);
	assert_int_equal(s.fields.len, sizeof(want));
	assert_memory_equal(s.fields.data, want, sizeof(want));
	http_server_free(&s);
	refuses_field("", "x");
	refuses_field("a:", "x");
	refuses_field("a b", "x");
	refuses_field("a\r\nb", "x");
	refuses_field("a", "x\r\nHost: y");
	refuses_field("a", "x\n");
	refuses_field("a", "\x7f");
	big = malloc((64 << 10) + 1);
	assert_non_null(big);
	memset(big, 'x', 64 << 10);
	big[64 << 10] = '\0';
	refuses_field("a", big);
	free(big);
}

/* What is said of a server in these tests is a header field. */
static void
add(struct http_servers *all, const char *url, unsigned source,
    const char *name, bool unverified)
{
	struct http_server s = { .unverified = unverified };
	char why[LAYER_WHY];

	if (name != NULL)
		assert_int_equal(http_server_field(&s, name, "1", why), 0);
	assert_int_equal(http_servers_add(all, url, source, &s), 0);
	assert_null(s.fields.data);
}

/* Is it what is known of the URL's server? */
static bool
known(struct http_servers *all, const char *url, const char *field)
{
	struct http_server *s = http_servers_find(all, url);
	bool is = s == NULL || s->fields.len == 0 ? field == NULL :
	    field != NULL && *s->why == '\0' &&
	    strcmp(s->fields.data, field) == 0;

	http_server_release(s);
	return is;
}

/* Is this a part of why its URL's server cannot be reached? */
static void
cannot(struct http_servers *all, const char *url, const char *why)
{
	struct http_server *s = http_servers_find(all, url);

	assert_non_null(s);
	if (*why == '\0' ? *s->why != '\0' : strstr(s->why, why) == NULL)
		fail_msg("'%s', not '%s'", s->why, why);
	http_server_release(s);
}

static void
servers(void **state)
{
	struct http_servers *all = http_servers_new();
	struct http_server s = { .unverified = false };

	(void)state;
	assert_null(http_servers_find(NULL, "https://a.org"));
	add(all, "https://a.org", 1, "a", false);
	add(all, "https://a.org:5000/v2", 1, "b", false);
	add(all, "http://a.org/x", 1, "c", false);
	assert_true(known(all, "https://a.org:443/y", "a: 1"));
	assert_true(known(all, "https://a.org:5000", "b: 1"));
	assert_true(known(all, "http://a.org:80", "c: 1"));
	assert_true(known(all, "https://a.org:80", NULL));
	assert_true(known(all, "https://b.org", NULL));
	assert_true(known(all, "nothing", NULL));
	assert_int_equal(http_servers_add(all, "ftp://a.org", 1, &s), -EINVAL);
	/* sources */
	add(all, "https://a.org", 2, "d", false);
	assert_true(known(all, "https://a.org", "a: 1"));
	add(all, "https://a.org", 0, "e", false);
	assert_true(known(all, "https://a.org", "e: 1"));
	add(all, "https://n.org", 0, NULL, false);
	add(all, "https://n.org", 3, "f", false);
	assert_true(known(all, "https://n.org", "f: 1"));
	/* the same source */
	add(all, "https://a.org", 0, "e", false);
	add(all, "https://a.org", 0, NULL, false);
	assert_true(known(all, "https://a.org", "e: 1"));
	add(all, "https://a.org", 0, "g", false);
	cannot(all, "https://a.org",
	    "differ in what they say of https://a.org:443");
	http_servers_free(all);
}

/* A certificate is verified unless all agree. */
static void
unverified(void **state)
{
	struct http_servers *all = http_servers_new();
	struct http_server *s;

	(void)state;
	for (int i = 0; i < 4; i++) {
		char url[32];

		snprintf(url, sizeof(url), "https://%d.org", i);
		add(all, url, 0, NULL, i & 1);
		add(all, url, 0, NULL, i & 2);
		/* another source has nothing to say */
		add(all, url, 1, NULL, true);
		s = http_servers_find(all, url);
		assert_int_equal(s->unverified, i == 3);
		http_server_release(s);
	}
	http_servers_free(all);
}

static void
others(void **state)
{
	struct http_servers *all = http_servers_new();

	(void)state;
	assert_int_equal(http_servers_other(all, "https://a.org"), 0);
	assert_true(known(all, "https://a.org", NULL));
	add(all, NULL, 0, "other", false);
	add(all, "https://b.org", 0, "own", false);
	assert_true(known(all, "https://a.org", NULL));
	for (int i = 0; i < 2; i++)
		assert_int_equal(http_servers_other(all, "https://a.org/v2"),
		    0);
	assert_int_equal(http_servers_other(all, "https://b.org/v2"), 0);
	assert_true(known(all, "https://a.org", "other: 1"));
	assert_true(known(all, "https://b.org", "own: 1"));
	assert_true(known(all, "https://c.org", NULL));
	assert_int_equal(http_servers_other(all, "c.org"), -EINVAL);
	http_servers_free(all);
}

/* What one server is trusted with is added to what all are. */
static void
trust(void **state)
{
	struct http_servers *all = http_servers_new();
	struct http_server s = { .unverified = false }, *found;
	char text[2][4096];
	size_t len[2];

	(void)state;
	read_both(text, len);
	http_servers_trust(all, "/nowhere");
	http_servers_trust(all, NULL);
	http_servers_trust(all, two);
	assert_int_equal(http_server_trust(&s, one), 0);
	assert_int_equal(http_servers_add(all, "https://a.org", 0, &s), 0);
	add(all, "https://b.org", 0, NULL, false);
	for (int i = 0; i < 2; i++) {
		const struct strbuf *b;

		found = http_servers_find(all, "https://a.org");
		b = &found->trusted;
		assert_int_equal(b->len, len[0] + 1 + len[1]);
		assert_memory_equal(b->data, text[0], len[0]);
		assert_memory_equal(b->data + len[0] + 1, text[1], len[1]);
		http_server_release(found);
	}
	found = http_servers_find(all, "https://b.org");
	assert_int_equal(found->trusted.len, 0);
	http_server_release(found);
	http_servers_free(all);
}

/* Copies a file over another, as a program that renews certificates does. */
static void
renew(const char *to, const char *from)
{
	char text[8192];
	FILE *f = fopen(from, "r"), *t = fopen(path, "w");
	size_t n;

	assert_non_null(f);
	assert_non_null(t);
	n = fread(text, 1, sizeof(text), f);
	assert_int_equal(fwrite(text, 1, n, t), n);
	fclose(f);
	assert_int_equal(fclose(t), 0);
	assert_int_equal(rename(path, to), 0);
}

/* Is the client's certificate for a.org that in this file, with its key? */
static void
shows(struct http_servers *all, const char *file)
{
	struct http_server *s = http_servers_find(all, "https://a.org");
	char text[8192] = "";
	FILE *f = fopen(file, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	assert_non_null(s);
	assert_string_equal(s->why, "");
	assert_int_equal(s->cert.len, n);
	assert_memory_equal(s->cert.data, text, n);
	assert_int_equal(s->key.len, n);
	assert_memory_equal(s->key.data, text, n);
	assert_string_equal(s->fields.data, "kept: 1");
	http_server_release(s);
}

static void
count_path(void *arg, const char *name)
{
	unsigned *n = arg;

	(*n)++;
	assert_non_null(strchr(name, '/'));
}

/*
 * What is in the files is read again when they have changed, but only when it can
 * be used; who holds what was read before is not disturbed.
 */
static void
renewed(void **state)
{
	struct http_servers *all = http_servers_new();
	struct http_server s = { .unverified = false }, *held;
	char cert[SCRATCH_B + 8], key[SCRATCH_B + 8], why[LAYER_WHY];
	unsigned n = 0;
	size_t len;

	(void)state;
	snprintf(cert, sizeof(cert), "%s/cert", dir);
	snprintf(key, sizeof(key), "%s/key", dir);
	renew(cert, one);
	renew(key, one);
	assert_int_equal(http_server_field(&s, "kept", "1", why), 0);
	assert_int_equal(http_server_trust(&s, two), 0);
	assert_int_equal(http_server_show(&s, cert, key), 0);
	assert_int_equal(http_servers_add(all, "https://a.org", 0, &s), 0);
	http_servers_files(all, count_path, &n);
	assert_int_equal(n, 3);
	shows(all, one);
	held = http_servers_find(all, "https://a.org");
	len = held->trusted.len;
	assert_int_equal(http_servers_other(all, "https://b.org"), 0);

	/* a key that does not belong to the certificate yet */
	renew(cert, two);
	shows(all, one);
	renew(key, two);
	shows(all, two);
	/* nothing is lost with the files */
	unlink(cert);
	shows(all, two);
	write_path("-----BEGIN CERTIFICATE-----\n");
	assert_int_equal(rename(path, cert), 0);
	shows(all, two);
	renew(cert, one);
	shows(all, two);
	renew(key, one);
	shows(all, one);
	assert_int_equal(held->trusted.len, len);
	http_server_release(held);

	/* what could not be used at first */
	unlink(cert);
	assert_int_equal(http_server_show(&s, cert, key), 0);
	assert_int_equal(http_servers_add(all, "https://c.org", 0, &s), 0);
	cannot(all, "https://c.org", "cert: No such file");
	renew(cert, two);
	cannot(all, "https://c.org", "expected the key of");
	renew(key, two);
	cannot(all, "https://c.org", "");
	unlink(cert);
	unlink(key);
	http_servers_free(all);
}

/* What several hosts.toml say is read again as well, if they do not differ. */
static void
renewed_together(void **state)
{
	static const char url[] = "https://a.org";
	struct http_servers *all = http_servers_new();
	struct http_server s = { .unverified = false };
	char ca[SCRATCH_B + 8], cert[SCRATCH_B + 8];
	struct http_server *found;

	(void)state;
	snprintf(ca, sizeof(ca), "%s/ca", dir);
	snprintf(cert, sizeof(cert), "%s/cert", dir);
	renew(ca, one);
	renew(cert, one);
	assert_int_equal(http_server_trust(&s, ca), 0);
	assert_int_equal(http_servers_add(all, url, 0, &s), 0);
	assert_int_equal(http_server_trust(&s, one), 0);
	assert_int_equal(http_server_show(&s, cert, NULL), 0);
	assert_int_equal(http_servers_add(all, url, 0, &s), 0);
	found = http_servers_find(all, url);
	assert_int_equal(found->shown_count, 1);
	http_server_release(found);
	renew(ca, two);
	renew(cert, two);
	for (int i = 0; i < 2; i++) {
		found = http_servers_find(all, url);
		assert_string_equal(found->why, "");
		/* a newline ends the file */
		assert_int_equal(found->ca.len, found->cert.len + 1);
		assert_memory_equal(found->ca.data, found->cert.data,
		    found->cert.len);
		http_server_release(found);
		renew(ca, one);
		renew(cert, one);
	}
	/* now they do */
	assert_int_equal(http_server_trust(&s, two), 0);
	assert_int_equal(http_servers_add(all, url, 0, &s), 0);
	cannot(all, url, "differ in what they say of");
	renew(ca, two);
	cannot(all, url, "differ in what they say of");
	unlink(ca);
	unlink(cert);
	http_servers_free(all);
}

/* All that is known is replaced at once. */
static void
replaced(void **state)
{
	struct http_servers *all = http_servers_new(), *by;
	struct http_server *held, *s;
	char why[LAYER_WHY];

	(void)state;
	add(all, "https://a.org", 1, "a", true);
	add(all, "https://b.org", 1, "b", true);
	add(all, "https://c.org", 0, "c", false);
	add(all, NULL, 0, "other", false);
	assert_int_equal(http_servers_other(all, "https://o.org"), 0);
	assert_int_equal(http_servers_other(all, "https://p.org"), 0);
	held = http_servers_find(all, "https://a.org");
	atomic_store(&held->told, true);

	by = http_servers_new();
	add(by, "https://a.org", 2, "new", true);
	add(by, "https://n.org", 2, "n", false);
	add(by, "https://o.org", 2, "o", false);
	http_servers_replace(all, by, why);
	http_servers_free(by);
	assert_string_equal(why, "");
	assert_string_equal(held->fields.data, "a: 1");
	http_server_release(held);
	assert_true(known(all, "https://a.org", "new: 1"));
	assert_true(known(all, "https://n.org", "n: 1"));
	assert_true(known(all, "https://o.org", "o: 1"));
	/* who has been warned need not be again */
	s = http_servers_find(all, "https://a.org");
	assert_true(s->told);
	http_server_release(s);

	/* what is not said any more is known until somebody asks anew */
	assert_true(known(all, "https://b.org", "b: 1"));
	assert_true(known(all, "https://c.org", "c: 1"));
	assert_true(known(all, "https://p.org", "other: 1"));
	http_servers_forget(NULL, "https://b.org");
	http_servers_forget(all, "b.org");
	http_servers_forget(all, "https://b.org/v2/x");
	http_servers_forget(all, "https://a.org");
	assert_true(known(all, "https://b.org", NULL));
	assert_true(known(all, "https://c.org", "c: 1"));
	assert_true(known(all, "https://a.org", "new: 1"));
	assert_int_equal(http_servers_other(all, "https://p.org"), 0);
	assert_true(known(all, "https://p.org", NULL));
	http_servers_free(all);
}

/* Returns what says of a.org that it is shown what is in a file. */
static struct http_servers *
shown_by(const char *cert, const char *key)
{
	struct http_servers *all = http_servers_new();
	struct http_server s = { .unverified = false };
	char why[LAYER_WHY];

	assert_int_equal(http_server_field(&s, "kept", "1", why), 0);
	assert_int_equal(http_server_show(&s, cert, key), 0);
	assert_int_equal(http_servers_add(all, "https://a.org", 0, &s), 0);
	return all;
}

/* A certificate that cannot be used does not replace one that can. */
static void
replaced_later(void **state)
{
	struct http_servers *all = shown_by(one, NULL), *by;
	char cert[SCRATCH_B + 8], why[LAYER_WHY];

	(void)state;
	snprintf(cert, sizeof(cert), "%s/cert", dir);
	for (int i = 0; i < 2; i++) {
		by = shown_by(cert, NULL);
		http_servers_replace(all, by, why);
		http_servers_free(by);
		assert_non_null(strstr(why, "cert: No such file"));
		shows(all, one);
	}
	renew(cert, two);
	shows(all, two);
	renew(cert, one);
	shows(all, one);
	/* what cannot be used either is replaced */
	unlink(cert);
	http_servers_free(all);
	all = shown_by(cert, NULL);
	by = shown_by("/nowhere", NULL);
	http_servers_replace(all, by, why);
	http_servers_free(by);
	assert_string_equal(why, "");
	cannot(all, "https://a.org", "/nowhere: No such file");
	http_servers_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files),
		cmocka_unit_test(several),
		cmocka_unit_test(fields),
		cmocka_unit_test(many_fields),
		cmocka_unit_test(servers),
		cmocka_unit_test(unverified),
		cmocka_unit_test(others),
		cmocka_unit_test(trust),
		cmocka_unit_test(renewed),
		cmocka_unit_test(renewed_together),
		cmocka_unit_test(replaced),
		cmocka_unit_test(replaced_later),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/*
 * test_registries_refused.c - what is configured of registries, read while calls
 * are refused
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each allocation and each call of the system fails in turn.  What was refused
 * is reported with a reason, or makes no difference; and what has been read
 * before is still used.
 */
#include "suffers.h"

#include "scratch.h"
#include "tls_made.h"

#include "lazy/http/http_servers.h"
#include "lazy/vfs/vfs_registries.h"

enum { LONG = 300 << 10 };		/* fills a chunk of an arena */

#define CERTS "home/.config/containers/certs.d/"

static char dir[SCRATCH_B];

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void
make_dirs(const char *path)
{
	char part[256];

	for (const char *s = strchr(path, '/'); s != NULL;
	    s = strchr(s + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(s - path), path);
		if (mkdir(part, 0755) != 0)
			assert_int_equal(errno, EEXIST);
	}
}

/* What was read */

/* Takes where images are.  Returns 0 or an error that there is a reason for. */
static int
take_places(struct vfs_registries *r)
{
	static const char *const hosts[] = { "a.org", "b.org", "docker.io",
		"certs.org", "other.org" };
	char at[VFS_ENDPOINTS][VFS_BASE], base[64], why[LAYER_WHY];

	for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
		int n;

		snprintf(base, sizeof(base), "https://%s/v2/x", hosts[i]);
		n = vfs_registries_find(r, hosts[i], base, "1", at, why);
		if (n < 0 && n != -EACCES)
			return explained(n, why);
		for (int k = 0; k < n; k++)
			take_text(at[k]);
		take_text(why);
	}
	return 0;
}

static void
take_bytes(const struct strbuf *b)
{
	take_number(b->len);
	take(b->data, b->len);
}

static void
take_server(struct vfs_registries *r, const char *url)
{
	struct http_server *s = http_servers_find(vfs_registries_servers(r),
	    url);

	if (s == NULL)
		return;
	take_bytes(&s->ca);
	take_bytes(&s->cert);
	take_bytes(&s->key);
	take_bytes(&s->fields);
	take_bytes(&s->trusted);
	take_number(s->shown_count);
	take_number(s->unverified);
	take_text(s->why);
	got.warned |= *s->why != '\0';
	http_server_release(s);
}

/* One of the files that are read again. */
static void
take_path(void *arg, const char *path)
{
	(void)arg;
	take_text(path);
}

static int
take_all(struct vfs_registries *r)
{
	int rc = take_places(r);

	take_server(r, "https://docker.io");
	take_server(r, "https://registry-1.docker.io");
	take_server(r, "https://m.org");
	take_server(r, "https://certs.org");
	take_server(r, "https://user.org");
	take_server(r, "https://other.org");
	http_servers_files(vfs_registries_servers(r), take_path, NULL);
	return rc;
}

static int
read_all(void)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];
	int rc = explained(vfs_registries_of_user(&r, "conf", "hosts", why),
	    why);

	if (rc == 0)
		rc = take_all(r);
	vfs_registries_free(r);
	return rc;
}

/* Files and folders, each alone. */
static int
read_apart(void)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];
	int rc = vfs_registries_read(&r, "conf", true, why);

	if (rc == 0)
		rc = take_all(r);
	vfs_registries_free(r);
	r = NULL;
	if (rc == 0)
		rc = vfs_registries_read_hosts(&r, "hosts", why);
	if (rc == 0)
		rc = take_all(r);
	vfs_registries_free(r);
	return rc;
}

/* Long texts, each of which needs memory of its own, as does what follows it */

static void
check_file(void *arg, const char *path)
{
	(void)arg;
	assert_non_null(path);
}

static int
read_long(void)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];
	int rc = explained(vfs_registries_of_user(&r, "long", "hosts.long",
	    why), why);

	if (rc == 0) {
		vfs_registries_files(r, check_file, NULL);
		rc = take_places(r);
	}
	vfs_registries_free(r);
	return rc;
}

/* Reading again */

/* What a test does beside what it tests is not refused. */
static void
refuse_nothing(void)
{
	assert_true(fault_plan(""));
}

static void
refuse_again(void)
{
	assert_true(fault_plan(suffers_run.call));
}

static const char old_conf[] = "[[registry]]\nlocation = 'a.org'\n",
    new_conf[] = "[[registry]]\nlocation = 'a.org'\n"
    "[[registry.mirror]]\nlocation = 'm.org'\n";

/* Is what was read before still there, after this reason? */
static int
check_old(struct vfs_registries *r, const char *why)
{
	char at[VFS_ENDPOINTS][VFS_BASE], none[LAYER_WHY];

	if (*why == '\0')
		fail_msg("%s: it is not said why", suffers_run.call);
	assert_int_equal(vfs_registries_find(r, "a.org", "https://a.org/v2/x",
	    "1", at, none), 1);
	assert_string_equal(at[0], "https://a.org/v2/x");
	/* the next time, it is read */
	vfs_registries_refresh(r, none);
	assert_string_equal(none, "");
	assert_int_equal(vfs_registries_version(r), 1);
	assert_int_equal(vfs_registries_find(r, "a.org", "https://a.org/v2/x",
	    "1", at, none), 2);
	return strstr(why, strerror(ENOMEM)) != NULL ? -ENOMEM : -EIO;
}

static int
read_again(void)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];
	int rc = 0;

	refuse_nothing();
	write_file("changing", old_conf);
	assert_int_equal(vfs_registries_of_user(&r, "changing", "hosts", why),
	    0);
	write_file("changing", new_conf);
	refuse_again();
	vfs_registries_refresh(r, why);
	got.warned = *why != '\0';
	if (vfs_registries_version(r) == 0) {
		refuse_nothing();
		rc = check_old(r, why);
	} else {
		rc = take_all(r);
	}
	vfs_registries_free(r);
	return rc;
}

/* Whether it has the certificate that is in this file. */
static bool
has_file(const struct http_server *s, const char *path)
{
	static char text[8192];
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return s->ca.len == n + 1 && memcmp(s->ca.data, text, n) == 0 &&
	    s->shown_count == 1 && s->cert.len == n &&
	    memcmp(s->cert.data, text, n) == 0;
}

static void
renew(const char *from)
{
	static const char *const names[] = { CERTS "user.org/x.crt",
		CERTS "user.org/y.cert", CERTS "user.org/y.key" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		unlink(names[i]);
		assert_int_equal(link(from, names[i]), 0);
	}
}

/* The server has either what its files contain, or what they contained. */
static int
find_renewed(void)
{
	struct vfs_registries *r = NULL;
	struct http_server *s;
	char why[LAYER_WHY];

	refuse_nothing();
	renew("one.pem");
	assert_int_equal(vfs_registries_of_user(&r, "changing", NULL, why), 0);
	renew("two.pem");
	refuse_again();
	s = http_servers_find(vfs_registries_servers(r), "https://user.org");
	assert_non_null(s);
	if (has_file(s, "one.pem"))
		got.warned = true;
	else if (!has_file(s, "two.pem"))
		fail_msg("%s: it has neither", suffers_run.call);
	if (*s->why != '\0' && strcmp(s->why, strerror(ENOMEM)) != 0)
		fail_msg("%s: %s", suffers_run.call, s->why);
	got.warned |= *s->why != '\0';
	take_bytes(&s->trusted);
	http_server_release(s);
	/* the next time, it is read */
	if (*suffers_run.call != '\0')
		refuse_nothing();
	s = http_servers_find(vfs_registries_servers(r), "https://user.org");
	assert_true(has_file(s, "two.pem"));
	http_server_release(s);
	vfs_registries_free(r);
	return 0;
}

/* The tests */

static void
first(void **state)
{
	(void)state;
	suffers_run.first = 1000;
	SUFFERS(read_all);
	SUFFERS(read_apart);
}

static void
lengths(void **state)
{
	(void)state;
	SUFFERS(read_long);
}

static void
again(void **state)
{
	(void)state;
	SUFFERS(read_again);
	SUFFERS(find_renewed);
}

/* What is configured */

static void
put_short(void)
{
	write_file("conf", "[[registry]]\nlocation = 'a.org'\n"
	    "[[registry.mirror]]\nlocation = 'm.org'\ninsecure = true\n"
	    "pull-from-mirror = 'all'\n"
	    "[[registry]]\nprefix = 'b.org'\nlocation = 'c.org'\n"
	    "blocked = true\n");
	make_dirs("conf.d/");
	write_file("conf.d/1.conf", "[[registry]]\nlocation = 'b.org'\n"
	    "mirror-by-digest-only = false\n"
	    "[[registry.mirror]]\nlocation = 'n.org'\n");
	make_dirs("hosts/docker.io/");
	write_file("hosts/docker.io/hosts.toml",
	    "server = 'https://registry-1.docker.io'\n"
	    "ca = ['../../one.pem', '../../two.pem']\nclient = '../../one.pem'\n"
	    "header.u = ['v', 'w']\n"
	    "[host.'https://m.org']\ncapabilities = ['pull', 'resolve']\n"
	    "client = [['../../one.pem', ''], "
	    "['../../two.pem', '../../two.pem']]\nheader.x = 'y'\n"
	    "[host.'https://n.org']\nheader.first = 'z'\nskip_verify = true\n"
	    "override_path = true\n");
	make_dirs("hosts/certs.org/");
	assert_int_equal(link("one.pem", "hosts/certs.org/ca.crt"), 0);
	assert_int_equal(link("two.pem", "hosts/certs.org/a.cert"), 0);
	assert_int_equal(link("two.pem", "hosts/certs.org/a.key"), 0);
	make_dirs("hosts/_default/");
	write_file("hosts/_default/hosts.toml", "ca = '../../one.pem'\n");
	make_dirs(CERTS "user.org/");
	renew("one.pem");
}

/* Writes the text with each '$' replaced by a long one. */
static void
put_long(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (; *text != '\0'; text++) {
		if (*text != '$')
			putc(*text, f);
		for (int i = 0; *text == '$' && i < LONG; i++)
			putc('l', f);
	}
	assert_int_equal(fclose(f), 0);
}

static void
put_all_long(void)
{
	put_long("long", "[[registry]]\nprefix = 'z.org'\nlocation = '$'\n"
	    "[[registry]]\nprefix = '$'\nlocation = 'a.org'\n");
	make_dirs("long.d/");
	put_long("long.d/1.conf", "[[registry]]\nprefix = '$'\n"
	    "[[registry.mirror]]\nlocation = 'm.org/$'\n");
	put_long("long.d/2.conf", "[[registry]]\nlocation = 'https://$'\n");
	make_dirs("hosts.long/s.org/");
	put_long("hosts.long/s.org/hosts.toml",
	    "server = 'https://s.org/$'\n");
	make_dirs("hosts.long/m.org/");
	put_long("hosts.long/m.org/hosts.toml", "[host.'https://m.org/$']\n"
	    "capabilities = ['pull']\n");
	make_dirs("hosts.long/p.org/");
	put_long("hosts.long/p.org/hosts.toml",
	    "ca = '$'\nclient = ['$', 'x']\n");
	make_dirs("hosts.long/q.org/");
}

static int
begin_all(void **state)
{
	char home[SCRATCH_B + 8];

	(void)state;
	assert_true(fault_plan(""));
	if (scratch_enter(dir) != 0)
		return 1;
	snprintf(home, sizeof(home), "%s/home", dir);
	assert_int_equal(setenv("HOME", home, 1), 0);
	assert_int_equal(unsetenv("CONTAINERS_REGISTRIES_CONF"), 0);
	tls_make("one.pem", "IP:127.0.0.1", -1, 1);
	tls_make("two.pem", "IP:127.0.0.1", -1, 1);
	put_short();
	put_all_long();
	return 0;
}

static int
end_all(void **state)
{
	(void)state;
	return scratch_leave(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first),
		cmocka_unit_test(lengths),
		cmocka_unit_test(again),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}

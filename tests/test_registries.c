/* SPDX-License-Identifier: BSD-2-Clause */
#include "lazy/vfs/vfs_registries.h"

#include "lazy/http/http_servers.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* The places of HOST/NAME, one behind the other. */
static const char *
found(struct vfs_registries *r, const char *host, const char *name,
    const char *reference)
{
	static char all[VFS_ENDPOINTS * VFS_BASE];
	char at[VFS_ENDPOINTS][VFS_BASE], base[VFS_BASE], why[LAYER_WHY];
	int n;

	snprintf(base, sizeof(base), "https://%s/v2/%s", host, name);
	n = vfs_registries_find(r, host, base, reference, at, why);
	*all = '\0';
	for (int i = 0; i < n; i++) {
		if (i > 0)
			strcat(all, " ");
		strcat(all, at[i]);
	}
	if (n < 0)
		snprintf(all, sizeof(all), "%d %.200s", -n, why);
	return all;
}

static void
none(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];

	(void)state;
	assert_string_equal(found(NULL, "a.org", "x/y", "latest"),
	    "https://a.org/v2/x/y");
	assert_int_equal(vfs_registries_read(&r, "missing", false, why), 0);
	assert_string_equal(found(r, "a.org", "x/y", "latest"),
	    "https://a.org/v2/x/y");
	assert_int_equal(vfs_registries_read(&r, "missing", true, why),
	    -ENOENT);
	assert_string_equal(why, "missing: No such file or directory");
	vfs_registries_free(r);
}

static void
mirrors(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];

	(void)state;
	write_file("conf", "unqualified-search-registries = ['docker.io']\n"
	    "[[registry]]\nprefix = 'a.org'\nlocation = 'b.org:5000/all'\n"
	    "[[registry.mirror]]\nlocation = 'm.org/cache'\n"
	    "[[registry.mirror]]\nlocation = 'n.org'\ninsecure = true\n"
	    "pull-from-mirror = 'digest-only'\n"
	    "[[registry.mirror]]\nlocation = 'o.org'\n"
	    "pull-from-mirror = 'tag-only'\n"
	    "[[registry]]\nlocation = 'a.org/secret'\nblocked = true\n"
	    "[[registry]]\nprefix = '*.local'\ninsecure = true\n"
	    "[[registry]]\nprefix = 'd.org'\nmirror-by-digest-only = true\n"
	    "[[registry.mirror]]\nlocation = 'm.org'\n"
	    "pull-from-mirror = 'all'\n");
	assert_int_equal(vfs_registries_read(&r, "conf", true, why), 0);
	assert_string_equal(found(r, "a.org", "x/y", "latest"),
	    "https://m.org/v2/cache/x/y https://o.org/v2/x/y "
	    "https://b.org:5000/v2/all/x/y");
	assert_string_equal(found(r, "a.org", "x/y", "sha256:00"),
	    "https://m.org/v2/cache/x/y http://n.org/v2/x/y "
	    "https://b.org:5000/v2/all/x/y");
	/* the longest prefix counts, and ends where a part of the path does */
	assert_string_equal(found(r, "a.org", "secret/y", "1"),
	    "13 the registry a.org/secret is blocked");
	assert_string_equal(found(r, "a.org", "secrets", "1"),
	    "https://m.org/v2/cache/secrets https://o.org/v2/secrets "
	    "https://b.org:5000/v2/all/secrets");
	assert_string_equal(found(r, "a.org:80", "x", "1"),
	    "https://a.org:80/v2/x");
	assert_string_equal(found(r, "a.orgs", "x", "1"),
	    "https://a.orgs/v2/x");
	assert_string_equal(found(r, "z.local:1", "x", "1"),
	    "http://z.local:1/v2/x");
	assert_string_equal(found(r, "local", "x", "1"), "https://local/v2/x");
	assert_string_equal(found(r, ".local", "x", "1"),
	    "https://.local/v2/x");
	assert_string_equal(found(r, "d.org", "x", "1"), "https://d.org/v2/x");
	assert_string_equal(found(r, "d.org", "x", "sha256:00"),
	    "https://m.org/v2/x https://d.org/v2/x");
	vfs_registries_free(r);
}

/* What comes later replaces what has the same prefix. */
static void
several_files(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];

	(void)state;
	write_file("conf", "[[registry]]\nlocation = 'a.org'\nblocked = true\n"
	    "[[registry]]\nlocation = 'b.org'\nblocked = true\n");
	assert_int_equal(mkdir("conf.d", 0755), 0);
	write_file("conf.d/2.conf", "[[registry]]\nlocation = 'a.org'\n"
	    "[[registry.mirror]]\nlocation = 'two.org'");
	write_file("conf.d/1.conf", "[[registry]]\nlocation = 'a.org'\n"
	    "[[registry.mirror]]\nlocation = 'one.org'");
	write_file("conf.d/three.txt", "[[registry]]\nlocation = 'b.org'");
	assert_int_equal(vfs_registries_read(&r, "conf", true, why), 0);
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://two.org/v2/x https://a.org/v2/x");
	assert_string_equal(found(r, "b.org", "x", "1"),
	    "13 the registry b.org is blocked");
	vfs_registries_free(r);
}

static void
hosts(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];
	struct http_server *s;

	(void)state;
	assert_int_equal(mkdir("certs.d", 0755), 0);
	assert_int_equal(mkdir("certs.d/docker.io", 0755), 0);
	assert_int_equal(mkdir("certs.d/ca.org", 0755), 0);
	assert_int_equal(mkdir("certs.d/_default", 0755), 0);
	assert_int_equal(mkdir("certs.d/m.org", 0755), 0);
	write_file("certs.d/ca.org/ca.crt", "none");
	write_file("certs.d/docker.io/hosts.toml",
	    "server = 'https://registry-1.docker.io'\n"
	    "[host.'https://m.org']\n  capabilities = ['pull', 'resolve']\n"
	    "[host.'http://p.org:5000/']\n  capabilities = ['pull']\n"
	    "  [host.'http://p.org:5000/'.header]\n    x = 'y'\n"
	    "  [host.'http://p.org:5000/'.unknown]\n    z = 'z'\n"
	    "[host.'https://r.org/v2/proxy']\n  override_path = true\n"
	    "[host.'https://s.org/v2']\n  capabilities = ['push']\n"
	    "  skip_verify = true\n");
	write_file("certs.d/_default/hosts.toml",
	    "[host.'https://all.org/v2']\n");
	write_file("conf", "[[registry]]\nlocation = 'docker.io'\n"
	    "blocked = true\n[[registry]]\nlocation = 'm.org'\n"
	    "[[registry.mirror]]\nlocation = 'n.org'\n");
	assert_int_equal(vfs_registries_read(&r, "conf", true, why), 0);
	assert_int_equal(vfs_registries_read_hosts(&r, "certs.d", why), 0);
	assert_string_equal(found(r, "docker.io", "library/x", "1"),
	    "https://m.org/v2/library/x https://r.org/v2/proxy/library/x "
	    "https://registry-1.docker.io/v2/library/x");
	assert_string_equal(found(r, "docker.io", "library/x", "sha256:00"),
	    "https://m.org/v2/library/x http://p.org:5000/v2/library/x "
	    "https://r.org/v2/proxy/library/x "
	    "https://registry-1.docker.io/v2/library/x");
	assert_string_equal(found(r, "b.org", "x", "1"),
	    "https://all.org/v2/x https://b.org/v2/x");
	/* a folder with certificates says that there are no mirrors */
	assert_string_equal(found(r, "ca.org", "x", "1"),
	    "https://ca.org/v2/x");
	assert_string_equal(found(r, "m.org", "x", "1"),
	    "https://n.org/v2/x https://m.org/v2/x");
	assert_string_equal(found(r, ";\r", "x", "1"),
	    "https://all.org/v2/x https://;\r/v2/x");
	/* what is said of a server, in whatever folder */
	s = http_servers_find(vfs_registries_servers(r), "https://ca.org");
	assert_string_equal(s->why, "certs.d/ca.org/ca.crt: expected a "
	    "certificate (PEM), found none");
	http_server_release(s);
	s = http_servers_find(vfs_registries_servers(r),
	    "http://p.org:5000/v2/x");
	assert_string_equal(s->fields.data, "x: y");
	assert_int_equal(s->fields.len, 5);
	http_server_release(s);
	s = http_servers_find(vfs_registries_servers(r), "https://s.org:443");
	assert_true(s->unverified);
	http_server_release(s);
	assert_null(http_servers_find(vfs_registries_servers(r),
	    "https://docker.io"));
	assert_null(vfs_registries_servers(NULL));
	vfs_registries_free(r);
	r = NULL;
	assert_int_equal(vfs_registries_read_hosts(&r, "certs", why), -ENOENT);
	vfs_registries_free(r);
}

static void
refuses(const char *text, const char *want)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];

	write_file("conf", text);
	assert_int_equal(vfs_registries_read(&r, "conf", true, why), -EINVAL);
	assert_string_equal(why, want);
	vfs_registries_free(r);
}

static void
faults(void **state)
{
	struct vfs_registries *r = NULL;
	char many[1024] = "[[registry]]\nlocation = 'a.org'\n", why[LAYER_WHY];

	(void)state;
	refuses("[[registry]\n", "conf: line 1: expected ]]");
	refuses("[[registry]]\n", "conf: a registry has neither a prefix nor a "
	    "location");
	refuses("[registry]\nlocation = 'a.org'\n",
	    "conf: line 1: expected [[registry]] before this");
	refuses("[[registry]]\nlocation = 1\n",
	    "conf: line 2: expected a string");
	refuses("[[registry]]\nlocation = ''\n",
	    "conf: line 2: expected a string");
	refuses("[[registry]]\nblocked = 'yes'\n",
	    "conf: line 2: expected true or false");
	refuses("[[registry]]\nlocation = 'a.org'\n[registry.mirror]\n"
	    "location = 'b.org'\n",
	    "conf: line 4: expected [[registry.mirror]] before this");
	refuses("[[registry]]\nlocation = 'a.org'\n[[registry.mirror]]\n",
	    "conf: a mirror of a.org has no location");
	refuses("[[registry]]\nlocation = 'a.org'\n[[registry.mirror]]\n"
	    "pull-from-mirror = 'never'\n",
	    "conf: line 4: expected all, digest-only or tag-only");
	for (int i = 0; i < 16; i++)
		strcat(many, "[[registry.mirror]]\nlocation = 'm'\n");
	refuses(many, "conf: line 33: expected at most 15 mirrors");
	/* what is no host is found when the image is */
	write_file("conf", "[[registry]]\nprefix = 'e.org'\n"
	    "location = 'user:password@b.org'\n");
	assert_int_equal(vfs_registries_read(&r, "conf", true, why), 0);
	assert_string_equal(found(r, "e.org", "x", "1"), "22 the host contains "
	    "'@'; credentials are given with --authfile or --creds-file");
	vfs_registries_free(r);
	r = NULL;
	if (mkdir("certs.d/bad.org", 0755) != 0)
		skip();
	write_file("certs.d/bad.org/hosts.toml", "server = 'a.org'\n");
	assert_int_equal(vfs_registries_read_hosts(&r, "certs.d", why),
	    -EINVAL);
	assert_non_null(strstr(why, "bad.org/hosts.toml: expected a URL, found "
	    "'a.org'"));
	vfs_registries_free(r);
}

/* Names of as many bytes as fit, and of one more. */
static void
lengths(void **state)
{
	struct vfs_registries *r = NULL;
	char at[VFS_ENDPOINTS][VFS_BASE], why[LAYER_WHY];
	char base[VFS_BASE + 1], text[VFS_BASE + 100], name[VFS_BASE];

	(void)state;
	memset(base, 'x', sizeof(base));
	memcpy(base, "https://a.org/v2/", 17);
	base[VFS_BASE] = '\0';
	assert_int_equal(vfs_registries_find(NULL, "a.org", base, "1", at,
	    why), -EINVAL);
	assert_string_equal(why, "the name is too long");
	base[VFS_BASE - 1] = '\0';
	assert_int_equal(vfs_registries_find(NULL, "a.org", base, "1", at,
	    why), 1);
	assert_string_equal(at[0], base);
	/* what a mirror's name becomes; "https://" and "/v2" are added */
	for (int i = 0; i < 4; i++) {
		bool url = i >= 2, fits = i % 2 == 0;
		size_t own = strlen(url ? "https:///v2/y" : "/y");
		int n;

		memset(name, 'm', sizeof(name));
		name[VFS_BASE - fits - own] = '\0';
		snprintf(text, sizeof(text), "[[registry]]\n"
		    "location = 'a.org'\n[[registry.mirror]]\n"
		    "location = '%s%s'\n", url ? "https://" : "", name);
		write_file("long", text);
		assert_int_equal(vfs_registries_read(&r, "long", true, why),
		    0);
		n = vfs_registries_find(r, "a.org", "https://a.org/v2/y", "1",
		    at, why);
		/* a host cannot be as long without a scheme */
		if (n != (url && fits ? 2 : fits ? -ENAMETOOLONG : -EINVAL))
			fail_msg("%d, %d: %d, %s", url, fits, n, why);
		if (n == 2)
			assert_int_equal(strlen(at[0]), VFS_BASE - 1);
		else if (!fits)
			assert_string_equal(why, "the name of the mirror is "
			    "too long");
		else
			assert_string_not_equal(why, "the name of the mirror "
			    "is too long");
		vfs_registries_free(r);
		r = NULL;
	}
}

/* Writes a file as an editor does, and later than what was read. */
static void
change(const char *path, const char *text)
{
	usleep(20000);
	write_file("changed", text);
	assert_int_equal(rename("changed", path), 0);
}

static void
make_dir(const char *path)
{
	usleep(20000);
	assert_int_equal(mkdir(path, 0755), 0);
}

/* Reads again, for which there must be this version, and a reason or "". */
static void
refresh(struct vfs_registries *r, unsigned version, const char *want)
{
	char why[LAYER_WHY];

	vfs_registries_refresh(r, why);
	if (*want == '\0' ? *why != '\0' : strstr(why, want) == NULL)
		fail_msg("'%s', not '%s'", why, want);
	assert_int_equal(vfs_registries_version(r), version);
	/* it is said once, and read once */
	vfs_registries_refresh(r, why);
	assert_string_equal(why, "");
	assert_int_equal(vfs_registries_version(r), version);
}

/* Is this the first header field for a server, or NULL? */
static bool
has_field(struct vfs_registries *r, const char *url, const char *field)
{
	struct http_server *s = http_servers_find(vfs_registries_servers(r),
	    url);
	bool is = s == NULL || s->fields.len == 0 ? field == NULL :
	    field != NULL && strcmp(s->fields.data, field) == 0;

	http_server_release(s);
	return is;
}

/* Starts with no file of a user or of the system but those in ./home. */
static void
set_home(void)
{
	char home[4096];

	assert_non_null(getcwd(home, sizeof(home) - 8));
	strcat(home, "/home");
	assert_int_equal(setenv("HOME", home, 1), 0);
	assert_int_equal(unsetenv("CONTAINERS_REGISTRIES_CONF"), 0);
}

#define MIRROR(m) "[[registry]]\nlocation = 'a.org'\n"		\
	"[[registry.mirror]]\nlocation = '" m "'\n"

static void
changed_conf(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];

	(void)state;
	set_home();
	vfs_registries_refresh(NULL, why);
	assert_string_equal(why, "");
	assert_int_equal(vfs_registries_version(NULL), 0);
	write_file("again", MIRROR("m.org"));
	assert_int_equal(vfs_registries_of_user(&r, "again", NULL, why), 0);
	refresh(r, 0, "");
	change("again", MIRROR("n.org"));
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://m.org/v2/x https://a.org/v2/x");
	refresh(r, 1, "");
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://n.org/v2/x https://a.org/v2/x");
	/* what is wrong changes nothing, and is said once */
	change("again", MIRROR("o.org") "[[registry");
	refresh(r, 1, "again: line 5: expected");
	refresh(r, 1, "");
	change("again", MIRROR("o.org") "\n[[registry");
	refresh(r, 1, "again: line 6: expected");
	assert_int_equal(unlink("again"), 0);
	refresh(r, 1, "again: No such file");
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://n.org/v2/x https://a.org/v2/x");
	change("again", MIRROR("o.org") "[[registry");
	refresh(r, 1, "again: line 5: expected");
	change("again", MIRROR("o.org"));
	refresh(r, 2, "");
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://o.org/v2/x https://a.org/v2/x");
	/* files that there were not */
	make_dir("again.d");
	refresh(r, 3, "");
	change("again.d/1.conf", MIRROR("p.org"));
	refresh(r, 4, "");
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://p.org/v2/x https://a.org/v2/x");
	vfs_registries_free(r);
}

/* The user's own file is used, and certificates are, when they are there. */
static void
changed_home(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];
	struct http_server *s;

	(void)state;
	set_home();
	assert_int_equal(vfs_registries_of_user(&r, NULL, NULL, why), 0);
	make_dir("home");
	make_dir("home/.config");
	make_dir("home/.config/containers");
	refresh(r, 0, "");
	change("home/.config/containers/registries.conf", MIRROR("m.org"));
	refresh(r, 1, "");
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://m.org/v2/x https://a.org/v2/x");
	make_dir("home/.config/containers/certs.d");
	refresh(r, 2, "");
	make_dir("home/.config/containers/certs.d/m.org");
	refresh(r, 3, "");
	change("home/.config/containers/certs.d/m.org/x.crt", "none");
	refresh(r, 4, "x.crt: expected a certificate");
	s = http_servers_find(vfs_registries_servers(r), "https://m.org");
	assert_string_equal(s->why, "");
	http_server_release(s);
	assert_int_equal(unlink("home/.config/containers/certs.d/m.org/x.crt"),
	    0);
	assert_int_equal(rmdir("home/.config/containers/certs.d/m.org"), 0);
	vfs_registries_free(r);
}

static void
changed_hosts(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY];

	(void)state;
	set_home();
	write_file("none", "");
	make_dir("live");
	make_dir("live/a.org");
	write_file("live/a.org/hosts.toml", "[host.'https://m.org']\n"
	    "header.x = '1'\n[host.'https://k.org']\nheader.x = '2'\n");
	assert_int_equal(vfs_registries_of_user(&r, "none", "live", why), 0);
	assert_string_equal(found(r, "a.org", "x", "1"),
	    "https://m.org/v2/x https://k.org/v2/x https://a.org/v2/x");
	/* a new host, which is given its file later */
	make_dir("live/b.org");
	refresh(r, 1, "");
	assert_string_equal(found(r, "b.org", "x", "1"), "https://b.org/v2/x");
	change("live/b.org/hosts.toml", "[host.'https://n.org']\n"
	    "header.x = '3'\n");
	refresh(r, 2, "");
	assert_string_equal(found(r, "b.org", "x", "1"),
	    "https://n.org/v2/x https://b.org/v2/x");
	assert_true(has_field(r, "https://n.org", "x: 3"));
	/*
	 * transfers may still go to mirrors that are not used any more, but who
	 * looks for an image there gets what is said now: nothing
	 */
	change("live/a.org/hosts.toml", "");
	refresh(r, 3, "");
	assert_true(has_field(r, "https://m.org", "x: 1"));
	assert_true(has_field(r, "https://k.org", "x: 2"));
	assert_string_equal(found(r, "m.org", "x", "1"), "https://m.org/v2/x");
	assert_true(has_field(r, "https://m.org", NULL));
	assert_true(has_field(r, "https://k.org", "x: 2"));
	change("live/a.org/hosts.toml", "[host.'https://m.org']\n"
	    "header.x = ");
	refresh(r, 3, "live/a.org/hosts.toml: line 2: expected");
	assert_true(has_field(r, "https://n.org", "x: 3"));
	vfs_registries_free(r);
}

static _Atomic bool ended;

static void *
look_up(void *arg)
{
	struct vfs_registries *r = arg;
	char at[VFS_ENDPOINTS][VFS_BASE], why[LAYER_WHY];

	while (!ended) {
		vfs_registries_refresh(r, why);
		if (*why != '\0' || vfs_registries_find(r, "a.org",
		    "https://a.org/v2/x", "1", at, why) != 2 ||
		    !has_field(r, at[0], at[0][8] == 'm' ? "x: m" : "x: n"))
			abort();
	}
	return NULL;
}

/* Images are looked up while mirrors change. */
static void
changed_meanwhile(void **state)
{
	struct vfs_registries *r = NULL;
	pthread_t threads[4];
	char why[LAYER_WHY], text[128];

	(void)state;
	set_home();
	write_file("none", "");
	make_dir("busy");
	make_dir("busy/a.org");
	for (int i = 0; i < 40; i++) {
		/* what is not used any more is still known */
		snprintf(text, sizeof(text), "[host.'https://%c.org']\n"
		    "header.x = '%c'\n", "mn"[i % 2], "mn"[i % 2]);
		change("busy/a.org/hosts.toml", text);
		if (i > 0)
			continue;
		assert_int_equal(vfs_registries_of_user(&r, "none", "busy",
		    why), 0);
		for (int k = 0; k < 4; k++)
			assert_int_equal(pthread_create(&threads[k], NULL,
			    look_up, r), 0);
	}
	ended = true;
	for (int k = 0; k < 4; k++)
		pthread_join(threads[k], NULL);
	assert_true(vfs_registries_version(r) > 0);
	vfs_registries_free(r);
}

static void
count_path(void *arg, const char *path)
{
	char *all = arg;

	strcat(strcat(all, " "), path);
}

/* What may be read again is where it is, or will be. */
static void
files(void **state)
{
	struct vfs_registries *r = NULL;
	char why[LAYER_WHY], all[4096] = "";

	(void)state;
	assert_int_equal(setenv("HOME", "/nowhere", 1), 0);
	write_file("none", "");
	make_dir("few");
	make_dir("few/a.org");
	make_dir("few/b.org");
	write_file("few/a.org/hosts.toml", "ca = 'x.pem'\n");
	vfs_registries_files(NULL, count_path, all);
	assert_string_equal(all, "");
	assert_int_equal(vfs_registries_of_user(&r, "none", "few", why), 0);
	vfs_registries_files(r, count_path, all);
	assert_non_null(strstr(all, " none "));
	assert_null(strstr(all, " none.d"));
	assert_non_null(strstr(all, " few "));
	assert_non_null(strstr(all, " few/a.org/hosts.toml"));
	assert_non_null(strstr(all, " few/b.org/hosts.toml"));
	assert_non_null(strstr(all, " few/a.org/x.pem"));
	assert_null(strstr(all, "/nowhere"));
	vfs_registries_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none),
		cmocka_unit_test(mirrors),
		cmocka_unit_test(several_files),
		cmocka_unit_test(hosts),
		cmocka_unit_test(faults),
		cmocka_unit_test(lengths),
		cmocka_unit_test(changed_conf),
		cmocka_unit_test(changed_home),
		cmocka_unit_test(changed_hosts),
		cmocka_unit_test(changed_meanwhile),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * vfs_registries.c - from which servers an image is fetched
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/vfs/vfs_registries.h"

#include "vfs_certs.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/fdio.h"
#include "base/stamp.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/toml.h"
#include "lazy/format.h"
#include "lazy/vfs/vfs_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { FILE_MAX_B = 1 << 20, FILES_MAX = 256, MIRRORS = VFS_ENDPOINTS - 1 };

/* A place that has some images: HOST[/PATH], or a URL. */
struct place {
	const char *location;		/* NULL: the image's own name */
	bool insecure;
	bool exact;			/* the URL has its "/v2" already */
	bool no_tags, no_digests;	/* is not asked for these */
	bool stated, pull, resolve;	/* capabilities, if they are stated */
	struct http_server *server;	/* until it is added to the others; or
					 * NULL */
};

struct registry {
	const char *prefix;		/* HOST[/PATH], *.HOST, or "": any */
	struct place own, mirrors[MIRRORS];
	size_t mirror_count;
	bool blocked, mirrors_by_digest;
	bool only_certs;		/* of containerd's directory */
};

/* A file or directory that has been read, or looked for. */
struct watched {
	const char *path;
	struct stamp was;
	bool wanted;			/* it will be read if it exists */
};

struct vfs_registries {
	struct http_servers *servers;
	/* what vfs_registries_of_user() was told, or NULL */
	char *file, *hosts;
	bool of_user;

	pthread_mutex_t lock;		/* of what follows */
	struct registry *all;
	size_t count, cap;
	struct watched *watched;
	size_t watched_count, watched_cap;
	struct arena arena;		/* for the strings */
	unsigned version;
	char told[LAYER_WHY];		/* why it was not read again, or "" */
};

/* A file that is being read. */
struct reading {
	struct vfs_registries *r;
	const char *file;
	struct registry *now;		/* the last registry, or NULL */
	struct place *mirror;		/* its last mirror, or NULL */
	const char *folder;		/* of hosts.toml */
	/* of it, the client's certificate that is being read, or NULL */
	const char *cert, *key;
	bool pair;			/* in a list of two */
	struct place *shown_to;
	char *why;
};

static int
refuse_item(const struct reading *f, const struct toml_item *i,
    const char *what)
{
	return layer_refuse(f->why, -EINVAL, "%.120s: line %zu: %s", f->file,
	    i->line, what);
}

/* Notes what is about to be read, so that it is known when that changes. */
static int
watch(struct vfs_registries *r, const char *path, bool wanted)
{
	void *all = r->watched;
	struct watched *w;
	int rc = array_grow(&all, r->watched_count, &r->watched_cap,
	    sizeof(*r->watched));

	r->watched = all;
	if (rc != 0)
		return rc;
	w = &r->watched[r->watched_count];
	*w = (struct watched){ .was = stamp_of(path), .wanted = wanted,
		.path = arena_copy(&r->arena, path, strlen(path)) };
	if (w->path == NULL)
		return -ENOMEM;
	r->watched_count++;
	return 0;
}

static int
add_registry(struct reading *f, const char *prefix)
{
	struct vfs_registries *r = f->r;
	void *all = r->all;
	int rc = array_grow(&all, r->count, &r->cap, sizeof(*r->all));

	r->all = all;
	if (rc != 0)
		return rc;
	f->now = &r->all[r->count++];
	*f->now = (struct registry){ .prefix = prefix };
	f->mirror = NULL;
	return 0;
}

static int
add_mirror(struct reading *f, const struct toml_item *i)
{
	if (f->now->mirror_count == MIRRORS)
		return refuse_item(f, i, "expected at most 15 mirrors");
	f->mirror = &f->now->mirrors[f->now->mirror_count++];
	*f->mirror = (struct place){ .location = NULL };
	return 0;
}

static int
take_text(struct reading *f, const struct toml_item *i, const char **to)
{
	if (i->type != TOML_STRING || *i->text == '\0')
		return refuse_item(f, i, "expected a string");
	*to = arena_copy(&f->r->arena, i->text, strlen(i->text));
	return *to == NULL ? -ENOMEM : 0;
}

static int
take_truth(struct reading *f, const struct toml_item *i, bool *to)
{
	if (i->type != TOML_BOOL)
		return refuse_item(f, i, "expected true or false");
	*to = i->truth;
	return 0;
}

/* registries.conf */

static int
take_which(struct reading *f, const struct toml_item *i)
{
	const char *s = i->type == TOML_STRING ? i->text : "";

	f->mirror->no_tags = strcmp(s, "digest-only") == 0;
	f->mirror->no_digests = strcmp(s, "tag-only") == 0;
	return f->mirror->no_tags || f->mirror->no_digests ||
	    strcmp(s, "all") == 0 ? 0 :
	    refuse_item(f, i, "expected all, digest-only or tag-only");
}

static int
take_registry(void *arg, const struct toml_item *i)
{
	struct reading *f = arg;
	const char *key = i->depth > 0 ? i->path[i->depth - 1] : "";
	bool mirror = i->depth > 1 && strcmp(i->path[1], "mirror") == 0;
	struct place *p;

	if (i->depth == 0 || strcmp(i->path[0], "registry") != 0)
		return 0;
	if (i->type == TOML_ELEMENT && i->depth == 1)
		return add_registry(f, NULL);
	if (f->now == NULL)
		return refuse_item(f, i, "expected [[registry]] before this");
	if (i->type == TOML_ELEMENT && i->depth == 2 && mirror)
		return add_mirror(f, i);
	if (i->type == TOML_TABLE || i->type == TOML_ELEMENT ||
	    i->depth != (mirror ? 3 : 2))
		return 0;
	if (mirror && f->mirror == NULL)
		return refuse_item(f, i, "expected [[registry.mirror]] before this");
	p = mirror ? f->mirror : &f->now->own;
	if (strcmp(key, "location") == 0)
		return take_text(f, i, &p->location);
	if (strcmp(key, "insecure") == 0)
		return take_truth(f, i, &p->insecure);
	if (mirror)
		return strcmp(key, "pull-from-mirror") == 0 ?
		    take_which(f, i) : 0;
	if (strcmp(key, "prefix") == 0)
		return take_text(f, i, &f->now->prefix);
	if (strcmp(key, "blocked") == 0)
		return take_truth(f, i, &f->now->blocked);
	if (strcmp(key, "mirror-by-digest-only") == 0)
		return take_truth(f, i, &f->now->mirrors_by_digest);
	return 0;
}

/* Completes the registries from `first` on, and removes earlier ones. */
static int
complete(struct reading *f, size_t first)
{
	struct vfs_registries *r = f->r;

	for (size_t i = first; i < r->count; i++) {
		struct registry *g = &r->all[i];

		if (g->prefix == NULL)
			g->prefix = g->own.location;
		if (g->prefix == NULL)
			return layer_refuse(f->why, -EINVAL, "%.120s: a "
			    "registry has neither a prefix nor a location",
			    f->file);
		for (size_t k = 0; k < g->mirror_count; k++)
			if (g->mirrors[k].location == NULL)
				return layer_refuse(f->why, -EINVAL, "%.80s: a "
				    "mirror of %.80s has no location", f->file,
				    g->prefix);
		for (size_t k = 0; k < first; k++)
			if (r->all[k].prefix != NULL &&
			    strcmp(r->all[k].prefix, g->prefix) == 0)
				r->all[k].prefix = NULL;
	}
	return 0;
}

static int
read_file(struct reading *f, int dir, const char *path,
    int (*item)(void *arg, const struct toml_item *i))
{
	size_t len, first = f->r->count;
	char *text = NULL, reason[TOML_WHY] = "";
	int rc = watch(f->r, f->file, true), fd;

	if (rc != 0)
		return rc;
	fd = sys_openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
	rc = fd < 0 ? fd : fdio_read_all(fd, FILE_MAX_B, &text, &len);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0)
		return layer_refuse(f->why, rc, "%.160s: %s", f->file,
		    strerror(-rc));
	rc = toml_read(text, len, item, f, reason);
	sys_free(text);
	if (*reason != '\0')
		return layer_refuse(f->why, -EINVAL, "%.120s: %.100s", f->file,
		    reason);
	return rc != 0 ? rc : complete(f, first);
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int
is_conf(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 5 && strcmp(e->d_name + n - 5, ".conf") == 0;
}

/* Returns *r, which is allocated if it is NULL. */
static struct vfs_registries *
need(struct vfs_registries **r)
{
	if (*r == NULL) {
		*r = sys_calloc(1, sizeof(**r));
		if (*r != NULL)
			pthread_mutex_init(&(*r)->lock, NULL);
	}
	if (*r != NULL && (*r)->servers == NULL)
		(*r)->servers = http_servers_new();
	return *r == NULL || (*r)->servers == NULL ? NULL : *r;
}

int
vfs_registries_read(struct vfs_registries **r, const char *file,
    bool required, char why[LAYER_WHY])
{
	struct reading f = { .r = need(r), .file = file, .why = why };
	struct dirent **names = NULL;
	char path[4096];
	int rc, n;

	*why = '\0';
	if (f.r == NULL)
		return -ENOMEM;
	rc = read_file(&f, AT_FDCWD, file, take_registry);
	if (rc == -ENOENT && !required)
		rc = 0;
	if (rc != 0)
		return rc;
	*why = '\0';
	snprintf(path, sizeof(path), "%s.d", file);
	rc = watch(f.r, path, false);
	if (rc != 0)
		return rc;
	n = scandir(path, &names, is_conf, by_name);
	for (int i = 0; i < n; i++) {
		if (rc == 0) {
			snprintf(path, sizeof(path), "%s.d/%s", file,
			    names[i]->d_name);
			f.file = path;
			f.now = NULL;
			rc = read_file(&f, AT_FDCWD, path, take_registry);
		}
		free(names[i]);
	}
	free(names);
	return rc;
}

/* hosts.toml */

/* Returns the mirror with this URL, which is added if it is new. */
static int
find_mirror(struct reading *f, const struct toml_item *i, const char *url)
{
	int rc;

	for (size_t k = 0; k < f->now->mirror_count; k++) {
		f->mirror = &f->now->mirrors[k];
		if (strcmp(f->mirror->location, url) == 0)
			return 0;
	}
	rc = add_mirror(f, i);
	if (rc != 0)
		return rc;
	f->mirror->location = arena_copy(&f->r->arena, url, strlen(url));
	return f->mirror->location == NULL ? -ENOMEM : 0;
}

static struct http_server *
server_of(struct place *p)
{
	if (p->server == NULL)
		p->server = sys_calloc(1, sizeof(*p->server));
	return p->server;
}

/* Returns a path in the file's folder, unless it is absolute; or NULL. */
static const char *
path_beside(const struct reading *f, const char *path)
{
	size_t n = strlen(f->folder) + strlen(path) + 2;
	char *s = arena_take(&f->r->arena, n);

	if (s != NULL)
		snprintf(s, n, "%s%s%s", *path == '/' ? "" : f->folder,
		    *path == '/' ? "" : "/", path);
	return s;
}

/* Adds the client's certificate that has been read, if any. */
static int
end_client(struct reading *f, const struct toml_item *i)
{
	struct http_server *s;
	int rc;

	if (f->cert == NULL)
		return 0;
	if (f->pair && f->key == NULL)
		return i == NULL ? layer_refuse(f->why, -EINVAL, "%.120s: "
		    "expected the path of a key after that of its certificate",
		    f->file) : refuse_item(f, i, "expected the path of a key "
		    "before this");
	s = server_of(f->shown_to);
	rc = s == NULL ? -ENOMEM : http_server_show(s, f->cert, f->pair &&
	    *f->key != '\0' ? f->key : NULL);
	f->cert = f->key = NULL;
	return rc;
}

/* One path of `client': a string, or in a list of these or of pairs. */
static int
take_client(struct reading *f, struct place *p, const struct toml_item *i)
{
	bool of_key = i->arrays == 2 && i->index == 1 && f->cert != NULL;
	const char *path;

	if (i->type != TOML_STRING || i->arrays > 2 || (i->arrays == 2 &&
	    i->index > 0 && !of_key) || (*i->text == '\0' && !of_key))
		return refuse_item(f, i, "expected the path of a certificate, "
		    "or a list of pairs of it and of its key");
	path = of_key && *i->text == '\0' ? "" : path_beside(f, i->text);
	if (path == NULL)
		return -ENOMEM;
	if (of_key) {
		f->key = path;
		return 0;
	}
	f->cert = path;
	f->pair = i->arrays == 2;
	f->shown_to = p;
	return 0;
}

static int
take_field(struct reading *f, struct place *p, const char *name,
    const struct toml_item *i)
{
	struct http_server *s = server_of(p);
	char why[LAYER_WHY];
	int rc;

	if (i->type != TOML_STRING || i->arrays > 1)
		return refuse_item(f, i, "expected a string or a list of them");
	rc = s == NULL ? -ENOMEM : http_server_field(s, name, i->text, why);
	return rc == -EINVAL ? refuse_item(f, i, why) : rc;
}

/* What a file says of a server; keys are those after the server's. */
static int
take_server(struct reading *f, struct place *p, const char *const *keys,
    size_t count, const struct toml_item *i)
{
	const char *path;
	int rc = 0;

	if (strcmp(keys[0], "header") == 0 && count == 2)
		return take_field(f, p, keys[1], i);
	if (strcmp(keys[0], "header") == 0 && i->type != TOML_TABLE)
		return refuse_item(f, i, "expected a table of header fields");
	if (count != 1)
		return 0;
	if (strcmp(keys[0], "override_path") == 0)
		return take_truth(f, i, &p->exact);
	if (strcmp(keys[0], "client") == 0)
		return take_client(f, p, i);
	if (strcmp(keys[0], "ca") == 0) {
		if (i->type != TOML_STRING || i->arrays > 1 || *i->text == '\0')
			return refuse_item(f, i, "expected a path or a list of "
			    "them");
		path = path_beside(f, i->text);
		return path == NULL || server_of(p) == NULL ? -ENOMEM :
		    http_server_trust(p->server, path);
	}
	if (strcmp(keys[0], "skip_verify") == 0) {
		if (server_of(p) == NULL)
			return -ENOMEM;
		rc = take_truth(f, i, &p->server->unverified);
	}
	return rc;
}

static int
take_host(void *arg, const struct toml_item *i)
{
	struct reading *f = arg;
	bool mirror = i->depth > 0 && strcmp(i->path[0], "host") == 0;
	const char *key = i->depth > 0 ? i->path[i->depth - 1] : "";
	struct place *p;
	int rc = 0;

	/* the key of a pair comes right after its certificate */
	if (strcmp(key, "client") != 0 || i->arrays != 2 || i->index == 0)
		rc = end_client(f, i);
	if (rc != 0 || i->depth == 0)
		return rc;
	if (!mirror)
		return i->depth == 1 && strcmp(key, "server") == 0 ?
		    take_text(f, i, &f->now->own.location) :
		    take_server(f, &f->now->own, i->path, i->depth, i);
	if (i->depth < 2)
		return 0;
	/* its URL is the second key */
	rc = find_mirror(f, i, i->path[1]);
	if (rc != 0 || i->depth == 2)
		return rc;
	p = f->mirror;
	/* without "resolve", it is not asked what a tag is */
	if (i->depth == 3 && strcmp(key, "capabilities") == 0) {
		if (i->type != TOML_STRING)
			return refuse_item(f, i, "expected a list of strings");
		p->stated = true;
		p->pull |= strcmp(i->text, "pull") == 0;
		p->resolve |= strcmp(i->text, "resolve") == 0;
		return 0;
	}
	return take_server(f, p, i->path + 2, i->depth - 2, i);
}

static bool
is_url(const char *location)
{
	return strncmp(location, "https://", 8) == 0 ||
	    strncmp(location, "http://", 7) == 0;
}

/* Adds what is known of a place's server. */
static int
add_server(struct reading *f, struct place *p, const char *url)
{
	struct http_server *s = server_of(p);
	int rc = s == NULL ? -ENOMEM : http_servers_add(f->r->servers, url,
	    VFS_CERTS_HOSTS, s);

	if (s != NULL)
		http_server_free(s);
	sys_free(s);
	p->server = NULL;
	/* the folder's name is that of no host, and stands for none */
	return rc == -EINVAL ? 0 : rc;
}

/* Reads the certificates in a folder without hosts.toml. */
static int
read_certs(struct reading *f)
{
	struct http_server *s = server_of(&f->now->own);
	int rc = s == NULL ? -ENOMEM : watch(f->r, f->folder, true);

	if (rc == 0)
		rc = vfs_certs_read(s, f->folder);
	f->now->only_certs = true;
	*f->why = '\0';
	return rc == -ENOMEM ? rc : 0;
}

static int
check_host(struct reading *f)
{
	for (size_t i = 0; i < f->now->mirror_count; i++) {
		struct place *p = &f->now->mirrors[i];

		p->no_digests = p->stated && !p->pull;
		p->no_tags = p->stated && !(p->pull && p->resolve);
	}
	for (size_t i = 0; i <= f->now->mirror_count; i++) {
		const char *l = i == 0 ? f->now->own.location :
		    f->now->mirrors[i - 1].location;

		if (l != NULL && !is_url(l))
			return layer_refuse(f->why, -EINVAL, "%.100s: expected "
			    "a URL, found '%.80s'", f->file, l);
	}
	return 0;
}

/* Reads a folder of the directory that f->file names. */
static int
read_host(struct reading *f, int dir, const char *name)
{
	char file[4096], folder[4096], base[512];
	bool others = strcmp(name, "_default") == 0;
	const char *prefix = others ? "" :
	    arena_copy(&f->r->arena, name, strlen(name)), *parent = f->file;
	struct registry *now;
	int rc = prefix == NULL ? -ENOMEM : add_registry(f, prefix);

	if (rc != 0)
		return rc;
	now = f->now;
	snprintf(folder, sizeof(folder), "%.3500s/%.255s", parent, name);
	snprintf(file, sizeof(file), "%.3800s/hosts.toml", folder);
	f->file = file;
	f->folder = folder;
	snprintf(base, sizeof(base), "%.255s/hosts.toml", name);
	rc = read_file(f, dir, base, take_host);
	if (rc == 0)
		rc = end_client(f, NULL);
	if (rc == -ENOENT)
		rc = read_certs(f);
	if (rc == 0)
		rc = check_host(f);
	snprintf(base, sizeof(base), "https://%.255s", name);
	for (size_t i = 0; i <= now->mirror_count; i++) {
		struct place *p = i == 0 ? &now->own : &now->mirrors[i - 1];

		if (rc == 0) {
			rc = add_server(f, p, p->location != NULL ?
			    p->location : others ? NULL : base);
		} else if (p->server != NULL) {
			http_server_free(p->server);
			sys_free(p->server);
			p->server = NULL;
		}
	}
	f->file = parent;
	f->cert = f->key = NULL;
	return rc;
}

int
vfs_registries_read_hosts(struct vfs_registries **r, const char *dir,
    char why[LAYER_WHY])
{
	struct reading f = { .r = need(r), .file = dir, .why = why };
	size_t first, before;
	const struct dirent *e;
	int fd, rc = 0;
	DIR *d;

	*why = '\0';
	if (f.r == NULL)
		return -ENOMEM;
	first = f.r->count;
	rc = watch(f.r, dir, true);
	if (rc != 0)
		return rc;
	fd = sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (d == NULL) {
		rc = fd < 0 ? fd : -errno;
		if (fd >= 0)
			sys_close(fd);
		return layer_refuse(why, rc, "%.160s: %s", dir, strerror(-rc));
	}
	while (rc == 0 && (errno = 0, e = readdir(d)) != NULL)
		if (*e->d_name != '.')
			rc = read_host(&f, fd, e->d_name);
	if (rc == 0 && errno != 0)
		rc = -errno;
	closedir(d);
	/* these replace what registries.conf says of the same host */
	before = first;
	for (size_t i = first; rc == 0 && i < f.r->count; i++)
		for (size_t k = 0; k < before; k++)
			if (f.r->all[k].prefix != NULL &&
			    !f.r->all[i].only_certs &&
			    strcmp(f.r->all[k].prefix, f.r->all[i].prefix) == 0)
				f.r->all[k].prefix = NULL;
	return rc;
}

/* Before the folder of a host is read, or the directory with all of them. */
static int
watch_certs(void *arg, const char *path)
{
	return watch(arg, path, false);
}

static int
read_certs_of_user(struct vfs_registries *r, const char *home)
{
	char path[4096];
	int rc = 0;

	snprintf(path, sizeof(path), "%s/.config/containers/certs.d", home ==
	    NULL ? "" : home);
	if (home != NULL)
		rc = vfs_certs_read_all(r->servers, path, VFS_CERTS_USER,
		    watch_certs, r);
	if (rc == 0)
		rc = vfs_certs_read_all(r->servers, "/etc/containers/certs.d",
		    VFS_CERTS_CONTAINERS, watch_certs, r);
	if (rc == 0)
		rc = vfs_certs_read_all(r->servers, "/etc/docker/certs.d",
		    VFS_CERTS_DOCKER, watch_certs, r);
	return rc;
}

/* Returns a copy of what may be NULL. */
static char *
copy_of(const char *s, int *rc)
{
	char *copy = s == NULL ? NULL : strcopy(s);

	if (s != NULL && copy == NULL)
		*rc = -ENOMEM;
	return copy;
}

static int
read_all_of_user(struct vfs_registries *r, char why[LAYER_WHY])
{
	const char *home = getenv("HOME"), *file = r->file;
	bool required = true;
	char of_user[4096];
	int rc = 0;

	if (file == NULL)
		file = getenv("CONTAINERS_REGISTRIES_CONF");
	if (file == NULL) {
		required = false;
		file = "/etc/containers/registries.conf";
		snprintf(of_user, sizeof(of_user), "%s/.config/containers/"
		    "registries.conf", home == NULL ? "" : home);
		if (home != NULL)
			rc = watch(r, of_user, false);
		if (home != NULL && access(of_user, R_OK) == 0)
			file = of_user;
	}
	if (rc == 0)
		rc = vfs_registries_read(&r, file, required, why);
	if (rc == 0 && r->hosts != NULL)
		rc = vfs_registries_read_hosts(&r, r->hosts, why);
	return rc != 0 ? rc : read_certs_of_user(r, home);
}

int
vfs_registries_of_user(struct vfs_registries **out, const char *file,
    const char *hosts, char why[LAYER_WHY])
{
	struct vfs_registries *r = need(out);
	int rc = r == NULL ? -ENOMEM : 0;

	*why = '\0';
	if (rc == 0) {
		r->of_user = true;
		r->file = copy_of(file, &rc);
		r->hosts = copy_of(hosts, &rc);
	}
	if (rc == 0)
		rc = read_all_of_user(r, why);
	if (rc != 0 && *why == '\0')
		snprintf(why, LAYER_WHY, "%s", strerror(-rc));
	return rc;
}

void
vfs_registries_free(struct vfs_registries *r)
{
	if (r == NULL)
		return;
	sys_free(r->all);
	sys_free(r->watched);
	sys_free(r->file);
	sys_free(r->hosts);
	http_servers_free(r->servers);
	arena_free(&r->arena);
	pthread_mutex_destroy(&r->lock);
	sys_free(r);
}

/* Reading again */

static bool
is_outdated(const struct vfs_registries *r)
{
	for (size_t i = 0; i < r->watched_count; i++)
		if (stamp_has_changed(r->watched[i].path, &r->watched[i].was))
			return true;
	return false;
}

/* Exchanges what two have read. */
static void
exchange(struct vfs_registries *a, struct vfs_registries *b)
{
	const struct vfs_registries was = { .all = a->all, .count = a->count,
		.cap = a->cap, .watched = a->watched,
		.watched_count = a->watched_count,
		.watched_cap = a->watched_cap, .arena = a->arena };

	a->all = b->all;
	a->count = b->count;
	a->cap = b->cap;
	a->watched = b->watched;
	a->watched_count = b->watched_count;
	a->watched_cap = b->watched_cap;
	a->arena = b->arena;
	b->all = was.all;
	b->count = was.count;
	b->cap = was.cap;
	b->watched = was.watched;
	b->watched_count = was.watched_count;
	b->watched_cap = was.watched_cap;
	b->arena = was.arena;
}

void
vfs_registries_refresh(struct vfs_registries *r, char why[LAYER_WHY])
{
	struct vfs_registries *now = NULL;

	*why = '\0';
	if (r == NULL || !r->of_user)
		return;
	pthread_mutex_lock(&r->lock);
	if (!is_outdated(r)) {
		*r->told = '\0';
	} else if (vfs_registries_of_user(&now, r->file, r->hosts, why) == 0) {
		exchange(r, now);
		http_servers_replace(r->servers, now->servers, why);
		r->version++;
		*r->told = '\0';
	} else if (strcmp(r->told, why) == 0) {
		*why = '\0';
	} else {
		strcpy(r->told, why);
	}
	pthread_mutex_unlock(&r->lock);
	vfs_registries_free(now);
}

unsigned
vfs_registries_version(struct vfs_registries *r)
{
	unsigned version;

	if (r == NULL)
		return 0;
	pthread_mutex_lock(&r->lock);
	version = r->version;
	pthread_mutex_unlock(&r->lock);
	return version;
}

void
vfs_registries_files(const struct vfs_registries *r,
    void (*each)(void *arg, const char *path), void *arg)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->watched_count; i++)
		if (r->watched[i].wanted || r->watched[i].was.ino != 0)
			each(arg, r->watched[i].path);
	http_servers_files(r->servers, each, arg);
}

struct http_servers *
vfs_registries_servers(const struct vfs_registries *r)
{
	return r == NULL ? NULL : r->servers;
}

/* Finding */

/*
 * Returns the length of what the prefix stands for in the name, HOST/PATH, or
 * -1 if it does not match.
 */
static int64_t
matched(const char *prefix, const char *name)
{
	size_t n = strlen(prefix), host = strcspn(name, ":/");

	if (n == 0)
		return 0;
	if (prefix[0] == '*' && prefix[1] == '.') {
		n -= 1;
		return host > n && strncasecmp(name + host - n, prefix + 1,
		    n) == 0 ? (int64_t)strcspn(name, "/") : -1;
	}
	return strncmp(name, prefix, n) == 0 && (name[n] == '/' ||
	    name[n] == '\0') ? (int64_t)n : -1;
}

/* Writes the base of an image in a place.  rest is the name after the prefix. */
static int
write_base(const struct place *p, const char *rest,
    char base[VFS_BASE], char why[LAYER_WHY])
{
	char name[VFS_BASE];
	struct vfs_image_name n;
	const char *path;
	size_t len = strlen(p->location);
	int rc, used;

	if (!is_url(p->location)) {
		if ((size_t)snprintf(name, sizeof(name), "%s%s", p->location,
		    rest) >= sizeof(name))
			return layer_refuse(why, -EINVAL, "the name of the "
			    "mirror is too long");
		rc = vfs_image_parse(name, p->insecure, &n, why);
		if (rc == 0)
			strcpy(base, n.base);
		return rc == 0 || *why != '\0' ? rc : layer_refuse(why, rc,
		    "%.200s: %s", name, strerror(-rc));
	}
	while (len > 0 && p->location[len - 1] == '/')
		len--;
	path = p->exact || (len >= 3 && memcmp(p->location + len - 3, "/v2",
	    3) == 0) ? "" : "/v2";
	used = snprintf(base, VFS_BASE, "%.*s%s%s", (int)len, p->location, path,
	    rest);
	return used < VFS_BASE ? 0 : layer_refuse(why, -EINVAL, "the name of "
	    "the mirror is too long");
}

static int
find_places(const struct vfs_registries *r, const char *host,
    const char *base, const char *reference,
    char endpoints[VFS_ENDPOINTS][VFS_BASE], char why[LAYER_WHY])
{
	const char *path = strstr(base, "/v2/");
	bool digest = strchr(reference, ':') != NULL;
	const struct registry *best = NULL;
	char name[2 * VFS_BASE];
	int64_t length = -1;
	size_t of_prefix = 0;
	int count = 0, rc = 0;

	*why = '\0';
	if (path == NULL || strlen(base) >= VFS_BASE)
		return layer_refuse(why, -EINVAL, "the name is too long");
	snprintf(name, sizeof(name), "%s/%s", host, path + 4);
	for (size_t i = 0; r != NULL && i < r->count; i++) {
		const char *prefix = r->all[i].prefix;
		int64_t n = prefix == NULL ? -1 : matched(prefix, name);

		if (n >= 0 && (best == NULL || strlen(prefix) > of_prefix)) {
			best = &r->all[i];
			length = n;
			of_prefix = strlen(prefix);
		}
	}
	if (best == NULL) {
		strcpy(endpoints[0], base);
		return 1;
	}
	if (best->blocked)
		return layer_refuse(why, -EACCES, "the registry %.160s is "
		    "blocked", best->prefix);
	/* a URL replaces the host, but nothing else */
	for (size_t i = 0; i < best->mirror_count && rc == 0; i++) {
		const struct place *p = &best->mirrors[i];

		if ((digest ? p->no_digests : p->no_tags ||
		    best->mirrors_by_digest))
			continue;
		rc = write_base(p, name + (is_url(p->location) ?
		    strlen(host) : (size_t)length), endpoints[count++], why);
	}
	if (rc != 0)
		return rc;
	if (best->own.location != NULL)
		rc = write_base(&best->own, name + (is_url(best->own.location) ?
		    strlen(host) : (size_t)length), endpoints[count], why);
	else if (best->own.insecure && strncmp(base, "https", 5) == 0)
		snprintf(endpoints[count], VFS_BASE, "http%s", base + 5);
	else
		strcpy(endpoints[count], base);
	/* what is no URL has no server */
	if (rc == 0 && *best->prefix == '\0' && best->own.location == NULL &&
	    http_servers_other(r->servers, base) == -ENOMEM)
		rc = layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	return rc != 0 ? rc : count + 1;
}

int
vfs_registries_find(struct vfs_registries *r, const char *host,
    const char *base, const char *reference,
    char endpoints[VFS_ENDPOINTS][VFS_BASE], char why[LAYER_WHY])
{
	int count;

	if (r == NULL)
		return find_places(NULL, host, base, reference, endpoints, why);
	pthread_mutex_lock(&r->lock);
	count = find_places(r, host, base, reference, endpoints, why);
	/* of these servers, only what is said now matters */
	for (int i = 0; i < count; i++)
		http_servers_forget(r->servers, endpoints[i]);
	pthread_mutex_unlock(&r->lock);
	return count;
}

/*
 * http_auth.c - credentials and tokens, sent only to the intended hosts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source of the file's format: containers-auth.json(5).  Helper programs are
 * not run.
 */
#include "http_private.h"

#include "base/hex.h"
#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 1 << 20, TOKEN_MAX = 64 << 10 };

/* The parts of a URL that determine the credentials */

bool
http_is_secure(const char *url)
{
	return strncasecmp(url, "https:", 6) == 0;
}

bool
http_origin(const char *url, char origin[HTTP_URL])
{
	char *scheme = NULL, *host = NULL, *port = NULL;
	CURLU *u = curl_url();
	bool ok;
	int n;

	*origin = '\0';
	if (u == NULL)
		return false;
	ok = curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) ==
	    CURLUE_OK && (strcmp(scheme, "http") == 0 ||
	    strcmp(scheme, "https") == 0);
	if (ok) {
		n = snprintf(origin, HTTP_URL, "%s://%s:%s", scheme, host,
		    port);
		ok = n > 0 && n < HTTP_URL;
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(u);
	return ok;
}

bool
http_same_server(const char *a, const char *b)
{
	char x[HTTP_URL], y[HTTP_URL];

	return http_origin(a, x) && http_origin(b, y) && strcmp(x, y) == 0;
}

bool
http_realm_of(const char *url, char prefix[HTTP_URL])
{
	static const char *const ends[] = { "/blobs/", "/manifests/",
		"/referrers/" };
	const char *path = strstr(url, "://"), *end = NULL;
	size_t used;

	if (!http_origin(url, prefix))
		return false;
	path = path == NULL ? NULL : strchr(path + 3, '/');
	if (path == NULL || strncmp(path, "/v2/", 4) != 0)
		return true;
	for (size_t i = 0; end == NULL && i < sizeof(ends) / sizeof(*ends); i++)
		end = strstr(path, ends[i]);
	used = strlen(prefix);
	if (end != NULL && used + (size_t)(end - path) < HTTP_URL)
		snprintf(prefix + used, HTTP_URL - used, "%.*s",
		    (int)(end - path), path);
	return true;
}

/* The file */

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/*
 * Reads the file, unless it is the one that `of` describes.  Returns 1 if it did,
 * 0, or -errno, with a reason.
 */
static int
read_auths(const char *path, struct stat *of, struct strbuf *text,
    char why[LAYER_WHY])
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
	    0), rc = fd;
	char unread[JSON_WHY];
	bool same = false;
	struct stat st;
	yajl_val root;

	if (fd >= 0)
		rc = fstat(fd, &st) == -1 ? -errno : 0;
	if (rc == 0)
		same = is_same_file(&st, of);
	if (rc == 0 && !same)
		rc = fdio_read_all(fd, FILE_MAX, &text->data, &text->len);
	if (fd >= 0)
		sys_close(fd);
	if (rc != 0) {
		snprintf(why, LAYER_WHY, "%.160s: %s", path, strerror(-rc));
		return rc;
	}
	if (same)
		return 0;
	rc = json_parse(&root, text->data, text->len, unread);
	if (rc == 0)
		yajl_tree_free(root);
	else
		snprintf(why, LAYER_WHY, "%.100s: %.100s", path, unread);
	*of = st;
	return rc != 0 ? rc : 1;
}

int
http_auth_load(struct http *h, const char *path, char why[LAYER_WHY])
{
	char *here = *path == '/' ? NULL : getcwd(NULL, 0);
	int n = asprintf(&h->auth_path, "%s%s%s", here == NULL ? "" : here,
	    here == NULL ? "" : "/", path);

	free(here);
	if (n == -1) {
		h->auth_path = NULL;
		snprintf(why, LAYER_WHY, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	n = read_auths(path, &h->auths_of, &h->auths, why);
	return n < 0 ? n : 0;
}

/*
 * Reads the file again if it has changed, since credentials may expire.  If that
 * fails, as while another program writes it, what is known stays.
 */
static void
reload_auths(struct http *h)
{
	struct strbuf text = { 0 };
	char why[LAYER_WHY];
	struct stat of;
	int rc;

	if (h->auth_path == NULL)
		return;
	pthread_mutex_lock(&h->lock);
	of = h->auths_of;
	pthread_mutex_unlock(&h->lock);
	rc = read_auths(h->auth_path, &of, &text, why);
	if (rc <= 0) {
		sys_free(text.data);
		return;
	}
	pthread_mutex_lock(&h->lock);
	sys_free(h->auths.data);
	h->auths = text;
	h->auths_of = of;
	pthread_mutex_unlock(&h->lock);
}

/*
 * Returns whether a key in the file, with or without scheme and path, matches a
 * host, which includes the port; a default port may be omitted from the key.
 */
static bool
is_host(const char *key, const char *host)
{
	static const char *const ports[] = { ":443", ":80" };
	const char *scheme = strstr(key, "://");
	size_t n;

	if (scheme != NULL)
		key = scheme + 3;
	n = strcspn(key, "/");
	if (strncmp(host, key, n) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++)
		if (strcmp(host + n, ports[i]) == 0)
			return true;
	return host[n] == '\0';
}

int
http_auth_lookup(const char *text, size_t len, const char *host,
    char **base64)
{
	char why[JSON_WHY];
	const char *found = NULL;
	yajl_val root, all;
	int rc = json_parse(&root, text, len, why);

	if (rc != 0)
		return rc;
	all = json_member(root, "auths", yajl_t_object);
	for (size_t i = 0; all != NULL && found == NULL &&
	    i < YAJL_GET_OBJECT(all)->len; i++)
		if (is_host(YAJL_GET_OBJECT(all)->keys[i], host))
			found = json_text(YAJL_GET_OBJECT(all)->values[i],
			    "auth");
	*base64 = found == NULL ? NULL : strcopy(found);
	rc = found == NULL ? -ENOENT : *base64 == NULL ? -ENOMEM : 0;
	yajl_tree_free(root);
	return rc;
}

/* What is sent to whom */

static void
grant_free(struct http_grant *g)
{
	sys_free(g->prefix);
	sys_free(g->value);
	sys_free(g);
}

void
http_auth_free(struct http *h)
{
	struct http_grant *next;

	for (struct http_grant *g = h->grants; g != NULL; g = next) {
		next = g->next;
		grant_free(g);
	}
	sys_free(h->auths.data);
	free(h->auth_path);
}

char *
http_auth_find(struct http *h, const char *url)
{
	char prefix[HTTP_URL], *value = NULL;

	if (!http_realm_of(url, prefix))
		return NULL;
	pthread_mutex_lock(&h->lock);
	for (struct http_grant *g = h->grants; g != NULL; g = g->next)
		if (strcmp(g->prefix, prefix) == 0) {
			value = strcopy(g->value);
			break;
		}
	pthread_mutex_unlock(&h->lock);
	return value;
}

/*
 * Returns "Basic ..." for the URL's host, or NULL if the host has no
 * credentials.
 */
static char *
basic(struct http *h, const char *url)
{
	char origin[HTTP_URL], *base64 = NULL, *value = NULL;
	size_t len;

	reload_auths(h);
	if (h->credentials != NULL && h->credentials_for != NULL &&
	    http_same_server(url, h->credentials_for)) {
		len = strlen(h->credentials);
		base64 = sys_malloc(base64_len(len) + 1);
		if (base64 != NULL)
			base64_write(base64, h->credentials, len);
	} else if (h->auth_path != NULL && http_origin(url, origin)) {
		pthread_mutex_lock(&h->lock);
		if (http_auth_lookup(h->auths.data, h->auths.len,
		    strstr(origin, "://") + 3, &base64) != 0)
			base64 = NULL;
		pthread_mutex_unlock(&h->lock);
	}
	if (base64 != NULL && asprintf(&value, "Basic %s", base64) == -1)
		value = NULL;
	sys_free(base64);
	return value;
}

/* Tokens */

/* Requests a token.  Returns "Bearer ..." from the token server's reply. */
static int
get_token(struct http *h, const char *url, const struct http_challenge *c,
    char **value, char why[LAYER_WHY])
{
	struct http_document d = { .status = 0 };
	char from[HTTP_URL], *login = NULL, *field = NULL;
	char *service, *scope;
	const char *token;
	yajl_val root = NULL;
	int n = -1, rc;

	/* a password must not be sent over a less secure connection */
	if (http_is_secure(url) && !http_is_secure(c->realm)) {
		snprintf(why, LAYER_WHY, "the token server %.100s does not "
		    "use https", c->realm);
		return -EACCES;
	}
	service = curl_easy_escape(NULL, c->service, 0);
	scope = curl_easy_escape(NULL, c->scope, 0);
	if (service != NULL && scope != NULL)
		n = snprintf(from, sizeof(from), "%s%cservice=%s%s%s",
		    c->realm, strchr(c->realm, '?') == NULL ? '?' : '&',
		    service, *scope == '\0' ? "" : "&scope=", scope);
	curl_free(service);
	curl_free(scope);
	if (n <= 0 || (size_t)n >= sizeof(from))
		return -EPROTO;
	login = basic(h, url);
	if (login != NULL && asprintf(&field, "Authorization: %s", login) ==
	    -1) {
		free(login);
		return -ENOMEM;
	}
	rc = http_get_as(h, from, field, false, TOKEN_MAX, &d, why);
	if (rc == 0)
		rc = json_parse(&root, d.body.data, d.body.len, why);
	if (rc != 0)
		goto out;
	token = json_text(root, "token");
	if (token == NULL)
		token = json_text(root, "access_token");
	if (token == NULL || strpbrk(token, "\r\n") != NULL) {
		snprintf(why, LAYER_WHY, "the token server sent no token");
		rc = -EACCES;
	} else if (asprintf(value, "Bearer %s", token) == -1) {
		rc = -ENOMEM;
	}
	yajl_tree_free(root);
out:
	http_document_free(&d);
	free(field);
	free(login);
	return rc;
}

int
http_auth_answer(struct http *h, const char *url,
    const struct http_challenge *c, char why[LAYER_WHY])
{
	char prefix[HTTP_URL], *value = NULL;
	struct http_grant *g, **at;
	int rc = 0;

	if (c->scheme == HTTP_BASIC)
		value = basic(h, url);
	else
		rc = get_token(h, url, c, &value, why);
	if (rc != 0)
		return rc;
	if (value == NULL) {
		snprintf(why, LAYER_WHY, "the server asks for credentials");
		return -EACCES;
	}
	/* the value is for URLs with the same prefix */
	g = sys_calloc(1, sizeof(*g));
	if (g != NULL && http_realm_of(url, prefix))
		g->prefix = strcopy(prefix);
	if (g == NULL || g->prefix == NULL) {
		sys_free(value);
		sys_free(g);
		return -ENOMEM;
	}
	g->value = value;
	pthread_mutex_lock(&h->lock);
	for (at = &h->grants; *at != NULL; at = &(*at)->next)
		if (strcmp((*at)->prefix, prefix) == 0) {
			struct http_grant *old = *at;

			*at = old->next;
			grant_free(old);
			break;
		}
	g->next = h->grants;
	h->grants = g;
	pthread_mutex_unlock(&h->lock);
	return 0;
}

/*
 * http_auth.c - credentials and tokens, sent only to the intended hosts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source of the file's format: containers-auth.json(5).  Sources of the tokens:
 * the distribution specification's "Token Authentication" and "OAuth2 Token
 * Authentication".
 */
#include "http_private.h"

#include "base/hex.h"
#include "base/fdio.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "base/json.h"
#include "lazy/http/helpers.h"

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

bool
http_auth_is_host(const char *key, const char *host)
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
    char **base64, char **token)
{
	char why[JSON_WHY];
	const char *auth = NULL, *identity = NULL;
	yajl_val root, all;
	int rc = json_parse(&root, text, len, why);

	*base64 = *token = NULL;
	if (rc != 0)
		return rc;
	all = json_member(root, "auths", yajl_t_object);
	for (size_t i = 0; all != NULL && auth == NULL && identity == NULL &&
	    i < YAJL_GET_OBJECT(all)->len; i++)
		if (http_auth_is_host(YAJL_GET_OBJECT(all)->keys[i], host)) {
			yajl_val entry = YAJL_GET_OBJECT(all)->values[i];

			auth = json_text(entry, "auth");
			identity = json_text(entry, "identitytoken");
			if (identity != NULL && *identity == '\0')
				identity = NULL;
		}
	if (auth != NULL)
		*base64 = strcopy(auth);
	if (identity != NULL)
		*token = strcopy(identity);
	if (auth == NULL && identity == NULL)
		rc = -ENOENT;
	else if ((auth != NULL && *base64 == NULL) || (identity != NULL &&
	    *token == NULL))
		rc = -ENOMEM;
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

int
http_auth_find(struct http *h, const char *url, char **value)
{
	char prefix[HTTP_URL];
	int rc = 0;

	*value = NULL;
	if (!http_realm_of(url, prefix))
		return 0;
	pthread_mutex_lock(&h->lock);
	for (struct http_grant *g = h->grants; g != NULL; g = g->next)
		if (strcmp(g->prefix, prefix) == 0) {
			*value = strcopy(g->value);
			rc = *value == NULL ? -ENOMEM : 0;
			break;
		}
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* What a server gets; the token is preferred where both can be used. */
struct login {
	char *base64;			/* of "user:password" */
	char *token;			/* an identity token */
};

static void
login_free(struct login *l)
{
	helpers_forget(l->base64);
	helpers_forget(l->token);
}

/* Sets base64 of "user:password".  Returns 0 or -ENOMEM. */
static int
encode(struct login *l, const char *text)
{
	size_t len = strlen(text);

	l->base64 = sys_malloc(base64_len(len) + 1);
	if (l->base64 == NULL)
		return -ENOMEM;
	base64_write(l->base64, text, len);
	return 0;
}

/* Takes what a program said.  Returns 0, -ENOMEM or -EACCES. */
static int
take_answer(struct login *l, const char *user, const char *secret,
    char why[LAYER_WHY])
{
	struct strbuf both = { .len = 0 };
	int rc = -ENOMEM;

	if (strcmp(user, "<token>") == 0) {
		l->token = strcopy(secret);
		return l->token == NULL ? -ENOMEM : 0;
	}
	if (strchr(user, ':') != NULL) {
		snprintf(why, LAYER_WHY, "the user's name from the credential "
		    "helper contains ':'");
		return -EACCES;
	}
	strbuf_fmt(&both, "%s:%s", user, secret);
	strbuf_char(&both, '\0');
	if (!both.failed)
		rc = encode(l, both.data);
	if (both.data != NULL)
		explicit_bzero(both.data, both.len);
	strbuf_free(&both);
	return rc;
}

/*
 * Asks the program that the file names, if any.  Returns 0; -ENOENT if it names
 * none; or another -errno, mostly with a reason.
 */
static int
ask_helper(struct http *h, enum helpers_which which, const char *host,
    struct login *l, char why[LAYER_WHY])
{
	char *name = NULL, *user = NULL, *secret = NULL;
	int rc;

	pthread_mutex_lock(&h->lock);
	rc = helpers_find(h->auths.data, h->auths.len, which, host, &name,
	    why);
	pthread_mutex_unlock(&h->lock);
	sys_free(name);
	if (rc != 0)
		return rc == -EINVAL ? -EACCES : rc;
	if (h->o.helpers == NULL) {
		snprintf(why, LAYER_WHY, "no credential helper can be run "
		    "here");
		return -EACCES;
	}
	rc = helpers_ask(h->o.helpers, which, host, &user, &secret, why);
	if (rc == 0)
		rc = take_answer(l, user, secret, why);
	helpers_forget(user);
	helpers_forget(secret);
	/* a program that has none for its host ends the search */
	return rc == -ENOENT ? 0 : rc;
}

/*
 * Finds what the URL's server gets, if anything: from the command line, from the
 * program for this host, from the file, or from the program for the rest.
 * Returns 0, -ENOMEM, or another -errno with a reason.
 */
static int
find_login(struct http *h, const char *url, struct login *l,
    char why[LAYER_WHY])
{
	char origin[HTTP_URL];
	const char *host;
	int rc;

	*l = (struct login){ .base64 = NULL };
	reload_auths(h);
	if (h->credentials != NULL && h->credentials_for != NULL &&
	    http_same_server(url, h->credentials_for))
		return encode(l, h->credentials);
	if (h->auth_path == NULL || !http_origin(url, origin))
		return 0;
	host = strstr(origin, "://") + 3;
	rc = ask_helper(h, HELPERS_OF_HOST, host, l, why);
	if (rc == -ENOENT) {
		pthread_mutex_lock(&h->lock);
		rc = http_auth_lookup(h->auths.data, h->auths.len, host,
		    &l->base64, &l->token);
		pthread_mutex_unlock(&h->lock);
	}
	if (rc == -ENOENT)
		rc = ask_helper(h, HELPERS_OF_REST, host, l, why);
	return rc == -ENOENT || rc == -EBADMSG ? 0 : rc;
}

/* Tokens */

/* Returns prefix and text in one, to be freed with sys_free(), or NULL. */
static char *
put_before(const char *prefix, const char *text)
{
	size_t size = strlen(prefix) + strlen(text) + 1;
	char *both = sys_malloc(size);

	if (both != NULL)
		snprintf(both, size, "%s%s", prefix, text);
	return both;
}

/* Appends NAME=VALUE, escaped, after a separator. */
static void
add_escaped(struct strbuf *b, const char *name, const char *value)
{
	char *escaped = curl_easy_escape(NULL, value, 0);

	strbuf_fmt(b, "%s=%s", name, escaped == NULL ? "" : escaped);
	b->failed = b->failed || escaped == NULL;
	if (escaped != NULL)
		explicit_bzero(escaped, strlen(escaped));
	curl_free(escaped);
}

/*
 * Asks the token server, with an identity token in a form, or else with a user
 * and a password, if there are any.
 */
static int
ask_token_server(struct http *h, const char *url,
    const struct http_challenge *c, const struct login *l,
    struct http_document *d, char why[LAYER_WHY])
{
	struct http_manner as = { .kin = url };
	struct strbuf query = { .len = 0 };
	char *field = NULL;
	int rc = -ENOMEM;

	if (l->token == NULL)
		strbuf_fmt(&query, "%s%c", c->realm,
		    strchr(c->realm, '?') == NULL ? '?' : '&');
	else
		strbuf_str(&query, "grant_type=refresh_token&"
		    "client_id=coldpress&");
	add_escaped(&query, "service", c->service);
	if (*c->scope != '\0') {
		strbuf_char(&query, '&');
		add_escaped(&query, "scope", c->scope);
	}
	if (l->token != NULL) {
		strbuf_char(&query, '&');
		add_escaped(&query, "refresh_token", l->token);
	}
	strbuf_char(&query, '\0');
	if (l->token == NULL && l->base64 != NULL) {
		field = put_before("Authorization: Basic ", l->base64);
		if (field == NULL)
			goto out;
	}
	if (query.failed)
		goto out;
	as.field = field;
	if (l->token != NULL)
		as.post = query.data;
	rc = l->token == NULL && query.len > HTTP_URL ? -EPROTO :
	    http_get_as(h, l->token != NULL ? c->realm : query.data, &as,
	    TOKEN_MAX, d, why);
out:
	if (query.data != NULL)
		explicit_bzero(query.data, query.len);
	strbuf_free(&query);
	sys_free(field);
	return rc;
}

/* Requests a token.  Returns "Bearer ..." from the token server's reply. */
static int
get_token(struct http *h, const char *url, const struct http_challenge *c,
    char **value, char why[LAYER_WHY])
{
	struct http_document d = { .status = 0 };
	struct login l;
	const char *token;
	yajl_val root = NULL;
	int rc;

	/* a password must not be sent over a less secure connection */
	if (http_is_secure(url) && !http_is_secure(c->realm)) {
		snprintf(why, LAYER_WHY, "the token server %.100s does not "
		    "use https", c->realm);
		return -EACCES;
	}
	rc = find_login(h, url, &l, why);
	if (rc == 0)
		rc = ask_token_server(h, url, c, &l, &d, why);
	login_free(&l);
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
	} else {
		*value = put_before("Bearer ", token);
		rc = *value == NULL ? -ENOMEM : 0;
	}
	yajl_tree_free(root);
out:
	http_document_free(&d);
	return rc;
}

/* Returns "Basic ..." in *value for the URL's host, or NULL. */
static int
get_basic(struct http *h, const char *url, char **value, char why[LAYER_WHY])
{
	struct login l;
	int rc = find_login(h, url, &l, why);

	if (rc == 0 && l.token != NULL && l.base64 == NULL) {
		snprintf(why, LAYER_WHY, "the server asks for a user and a "
		    "password, but only an identity token is known");
		rc = -EACCES;
	}
	if (rc == 0 && l.base64 != NULL) {
		*value = put_before("Basic ", l.base64);
		rc = *value == NULL ? -ENOMEM : 0;
	}
	login_free(&l);
	return rc;
}

int
http_auth_answer(struct http *h, const char *url,
    const struct http_challenge *c, char why[LAYER_WHY])
{
	char prefix[HTTP_URL], *value = NULL;
	struct http_grant *g, **at;
	int rc;

	rc = c->scheme == HTTP_BASIC ? get_basic(h, url, &value, why) :
	    get_token(h, url, c, &value, why);
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

/*
 * http_transfer.c - a single request, its outcome, and whether to repeat it
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A redirect is a request of its own: libcurl would follow it without saying so
 * before it looks up the name of the next server.
 */
#include "http_private.h"

#include "base/args.h"
#include "base/sys.h"
#include "lazy/http/http_servers.h"
#include "lazy/http/resolver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	SLOWEST = 100,			/* bytes per second */
	A_DAY_S = 24 * 3600,
	REFUSAL_MAX = 64 << 10,		/* maximum bytes to read from an error
					 * page */
	HTTP_PROXY_AUTH = 407
};

/* The header of the reply */

static void
take_field(struct http_reply *r, const char *name, const char *value)
{
	static const char parts[] = "multipart/byteranges";
	const struct { const char *name; char *to; size_t size; } kept[] = {
		{ "Content-Type", r->type, sizeof(r->type) },
		{ "ETag", r->validator, sizeof(r->validator) },
		{ "Content-Encoding", r->encoding, sizeof(r->encoding) },
		{ "Cache-Control", r->caching, sizeof(r->caching) },
		{ "Docker-Content-Digest", r->digest, sizeof(r->digest) },
	};
	struct http_challenge c;
	int64_t n;

	if (strcasecmp(name, "Content-Range") == 0) {
		r->has_range = http_content_range(value, &r->range) == 0;
	} else if (strcasecmp(name, "Content-Length") == 0) {
		r->has_length = args_int(value, 0, INT64_MAX, &n) == 0;
		if (r->has_length)
			r->length = (uint64_t)n;
	} else if (strcasecmp(name, "Retry-After") == 0) {
		r->retry_after = http_retry_after(value);
	} else if (strcasecmp(name, "WWW-Authenticate") == 0) {
		if (http_challenge(value, &c) == 0 &&
		    c.scheme > r->challenge.scheme)
			r->challenge = c;
	} else if (strcasecmp(name, "Content-Type") == 0 &&
	    strncasecmp(value, parts, sizeof(parts) - 1) == 0 &&
	    http_boundary(value, r->boundary) != 0) {
		*r->boundary = '\0';
	} else if (strcasecmp(name, "ETag") == 0 && *value != '"') {
		return;			/* a weak validator */
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		if (strcasecmp(name, kept[i].name) == 0 &&
		    strlen(value) < kept[i].size)
			strcpy(kept[i].to, value);
}

/* Handles a header line; libcurl delivers complete lines. */
static size_t
on_head(char *data, size_t one, size_t len, void *arg)
{
	struct http_transfer *t = arg;
	char line[HTTP_FIELD], *value;
	size_t n = one * len;

	t->h->heard_ns = sys_now_ns();
	if (n >= sizeof(line))
		return n;
	memcpy(line, data, n);
	while (n > 0 && strchr("\r\n \t", line[n - 1]) != NULL)
		n--;
	line[n] = '\0';
	if (strncmp(line, "HTTP/", 5) == 0) {
		/* start of a redirect or of the final reply */
		t->reply = (struct http_reply){ .status = 0 };
		curl_easy_setopt(t->easy, CURLOPT_FORBID_REUSE, 0L);
		value = strchr(line, ' ');
		if (value != NULL)
			t->reply.status = strtol(value, NULL, 10);
	} else if ((value = strchr(line, ':')) != NULL) {
		*value++ = '\0';
		take_field(&t->reply, line, value + strspn(value, " \t"));
	}
	return one * len;
}

static size_t
on_body(char *data, size_t one, size_t len, void *arg)
{
	struct http_transfer *t = arg;
	size_t n = one * len;

	t->h->heard_ns = sys_now_ns();
	if (t->reply.status != 200 && t->reply.status != 206) {
		t->refusal += n;
		return t->refusal > REFUSAL_MAX ? 0 : n;
	}
	if (!t->begun) {
		t->begun = true;
		t->rc = t->begin(t->arg, &t->reply);
	}
	if (t->rc == 0)
		t->rc = t->body(t->arg, data, n);
	return t->rc == 0 ? n : 0;
}

/* The request */

/* Appends a copy of a line to a list.  Returns 0 or -ENOMEM. */
static int
append(struct curl_slist **to, const char *line)
{
	struct curl_slist *more = curl_slist_append(*to, line);

	if (more == NULL)
		return -ENOMEM;
	*to = more;
	return 0;
}

/* Adds the credentials for the URL, and an additional field or NULL. */
static int
add_fields(struct http_transfer *t, struct http *h, const char *url,
    const char *field)
{
	bool has = field != NULL && strncmp(field, "Authorization:", 14) == 0;
	char *grant = NULL, *line = NULL;
	const char *fields[2] = { field };
	int rc = has ? 0 : http_auth_find(h, url, &grant);

	if (grant != NULL) {
		if (asprintf(&line, "Authorization: %s", grant) == -1) {
			line = NULL;
			rc = -ENOMEM;
		}
		fields[0] = line;
		fields[1] = field;
	}
	for (int i = 0; rc == 0 && i < 2 && fields[i] != NULL; i++)
		rc = append(&t->fields, fields[i]);
	free(line);
	sys_free(grant);
	return rc;
}

/* Returns whether the list has a field with the same name. */
static bool
has_field(const struct curl_slist *fields, const char *field)
{
	size_t n = strcspn(field, ":;");

	for (; fields != NULL; fields = fields->next)
		if (strncasecmp(fields->data, field, n) == 0 &&
		    strcspn(fields->data, ":;") == n)
			return true;
	return false;
}

/* Sets the header to the transfer's fields and those of a server, or NULL. */
static int
set_header(struct http_transfer *t, const struct http_server *s)
{
	struct curl_slist *all = NULL;
	const char *field, *end;
	int rc = 0;

	for (const struct curl_slist *i = t->fields; rc == 0 && i != NULL;
	    i = i->next)
		rc = append(&all, i->data);
	field = s == NULL ? NULL : s->fields.data;
	end = field == NULL ? NULL : field + s->fields.len;
	for (; rc == 0 && field < end; field += strlen(field) + 1)
		if (!has_field(t->fields, field))
			rc = append(&all, field);
	if (rc != 0) {
		curl_slist_free_all(all);
		return rc;
	}
	curl_easy_setopt(t->easy, CURLOPT_HTTPHEADER, all);
	curl_slist_free_all(t->header);
	t->header = all;
	return 0;
}

static CURLcode
set_blob(struct http_transfer *t, CURLoption o, const struct strbuf *b)
{
	struct curl_blob blob = { .flags = CURL_BLOB_NOCOPY };

	if (b == NULL || b->len == 0) {
		curl_easy_setopt(t->easy, o, NULL);
		return CURLE_OK;
	}
	blob.data = b->data;
	blob.len = b->len;
	return curl_easy_setopt(t->easy, o, &blob);
}

/* Says once that anyone may be this server. */
static void
tell_unverified(struct http *h, struct http_server *s, const char *url)
{
	char origin[HTTP_URL];

	if (h->o.warn != NULL && http_is_secure(url) &&
	    http_origin(url, origin) && !atomic_exchange(&s->told, true))
		h->o.warn(h->o.arg, origin, "the server's certificate is not "
		    "verified (skip_verify)");
}

static void
release_servers(struct http_transfer *t)
{
	http_server_release(t->server);
	http_server_release(t->kin_server);
	t->server = t->kin_server = NULL;
}

/*
 * Sets what is known of the URL's server, and nothing of others.  If it cannot be
 * reached, sets rc and why.  Returns 0 or -ENOMEM.
 */
static int
use_server(struct http_transfer *t, const char *url)
{
	struct http_server *s = http_servers_find(t->h->o.servers, url);
	struct http_server *kin = t->kin == NULL ? NULL :
	    http_servers_find(t->h->o.servers, t->kin);
	bool own = s != NULL && s->ca.len > 0;
	bool verifies = s == NULL || !s->unverified;

	/* libcurl uses their memory as long as the transfer lasts */
	release_servers(t);
	t->server = s;
	t->kin_server = kin;
	if (set_blob(t, CURLOPT_CAINFO_BLOB, own ? &s->trusted : kin != NULL ?
	    &kin->trusted : NULL) != CURLE_OK ||
	    set_blob(t, CURLOPT_SSLCERT_BLOB, s == NULL ? NULL : &s->cert) !=
	    CURLE_OK ||
	    set_blob(t, CURLOPT_SSLKEY_BLOB, s == NULL ? NULL : &s->key) !=
	    CURLE_OK)
		t->rc = http_transfer_refuse(t, -EKEYREJECTED, "this libcurl "
		    "takes no certificates for single servers");
	if (!http_tls_watch(t) && s != NULL && s->shown_count > 1)
		t->rc = http_transfer_refuse(t, -EKEYREJECTED, "this libcurl "
		    "cannot choose between several client certificates");
	if (s != NULL && *s->why != '\0')
		t->rc = http_transfer_refuse(t, -EKEYREJECTED, s->why);
	curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYPEER, verifies ? 1L : 0L);
	curl_easy_setopt(t->easy, CURLOPT_SSL_VERIFYHOST, verifies ? 2L : 0L);
	if (!verifies)
		tell_unverified(t->h, s, url);
	return set_header(t, s);
}

static bool
has_connected(const struct http_transfer *t)
{
	curl_off_t us = 0;

	curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &us);
	return us != 0;
}

bool
http_transfer_unconnected(struct http_transfer *t, uint64_t ns)
{
	curl_off_t found_us = 0;

	curl_easy_getinfo(t->easy, CURLINFO_NAMELOOKUP_TIME_T, &found_us);
	if (t->since_ns == 0 && found_us != 0)
		t->since_ns = ns;
	return t->since_ns != 0 && ns - t->since_ns >= t->stall_ns &&
	    !has_connected(t);
}

/* libcurl's own low-speed limit averages over several seconds. */
static int
check_progress(void *arg, curl_off_t total, curl_off_t now, curl_off_t up_total,
    curl_off_t up)
{
	struct http_transfer *t = arg;
	uint64_t ns = sys_now_ns(), least;

	(void)total;
	(void)up_total;
	(void)up;
	if (t->since_ns == 0)
		t->since_ns = ns;
	if (ns - t->since_ns < t->stall_ns)
		return 0;
	least = SLOWEST * ((ns - t->since_ns) / 1000000) / 1000;
	if ((uint64_t)(now - t->since_B) < least) {
		t->stalled = true;
		return 1;
	}
	t->since_ns = ns;
	t->since_B = now;
	return 0;
}

/* Names and proxies */

/* Sets *value to the first of these variables that is not empty. */
static const char *
first_set(const char *const *names, const char **value)
{
	for (; *names != NULL; names++) {
		*value = getenv(*names);
		if (*value != NULL && **value != '\0')
			return *names;
	}
	return NULL;
}

/*
 * Returns the variable that names the proxy for the URL, and its value; or NULL.
 * libcurl finds the proxy itself, in these variables and in this order.
 */
static const char *
proxy_for(const char *url, const char **value)
{
	static const char *const secure[] = { "https_proxy", "HTTPS_PROXY",
		"all_proxy", "ALL_PROXY", NULL };
	/* HTTP_PROXY could be set by a CGI request */
	static const char *const plain[] = { "http_proxy", "all_proxy",
		"ALL_PROXY", NULL };
	const char *name = first_set(http_is_secure(url) ? secure : plain,
	    value);

	if (name == NULL)
		*value = NULL;
	return name;
}

/* Returns the hosts that need no proxy, or NULL. */
static const char *
exempted_hosts(void)
{
	static const char *const names[] = { "no_proxy", "NO_PROXY", NULL };
	const char *value;

	return first_set(names, &value) == NULL ? NULL : value;
}

/* Adds a host's addresses, for URLs with this port.  Returns 0 or -ENOMEM. */
static int
add_addresses(struct http_transfer *t, const char *host, const char *port)
{
	char text[RESOLVER_TEXT], line[RESOLVER_HOST + RESOLVER_TEXT + 16];

	/* libcurl says best what is wrong with a name that has no address */
	if (*host == '[' || resolver_find(t->h->o.resolver, host,
	    (unsigned)(t->stall_ns / 1000000), text) != 0)
		return 0;
	/* with +, libcurl forgets them after a minute */
	snprintf(line, sizeof(line), "+%s:%.6s:%s", host, port, text);
	return append(&t->hosts, line);
}

/*
 * Has the resolver look up the URL's host and that of its proxy, if there is a
 * resolver.  Returns 0 or -ENOMEM.
 */
static int
find_hosts(struct http_transfer *t, const char *url)
{
	const char *places[2] = { url, NULL }, *ports[2] = { NULL, "1080" };
	int rc = 0;

	if (t->h->o.resolver == NULL)
		return 0;
	if (proxy_for(url, &places[1]) != NULL && exempted_hosts() == NULL)
		places[0] = NULL;
	curl_slist_free_all(t->hosts);
	t->hosts = NULL;
	for (int i = 0; i < 2 && rc == 0; i++) {
		char *host = NULL, *port = NULL;
		CURLU *u = places[i] == NULL ? NULL : curl_url();

		if (u != NULL && curl_url_set(u, CURLUPART_URL, places[i],
		    CURLU_GUESS_SCHEME | CURLU_NON_SUPPORT_SCHEME) ==
		    CURLUE_OK && curl_url_get(u, CURLUPART_HOST, &host, 0) ==
		    CURLUE_OK) {
			curl_url_get(u, CURLUPART_PORT, &port, ports[i] ==
			    NULL ? CURLU_DEFAULT_PORT : 0);
			rc = add_addresses(t, host, port != NULL ? port :
			    ports[i] != NULL ? ports[i] : "");
		}
		curl_free(host);
		curl_free(port);
		curl_url_cleanup(u);
	}
	curl_easy_setopt(t->easy, CURLOPT_RESOLVE, t->hosts);
	return rc;
}

int
http_transfer_open(struct http_transfer *t, struct http *h, const char *url,
    const char *ranges, const char *field)
{
	long ms = (long)h->o.timeout_s * 1000 / HTTP_TRIES;
	int rc;

	t->h = h;
	t->stall_ns = (uint64_t)ms * 1000000;
	t->easy = curl_easy_init();
	if (t->easy == NULL)
		return -ENOMEM;
	if (curl_easy_setopt(t->easy, CURLOPT_URL, url) != CURLE_OK)
		return -EINVAL;
	/*
	 * check_progress() ends what takes too long.  The time that a transfer
	 * waits for its turn to connect counts for this limit in libcurl 8.14,
	 * but not in 7.88.
	 */
	curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT, (long)A_DAY_S);
	curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, check_progress);
	curl_easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
	curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(t->easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(t->easy, CURLOPT_HTTP_VERSION,
	    (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(t->easy, CURLOPT_BUFFERSIZE, 128L << 10);
	curl_easy_setopt(t->easy, CURLOPT_USERAGENT, "coldpress/"
	    COLDPRESS_VERSION);
	if (h->ca_file != NULL)
		curl_easy_setopt(t->easy, CURLOPT_CAINFO, h->ca_file);
	if (ranges != NULL)
		curl_easy_setopt(t->easy, CURLOPT_RANGE, ranges);
	/* ignore a proxy's response to CONNECT */
	curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	if (t->post != NULL)
		curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->post);
	if (find_hosts(t, url) != 0)
		return -ENOMEM;
	rc = add_fields(t, h, url, field);
	return rc != 0 ? rc : use_server(t, url);
}

/* Removes Authorization from the transfer's fields.  Returns 0 or -ENOMEM. */
static int
drop_credentials(struct http_transfer *t)
{
	struct curl_slist *kept = NULL;
	int rc = 0;

	for (struct curl_slist *i = t->fields; rc == 0 && i != NULL;
	    i = i->next)
		if (strncasecmp(i->data, "Authorization:", 14) != 0)
			rc = append(&kept, i->data);
	if (rc != 0) {
		curl_slist_free_all(kept);
		return rc;
	}
	curl_slist_free_all(t->fields);
	t->fields = kept;
	return 0;
}

/* The bytes of the last reply. */
static uint64_t
received(const struct http_transfer *t)
{
	curl_off_t body = 0;
	long head = 0;

	curl_easy_getinfo(t->easy, CURLINFO_SIZE_DOWNLOAD_T, &body);
	curl_easy_getinfo(t->easy, CURLINFO_HEADER_SIZE, &head);
	return (uint64_t)body + (uint64_t)head;
}

bool
http_transfer_follow(struct http_transfer *t)
{
	char from[HTTP_URL], *to = NULL;

	if (t->code != CURLE_OK || t->rc != 0 || t->post != NULL ||
	    t->reply.status < 300 || t->reply.status >= 400 || curl_easy_getinfo(t->easy,
	    CURLINFO_REDIRECT_URL, &to) != CURLE_OK || to == NULL)
		return false;
	if (t->redirects == HTTP_REDIRECTS) {
		t->rc = http_transfer_refuse(t, -ELOOP, "more than 5 redirects");
		return false;
	}
	http_transfer_url(t, from);
	t->passed += received(t);
	t->redirects++;
	if (!http_same_server(from, to)) {
		t->rc = drop_credentials(t);
		if (t->rc != 0)
			return false;
		t->kin = NULL;
	}
	if (http_is_secure(from))
		curl_easy_setopt(t->easy, CURLOPT_PROTOCOLS_STR, "https");
	t->rc = find_hosts(t, to);
	if (t->rc == 0 && use_server(t, to) != 0)
		t->rc = -ENOMEM;
	if (t->rc != 0)
		return false;
	/* setting the URL copies it, and ends the life of `to' */
	if (curl_easy_setopt(t->easy, CURLOPT_URL, to) != CURLE_OK) {
		t->rc = -ENOMEM;
		return false;
	}
	t->reply = (struct http_reply){ .status = 0 };
	t->refusal = 0;
	t->since_ns = 0;
	t->since_B = 0;
	t->error[0] = '\0';
	return true;
}

void
http_transfer_renew(struct http_transfer *t)
{
	curl_easy_setopt(t->easy, CURLOPT_FRESH_CONNECT, 1L);
}

void
http_transfer_close(struct http_transfer *t)
{
	if (t->easy != NULL)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->fields);
	curl_slist_free_all(t->header);
	curl_slist_free_all(t->hosts);
	release_servers(t);
	t->easy = NULL;
	t->fields = t->header = t->hosts = NULL;
}

int
http_transfer_refuse(struct http_transfer *t, int rc, const char *why)
{
	t->why = why;
	return rc;
}

int
http_transfer_plain(struct http_transfer *t, const struct http_reply *r)
{
	return *r->encoding == '\0' || strcmp(r->encoding, "identity") == 0 ?
	    0 : http_transfer_refuse(t, -EPROTO, "the server sent an encoded "
	    "body (Content-Encoding), which was not requested");
}

void
http_transfer_count(struct http *h, const struct http_transfer *t,
    enum http_phase phase)
{
	uint64_t bytes = t->passed + received(t);

	pthread_mutex_lock(&h->lock);
	h->reached |= t->reply.status != 0 || t->redirects > 0;
	h->counts[phase].requests += 1 + t->redirects;
	h->counts[phase].wire += bytes;
	pthread_mutex_unlock(&h->lock);
}

void
http_transfer_url(const struct http_transfer *t, char url[HTTP_URL])
{
	char *text = NULL;

	*url = '\0';
	curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &text);
	if (text != NULL && strlen(text) < HTTP_URL)
		strcpy(url, text);
}

/* The outcome */

static int
of_status(long status)
{
	switch (status) {
	case 200: case 206: return 0;
	case 401: case 403: return -EACCES;
	case 404: case 410: return -ENOENT;
	case 416: return -ENODATA;
	case 408: case 425: case 429: return -EAGAIN;
	default: return status >= 500 ? -EAGAIN : -EPROTO;
	}
}

static int
of_code(const struct http_transfer *t)
{
	switch (t->code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
		return -EKEYREJECTED;
	case CURLE_UNSUPPORTED_PROTOCOL:
		/* libcurl takes what is not HTTP for HTTP/0.9 */
		return strstr(t->error, "HTTP/0.9") != NULL ? -EPROTO :
		    -EPROTONOSUPPORT;
	case CURLE_URL_MALFORMAT:
		return -EPROTONOSUPPORT;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	default:
		return http_tls_refusal(t) != NULL ? -EKEYREJECTED : -EAGAIN;
	}
}

/*
 * Appends the proxy that the environment names for a transfer, if any.
 * libcurl's text says neither that an address is a proxy's nor, after a
 * time-out, which one did not reply.  Whether no_proxy exempts a host is for
 * libcurl to decide, so messages state it too.
 */
static void
note_proxy(const struct http_transfer *t, char why[LAYER_WHY])
{
	size_t used = strnlen(why, LAYER_WHY), len;
	const char *name, *value, *at, *scheme, *exempt = exempted_hosts();
	char url[HTTP_URL];

	http_transfer_url(t, url);
	name = proxy_for(url, &value);
	if (name == NULL)
		return;
	/* the host and port, without credentials */
	at = strrchr(value, '@');
	scheme = strstr(value, "://");
	value = at != NULL ? at + 1 : scheme != NULL ? scheme + 3 : value;
	len = strcspn(value, "/?#");
	snprintf(why + used, LAYER_WHY - used, "; %s is %.*s%s%.40s", name,
	    len < 60 ? (int)len : 60, value,
	    exempt == NULL ? "" : ", no_proxy is ",
	    exempt == NULL ? "" : exempt);
}

/* How many certificates there are for the server to be shown. */
static size_t
count_shown(const struct http_transfer *t)
{
	return t->server == NULL ? 0 : t->server->shown_count;
}

/* Writes whose alert it is that has ended the transfer. */
static void
say_refusal(const struct http_transfer *t, const char *alert,
    char why[LAYER_WHY])
{
	char url[HTTP_URL], origin[HTTP_URL];
	size_t count = count_shown(t);
	const char *host;

	http_transfer_url(t, url);
	host = http_origin(url, origin) ? strstr(origin, "://") : NULL;
	snprintf(why, LAYER_WHY, "%.150s %s (%s)", host == NULL ?
	    "the server" : host + 3, count == 0 ?
	    "asks for a client's certificate" : count == 1 ?
	    "refused the client's certificate" :
	    "accepts none of the client's certificates", alert);
}

/*
 * Says what may be behind a connection that ended without a reply, as far as
 * libcurl's text does not.
 */
static void
note_certificate(const struct http_transfer *t, char why[LAYER_WHY])
{
	size_t used = strnlen(why, LAYER_WHY);

	if (t->reply.status == 0 && count_shown(t) > 0 &&
	    (t->code == CURLE_SSL_CONNECT_ERROR ||
	    t->code == CURLE_SEND_ERROR || t->code == CURLE_RECV_ERROR ||
	    t->code == CURLE_GOT_NOTHING))
		snprintf(why + used, LAYER_WHY - used, "; it was to be shown a "
		    "client's certificate");
}

/* What a stalled transfer was waiting for. */
static const char *
stall_of(const struct http_transfer *t)
{
	return t->since_ns != 0 && !has_connected(t) ?
	    "there was no connection in time" :
	    "the server is sending little or no data";
}

int
http_judge(const struct http_transfer *t, char why[LAYER_WHY])
{
	const char *alert;
	int rc;

	if (t->rc != 0) {
		snprintf(why, LAYER_WHY, "%s", t->why != NULL ? t->why :
		    strerror(-t->rc));
		return t->rc;
	}
	if (t->code != CURLE_OK && t->reply.status < 400) {
		rc = of_code(t);
		alert = http_tls_refusal(t);
		/* libcurl's text may quote the proxy's URL, with credentials */
		snprintf(why, LAYER_WHY, "%.200s", t->stalled ?
		    stall_of(t) :
		    strncmp(t->error, "Unsupported proxy", 17) == 0 ||
		    strchr(t->error, '@') != NULL ?
		    "the proxy's URL is not valid or not supported" :
		    /* the connection was reset before the request */
		    strncmp(t->error, "getpeername() failed", 20) == 0 ?
		    "the server reset the connection" :
		    *t->error != '\0' ? t->error :
		    curl_easy_strerror(t->code));
		if (rc == -EKEYREJECTED && alert != NULL)
			say_refusal(t, alert, why);
		else if (rc == -EAGAIN)
			note_certificate(t, why);
		if (rc == -EAGAIN || alert != NULL)
			note_proxy(t, why);
		return rc;
	}
	rc = of_status(t->reply.status);
	if (rc != 0)
		snprintf(why, LAYER_WHY, "the server returned status %ld",
		    t->reply.status);
	if (t->reply.status == HTTP_PROXY_AUTH) {
		snprintf(why, LAYER_WHY, "the proxy requires valid "
		    "credentials");
		note_proxy(t, why);
	}
	return rc;
}

/* Another attempt */

enum { FIRST_MS = 20, DOUBLINGS = 8 };

static const uint64_t second = 1000000000, millisecond = 1000000;

void
http_patience_start(struct http_patience *p, unsigned timeout_s)
{
	*p = (struct http_patience){ .limit_ns = timeout_s * second };
	p->deadline_ns = sys_now_ns() + p->limit_ns;
}

void
http_patience_renew(struct http_patience *p)
{
	p->tries = 0;
	p->answered = false;
	p->deadline_ns = sys_now_ns() + p->limit_ns;
}

/*
 * Sleeps before the next attempt, for retry_after seconds if that is not 0.
 * Returns 0, or -ETIMEDOUT if the pause would exceed the deadline and either
 * there have been HTTP_TRIES attempts or the server requested the pause.
 */
static int
pause_before(struct http_patience *p, unsigned retry_after)
{
	unsigned doublings = p->tries < DOUBLINGS ? p->tries : DOUBLINGS;
	uint64_t now = sys_now_ns(), pause;

	/* clients that failed simultaneously should not retry simultaneously */
	pause = (FIRST_MS << doublings) * millisecond;
	pause = pause / 2 + now % (pause / 2);
	if (retry_after > 0)
		pause = retry_after * second;
	p->tries++;
	if (now + pause >= p->deadline_ns &&
	    (p->tries >= HTTP_TRIES || retry_after > 0))
		return -ETIMEDOUT;
	sys_sleep_ns(pause);
	return 0;
}

bool
http_is_own(const struct http_transfer *t, const char *url)
{
	char from[HTTP_URL];

	http_transfer_url(t, from);
	return http_same_server(url, from);
}

int
http_again(struct http *h, const struct http_transfer *t, const char *url,
    int rc, struct http_patience *p, enum http_phase phase,
    char why[LAYER_WHY])
{
	size_t used = strnlen(why, LAYER_WHY);
	bool reached;

	/*
	 * Whether the server, or the network, is not there at all.  If there
	 * has been a reply, that may change; before, its name or address is
	 * probably wrong, or it does not speak TLS.
	 */
	pthread_mutex_lock(&h->lock);
	reached = h->reached;
	pthread_mutex_unlock(&h->lock);
	p->lost = t->code != CURLE_OK;
	if (rc == -EACCES && t->reply.status == 401 && !p->answered &&
	    t->reply.challenge.scheme != HTTP_NO_SCHEME &&
	    http_is_own(t, url)) {
		p->answered = true;
		rc = http_auth_answer(h, url, &t->reply.challenge, why);
	} else if (rc == -EAGAIN && phase == HTTP_INDEX && !reached &&
	    (t->code == CURLE_COULDNT_RESOLVE_HOST ||
	    t->code == CURLE_COULDNT_RESOLVE_PROXY ||
	    t->code == CURLE_COULDNT_CONNECT ||
	    strstr(t->error, "wrong version number") != NULL)) {
		rc = -EHOSTUNREACH;
	} else if (rc == -EAGAIN) {
		rc = pause_before(p, t->reply.retry_after);
		if (rc != 0)
			snprintf(why + used, LAYER_WHY - used,
			    " (gave up after %u s)", h->o.timeout_s);
	}
	if (rc != 0)
		return rc;
	pthread_mutex_lock(&h->lock);
	h->counts[phase].retries++;
	pthread_mutex_unlock(&h->lock);
	return 0;
}

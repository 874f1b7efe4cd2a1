/*
 * http_servers.c - certificates and header fields that single servers get
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/http/http_servers.h"

#include "base/fdio.h"
#include "base/stamp.h"
#include "base/sys.h"
#include "http_private.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PEM_MAX = 1 << 20, FIELDS_MAX = 64 << 10 };

/* What has been read, to be trusted or, with a key, to be shown. */
struct http_server_file {
	char *path, *key;		/* key: NULL if path is trusted */
	struct stamp was, key_was;
};

struct known_server {
	char *origin;			/* "": the others */
	unsigned source;
	bool former;			/* it has not been replaced */
	struct http_server *s;
	struct http_server *wanted;	/* in its place, as soon as its files
					 * can be used; or NULL */
	struct known_server *next;
};

struct http_servers {
	pthread_mutex_t lock;		/* protects the list and what is built */
	struct known_server *first;
	struct strbuf anyway;		/* certificates that are trusted */
};

/* Files */

/* Keeps the first reason. */
static void __attribute__((format(printf, 2, 3)))
spoil(struct http_server *s, const char *fmt, ...)
{
	va_list args;

	if (*s->why != '\0')
		return;
	va_start(args, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, args);
	va_end(args);
}

static int
read_whole(const char *path, char **text, size_t *len)
{
	int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK,
	    0), rc;

	rc = fd < 0 ? fd : fdio_read_all(fd, PEM_MAX, text, len);
	if (fd >= 0)
		sys_close(fd);
	return rc;
}

static void
free_files(struct http_server *s)
{
	for (size_t i = 0; i < s->file_count; i++) {
		sys_free(s->files[i].path);
		sys_free(s->files[i].key);
	}
	sys_free(s->files);
	s->files = NULL;
	s->file_count = 0;
}

/* Notes which files are about to be read.  Returns 0 or -ENOMEM. */
static int
note_files(struct http_server *s, const char *path, const char *key)
{
	struct http_server_file *files = sys_realloc(s->files,
	    (s->file_count + 1) * sizeof(*files)), *f;

	if (files == NULL)
		return -ENOMEM;
	s->files = files;
	f = &files[s->file_count++];
	*f = (struct http_server_file){ .path = strcopy(path),
		.was = stamp_of(path) };
	if (key != NULL) {
		f->key = strcopy(key);
		f->key_was = stamp_of(key);
	}
	return f->path == NULL || (key != NULL && f->key == NULL) ? -ENOMEM :
	    0;
}

static int
read_pem(struct http_server *s, const char *path, char **text, size_t *len)
{
	int rc = read_whole(path, text, len);

	if (rc == 0 || rc == -ENOMEM)
		return rc;
	spoil(s, "%.200s: %s", path, strerror(-rc));
	*text = NULL;
	return 0;
}

/* Without a passphrase, nobody is asked for one. */
static int
have_no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	(void)arg;
	return -1;
}

/*
 * Adds the certificates to `all`, unless it is NULL.  Returns their number, or
 * -1 if one of them is damaged.
 */
static int
read_certificates(const char *text, size_t len, STACK_OF(X509) *all)
{
	BIO *b = BIO_new_mem_buf(text, (int)len);
	int count = 0;
	X509 *x;

	while (b != NULL && (x = PEM_read_bio_X509(b, NULL, have_no_passphrase,
	    NULL)) != NULL) {
		count++;
		if (all == NULL || sk_X509_push(all, x) == 0)
			X509_free(x);
	}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		count = -1;
	ERR_clear_error();
	BIO_free(b);
	return count;
}

static EVP_PKEY *
find_key(const char *text, size_t len)
{
	BIO *b = BIO_new_mem_buf(text, (int)len);
	EVP_PKEY *key = b == NULL ? NULL : PEM_read_bio_PrivateKey(b, NULL,
	    have_no_passphrase, NULL);

	ERR_clear_error();
	BIO_free(b);
	return key;
}

static void
expect_certificate(struct http_server *s, const char *path, int count)
{
	if (count == 0)
		spoil(s, "%.180s: expected a certificate (PEM), found none",
		    path);
	else if (count < 0)
		spoil(s, "%.180s: expected certificates (PEM), found a damaged "
		    "one", path);
}

int
http_server_trust(struct http_server *s, const char *path)
{
	char *text;
	size_t len;
	int rc = note_files(s, path, NULL);

	if (rc == 0)
		rc = read_pem(s, path, &text, &len);
	if (rc != 0 || text == NULL)
		return rc;
	expect_certificate(s, path, read_certificates(text, len, NULL));
	strbuf_add(&s->ca, text, len);
	strbuf_char(&s->ca, '\n');
	sys_free(text);
	return s->ca.failed ? -ENOMEM : 0;
}

static void
shown_free(struct http_shown *c)
{
	X509_free(c->leaf);
	sk_X509_pop_free(c->chain, X509_free);
	EVP_PKEY_free(c->key);
}

static void
free_shown(struct http_server *s)
{
	for (size_t i = 0; i < s->shown_count; i++)
		shown_free(&s->shown[i]);
	sys_free(s->shown);
	s->shown = NULL;
	s->shown_count = 0;
}

/* Takes what is in *c. */
static int
add_shown(struct http_server *s, struct http_shown *c)
{
	struct http_shown *all = sys_realloc(s->shown, (s->shown_count + 1) *
	    sizeof(*all));

	if (all == NULL)
		return -ENOMEM;
	s->shown = all;
	all[s->shown_count++] = *c;
	*c = (struct http_shown){ .leaf = NULL };
	return 0;
}

int
http_server_show(struct http_server *s, const char *cert, const char *key)
{
	const char *holder = key != NULL ? key : cert;
	struct http_shown c = { .chain = sk_X509_new_null() };
	char *text = NULL, *own = NULL;
	size_t len = 0, own_len = 0;
	int rc = c.chain == NULL ? -ENOMEM : note_files(s, cert, holder);

	if (rc == 0)
		rc = read_pem(s, cert, &text, &len);
	if (rc == 0)
		rc = read_pem(s, holder, &own, &own_len);
	if (rc != 0 || text == NULL || own == NULL)
		goto out;
	expect_certificate(s, cert, read_certificates(text, len, c.chain));
	c.leaf = sk_X509_shift(c.chain);
	c.key = find_key(own, own_len);
	if (c.key == NULL)
		spoil(s, "%.150s: expected a private key (PEM) without a "
		    "passphrase, found none", holder);
	else if (c.leaf != NULL && X509_check_private_key(c.leaf, c.key) != 1)
		spoil(s, "%.150s: expected the key of %.60s, found another",
		    holder, cert);
	ERR_clear_error();
	if (s->cert.len > 0)
		strbuf_char(&s->cert, '\n');
	strbuf_add(&s->cert, text, len);
	if (s->key.len == 0)
		strbuf_add(&s->key, own, own_len);
	rc = s->cert.failed || s->key.failed ? -ENOMEM : add_shown(s, &c);
out:
	shown_free(&c);
	sys_free(text);
	sys_free(own);
	return rc;
}

/* Header fields */

int
http_server_field(struct http_server *s, const char *name, const char *value,
    char why[LAYER_WHY])
{
	static const char names[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";

	if (*name == '\0' || name[strspn(name, names)] != '\0') {
		snprintf(why, LAYER_WHY, "expected the name of a header field");
		return -EINVAL;
	}
	for (const char *c = value; *c != '\0'; c++)
		if (((unsigned char)*c < ' ' && *c != '\t') || *c == 0x7f) {
			snprintf(why, LAYER_WHY, "expected a value without "
			    "control characters");
			return -EINVAL;
		}
	if (s->fields.len + strlen(name) + strlen(value) > FIELDS_MAX) {
		snprintf(why, LAYER_WHY, "expected at most 64 KiB of header "
		    "fields");
		return -EINVAL;
	}
	/* libcurl would take what ends with ':' for a field to be removed */
	if (value[strspn(value, " \t")] == '\0')
		strbuf_fmt(&s->fields, "%s;", name);
	else
		strbuf_fmt(&s->fields, "%s: %s", name, value);
	strbuf_char(&s->fields, '\0');
	return s->fields.failed ? -ENOMEM : 0;
}

/* Servers */

void
http_server_free(struct http_server *s)
{
	/* keys */
	if (s->key.data != NULL)
		explicit_bzero(s->key.data, s->key.len);
	strbuf_free(&s->ca);
	strbuf_free(&s->cert);
	strbuf_free(&s->key);
	strbuf_free(&s->fields);
	strbuf_free(&s->trusted);
	free_shown(s);
	free_files(s);
}

void
http_server_release(struct http_server *s)
{
	if (s == NULL || atomic_fetch_sub(&s->users, 1) != 1)
		return;
	http_server_free(s);
	sys_free(s);
}

/* Returns a server that can be held, with what is in *s if that is not NULL. */
static struct http_server *
new_server(struct http_server *s)
{
	struct http_server *made = sys_calloc(1, sizeof(*made));

	if (made == NULL)
		return NULL;
	if (s != NULL) {
		*made = (struct http_server){ .ca = s->ca, .cert = s->cert,
			.key = s->key, .shown = s->shown,
			.shown_count = s->shown_count, .fields = s->fields,
			.unverified = s->unverified, .files = s->files,
			.file_count = s->file_count };
		memcpy(made->why, s->why, sizeof(made->why));
		*s = (struct http_server){ .unverified = false };
	}
	atomic_init(&made->users, 1);
	return made;
}

struct http_servers *
http_servers_new(void)
{
	struct http_servers *all = sys_calloc(1, sizeof(*all));

	if (all != NULL)
		pthread_mutex_init(&all->lock, NULL);
	return all;
}

static void
known_free(struct known_server *k)
{
	http_server_release(k->s);
	http_server_release(k->wanted);
	sys_free(k->origin);
	sys_free(k);
}

void
http_servers_free(struct http_servers *all)
{
	struct known_server *next;

	if (all == NULL)
		return;
	for (struct known_server *k = all->first; k != NULL; k = next) {
		next = k->next;
		known_free(k);
	}
	strbuf_free(&all->anyway);
	pthread_mutex_destroy(&all->lock);
	sys_free(all);
}

static struct known_server *
find_known(const struct http_servers *all, const char *origin)
{
	struct known_server *k = all->first;

	while (k != NULL && strcmp(k->origin, origin) != 0)
		k = k->next;
	return k;
}

static bool
says_nothing(const struct http_server *s)
{
	return s->ca.len == 0 && s->cert.len == 0 && s->fields.len == 0 &&
	    !s->unverified && *s->why == '\0';
}

static void
replace(struct strbuf *to, struct strbuf *from)
{
	strbuf_free(to);
	*to = *from;
	*from = (struct strbuf){ .len = 0 };
}

static bool
differs(const struct strbuf *a, const struct strbuf *b)
{
	return a->len != b->len || memcmp(a->data, b->data, a->len) != 0;
}

/* Moves the files that are trusted, or that are shown; their content has been. */
static void
move_files(struct http_server *to, struct http_server *from, bool shown)
{
	struct http_server_file *all = sys_realloc(to->files,
	    (to->file_count + from->file_count) * sizeof(*all)), *f;

	if (all == NULL) {
		to->fixed = true;
		return;
	}
	to->files = all;
	for (size_t i = 0; i < from->file_count; i++) {
		f = &from->files[i];
		if (f->path == NULL || (f->key != NULL) != shown)
			continue;
		to->files[to->file_count++] = *f;
		*f = (struct http_server_file){ .path = NULL };
	}
}

/* Moves the client's certificates, where there are none. */
static void
move_shown(struct http_server *to, struct http_server *from)
{
	to->shown = from->shown;
	to->shown_count = from->shown_count;
	from->shown = NULL;
	from->shown_count = 0;
}

/* Adds what `from` says to what the same source has said before. */
static void
combine(struct http_server *to, struct http_server *from, const char *origin)
{
	struct strbuf *const mine[] = { &to->ca, &to->cert, &to->key,
		&to->fields };
	struct strbuf *const other[] = { &from->ca, &from->cert, &from->key,
		&from->fields };

	to->unverified = to->unverified && from->unverified;
	if (*from->why != '\0') {
		spoil(to, "%s", from->why);
		to->fixed = true;
	}
	for (size_t i = 0; i < sizeof(mine) / sizeof(*mine); i++) {
		if (other[i]->len == 0)
			continue;
		if (mine[i]->len == 0) {
			replace(mine[i], other[i]);
			if (i == 1)
				move_shown(to, from);
			if (i < 2)
				move_files(to, from, i == 1);
		} else if (differs(mine[i], other[i])) {
			spoil(to, "the hosts.toml of several hosts differ in "
			    "what they say of %.150s", origin);
			to->fixed = true;
		}
	}
}

/* Returns a new entry, which is not in the list yet, or NULL. */
static struct known_server *
new_known(const char *origin, unsigned source)
{
	struct known_server *k = sys_calloc(1, sizeof(*k));

	if (k == NULL)
		return NULL;
	k->source = source;
	k->origin = strcopy(origin);
	if (k->origin != NULL)
		return k;
	sys_free(k);
	return NULL;
}

int
http_servers_add(struct http_servers *all, const char *url, unsigned source,
    struct http_server *s)
{
	char origin[HTTP_URL] = "";
	struct http_server *made;
	struct known_server *k;
	int rc = 0;

	if (url != NULL && !http_origin(url, origin))
		return -EINVAL;
	pthread_mutex_lock(&all->lock);
	k = find_known(all, origin);
	if (k == NULL) {
		k = new_known(origin, source);
		if (k != NULL)
			k->s = new_server(s);
		if (k == NULL || k->s == NULL) {
			rc = -ENOMEM;
		} else {
			k->next = all->first;
			all->first = k;
		}
		if (rc != 0 && k != NULL)
			known_free(k);
	} else if (k->source == source) {
		combine(k->s, s, origin);
	} else if (says_nothing(k->s) || source < k->source) {
		/* that it is verified has been said */
		s->unverified = s->unverified && source < k->source;
		made = new_server(s);
		if (made == NULL) {
			rc = -ENOMEM;
		} else {
			http_server_release(k->s);
			k->s = made;
			k->source = source;
		}
	}
	pthread_mutex_unlock(&all->lock);
	if (rc == 0)
		http_server_free(s);
	return rc;
}

int
http_servers_other(struct http_servers *all, const char *url)
{
	struct known_server *other, *k;
	char origin[HTTP_URL];
	int rc = 0;

	if (!http_origin(url, origin))
		return -EINVAL;
	http_servers_forget(all, url);
	pthread_mutex_lock(&all->lock);
	other = find_known(all, "");
	if (other != NULL && find_known(all, origin) == NULL) {
		k = new_known(origin, other->source);
		if (k == NULL) {
			rc = -ENOMEM;
		} else {
			k->s = other->s;
			atomic_fetch_add(&k->s->users, 1);
			k->next = all->first;
			all->first = k;
		}
	}
	pthread_mutex_unlock(&all->lock);
	return rc;
}

/*
 * Keeps what was known of a server, if that is better than what is said of it
 * now.
 */
static void
keep_former(struct known_server *now, const struct known_server *was,
    char why[LAYER_WHY])
{
	if (*now->s->why != '\0' && *was->s->why == '\0' && !now->s->fixed) {
		if (*why == '\0')
			strcpy(why, now->s->why);
		now->wanted = now->s;
		now->s = was->s;
		atomic_fetch_add(&now->s->users, 1);
	} else if (now->s->unverified && was->s->unverified) {
		atomic_store(&now->s->told, was->s->told);
	}
}

void
http_servers_replace(struct http_servers *all, struct http_servers *by,
    char why[LAYER_WHY])
{
	struct known_server **at = &all->first, *k, *now;

	*why = '\0';
	pthread_mutex_lock(&all->lock);
	while ((k = *at) != NULL) {
		now = find_known(by, k->origin);
		if (now != NULL)
			keep_former(now, k, why);
		if (now == NULL && *k->origin != '\0') {
			k->former = true;
			at = &k->next;
		} else {
			*at = k->next;
			known_free(k);
		}
	}
	*at = by->first;
	by->first = NULL;
	pthread_mutex_unlock(&all->lock);
}

void
http_servers_forget(struct http_servers *all, const char *url)
{
	struct known_server **at, *k;
	char origin[HTTP_URL];

	if (all == NULL || !http_origin(url, origin))
		return;
	pthread_mutex_lock(&all->lock);
	for (at = &all->first; (k = *at) != NULL; at = &k->next)
		if (k->former && strcmp(k->origin, origin) == 0) {
			*at = k->next;
			known_free(k);
			break;
		}
	pthread_mutex_unlock(&all->lock);
}

void
http_servers_trust(struct http_servers *all, const char *path)
{
	char *text;
	size_t len;

	if (path == NULL || read_whole(path, &text, &len) != 0)
		return;
	strbuf_add(&all->anyway, text, len);
	sys_free(text);
}

void
http_servers_files(const struct http_servers *all,
    void (*each)(void *arg, const char *path), void *arg)
{
	const struct http_server_file *f;

	for (const struct known_server *k = all->first; k != NULL; k = k->next)
		for (size_t i = 0; i < k->s->file_count; i++) {
			f = &k->s->files[i];
			each(arg, f->path);
			if (f->key != NULL)
				each(arg, f->key);
		}
}

static bool
is_outdated(const struct http_server *s)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (stamp_has_changed(s->files[i].path, &s->files[i].was) ||
		    (s->files[i].key != NULL && stamp_has_changed(
		    s->files[i].key, &s->files[i].key_was)))
			return true;
	return false;
}

/* Returns the same server with what its files contain now, or NULL. */
static struct http_server *
read_again(const struct http_server *s)
{
	struct http_server *now = new_server(NULL);
	int rc = 0;

	if (now == NULL)
		return NULL;
	strbuf_add(&now->fields, s->fields.data, s->fields.len);
	now->unverified = s->unverified;
	atomic_init(&now->told, s->told);
	for (size_t i = 0; rc == 0 && i < s->file_count; i++) {
		const struct http_server_file *f = &s->files[i];

		rc = f->key == NULL ? http_server_trust(now, f->path) :
		    http_server_show(now, f->path, f->key);
	}
	if (rc == 0 && !now->fields.failed)
		return now;
	http_server_release(now);
	return NULL;
}

/* What cannot be used yet, or no longer, does not replace what can. */
static void
refresh(struct known_server *k)
{
	const struct http_server *as = k->wanted != NULL ? k->wanted : k->s;
	struct http_server *now;

	if (as->fixed || !is_outdated(as))
		return;
	now = read_again(as);
	if (now == NULL || (*now->why != '\0' && *k->s->why == '\0')) {
		http_server_release(now);
		return;
	}
	http_server_release(k->s);
	http_server_release(k->wanted);
	k->s = now;
	k->wanted = NULL;
}

struct http_server *
http_servers_find(struct http_servers *all, const char *url)
{
	char origin[HTTP_URL];
	struct http_server *s = NULL;
	struct known_server *k;

	if (all == NULL || !http_origin(url, origin))
		return NULL;
	pthread_mutex_lock(&all->lock);
	k = find_known(all, origin);
	if (k != NULL) {
		refresh(k);
		s = k->s;
		atomic_fetch_add(&s->users, 1);
	}
	if (s != NULL && s->ca.len > 0 && s->trusted.len == 0) {
		strbuf_add(&s->trusted, s->ca.data, s->ca.len);
		strbuf_add(&s->trusted, all->anyway.data, all->anyway.len);
		if (s->trusted.failed)
			spoil(s, "%s", strerror(ENOMEM));
	}
	pthread_mutex_unlock(&all->lock);
	return s;
}

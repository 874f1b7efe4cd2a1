/*
 * http_servers.h - certificates and header fields that single servers get
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A server is an origin: scheme, host and port.  What is configured of it
 * applies to requests to this origin only, not to a redirect to another.  All
 * files are read when the configuration is, and again when they have changed
 * before a request, since certificates are renewed while a server runs.  If what
 * they contain then cannot be used (a key, say, that does not belong to the
 * certificate yet), what was read before still is.  A file that cannot be used is
 * no error until the server is: a configuration may name many, some with keys
 * that only root can read.
 *
 * Source of the files' format: RFC 7468 (PEM).
 */
#ifndef COLDPRESS_LAZY_HTTP_HTTP_SERVERS_H
#define COLDPRESS_LAZY_HTTP_HTTP_SERVERS_H

#include "base/strbuf.h"
#include "lazy/layer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* What is known of a server.  Zeroed, it is nothing. */
struct http_server {
	struct strbuf ca;		/* certificates that are trusted besides
					 * the others, as PEM */
	struct strbuf cert;		/* of what it may be shown, all, as PEM;
					 * or empty */
	struct strbuf key;		/* of the first */
	struct http_shown *shown;	/* the same, each with its key */
	size_t shown_count;
	struct strbuf fields;		/* "NAME: VALUE" or "NAME;", each
					 * with a NUL */
	bool unverified;		/* its certificate does not matter */
	char why[LAYER_WHY];		/* why it cannot be reached, or "" */

	/* private */
	struct http_server_file *files;
	size_t file_count;
	bool fixed;			/* files are not read again */
	struct strbuf trusted;		/* ca, and the others */
	_Atomic bool told;
	_Atomic unsigned users;		/* who hold it, or 0: it is on a stack */
};

/*
 * Adds a file with trusted certificates; or one of the client's certificates,
 * with what follows it in its chain, and its key, which is in the same file if
 * key is NULL.  Of several, the first that the server accepts is shown.  What
 * is wrong with a file is written to s->why.  Return 0 or -ENOMEM.
 */
int http_server_trust(struct http_server *s, const char *path);
int http_server_show(struct http_server *s, const char *cert, const char *key);

/*
 * Adds a field to the header of each request.  Returns 0, -ENOMEM, or -EINVAL,
 * with the reason in why, if a header cannot have it.
 */
int http_server_field(struct http_server *s, const char *name,
    const char *value, char why[LAYER_WHY]);

void http_server_free(struct http_server *s);

struct http_servers;

/* Returns NULL if there is no memory. */
struct http_servers *http_servers_new(void);
void http_servers_free(struct http_servers *all);	/* may be NULL */

/*
 * Adds a server by any URL of it, and takes what is in *s; NULL stands for the
 * registries that http_servers_other() names.  Something from a source with a
 * lower number is kept instead; what the same source says twice must not differ,
 * and a certificate is verified unless both say that it is not.  Returns 0,
 * -EINVAL (not an http or https URL) or -ENOMEM; *s is then as it was.
 */
int http_servers_add(struct http_servers *all, const char *url,
    unsigned source, struct http_server *s);

/*
 * Gives the server of this URL what http_servers_add() was told of NULL, unless
 * it has something of its own, after http_servers_forget().  Returns 0 or
 * -errno as above.  Thread-safe.
 */
int http_servers_other(struct http_servers *all, const char *url);

/*
 * Replaces what is known of servers by what is in `by`, which is then empty.  A
 * server of which that says nothing stays as it is, because transfers may still
 * go there, until http_servers_forget().  If the files of one cannot be used,
 * but what was known before can, that stays, too, until they can, and why says
 * so; otherwise it is "".  Thread-safe, if nobody else uses `by`.
 */
void http_servers_replace(struct http_servers *all, struct http_servers *by,
    char why[LAYER_WHY]);

/*
 * Forgets what http_servers_replace() has left of this URL's server only because
 * it was known before.  all may be NULL.  Thread-safe.
 */
void http_servers_forget(struct http_servers *all, const char *url);

/*
 * Sets the file with the certificates that are trusted whatever the server.  It
 * is read now; if that fails, there are none.
 */
void http_servers_trust(struct http_servers *all, const char *path);

/*
 * Calls each() with the path of each file that may be read again, so that a
 * process which confines itself can keep access to its directory.
 */
void http_servers_files(const struct http_servers *all,
    void (*each)(void *arg, const char *path), void *arg);

/*
 * Returns what is known of a URL's server, or NULL; if ca is not empty, `trusted`
 * has it.  It does not change, and http_server_release() ends its use.  all may be
 * NULL.  Thread-safe.
 */
struct http_server *http_servers_find(struct http_servers *all,
    const char *url);
void http_server_release(struct http_server *s);	/* may be NULL */

#endif

/*
 * http_private.h - declarations shared by the parts of the HTTP client
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The thread of http.c runs the transfers that http_transfer.c sets up;
 * http_auth.c manages credentials; http_read.c divides a read into requests;
 * http_get.c fetches small documents; http_tls.c listens to OpenSSL.
 */
#ifndef COLDPRESS_HTTP_PRIVATE_H
#define COLDPRESS_HTTP_PRIVATE_H

#include "http_header.h"
#include "lazy/http/http.h"

#include <curl/curl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/stat.h>

enum {
	HTTP_URL = 8192,		/* maximum size of a URL, including the
					 * terminating NUL */
	HTTP_VALIDATOR = 128,
	HTTP_REDIRECTS = 5,
	HTTP_FIELD = 1024		/* longer fields are ignored */
};

/* The header of a reply. */
struct http_reply {
	long status;
	bool has_range, has_length;
	struct http_content_range range;
	uint64_t length;		/* Content-Length */
	char boundary[HTTP_BOUNDARY];	/* multipart boundary, or "" */
	char validator[HTTP_VALIDATOR];	/* strong validator, or "" */
	char type[128], encoding[64], caching[128], digest[128];
	unsigned retry_after;
	struct http_challenge challenge;	/* scheme 0: none */
};

/*
 * One request.  The I/O thread calls begin before the first byte of the body,
 * and body with its data; a nonzero result ends the transfer and is stored in
 * rc.
 */
struct http_transfer {
	struct http *h;
	CURL *easy;
	struct curl_slist *fields;	/* of its own, */
	struct curl_slist *header;	/* and with those of the server */
	struct curl_slist *hosts;
	struct http_server *server;	/* what is known of it, or NULL */
	struct http_server *kin_server;	/* and of the one in kin */
	const char *post;		/* a form to be sent, or NULL */
	const char *kin;		/* a URL of the server that names this
					 * one, which is trusted as that is; or
					 * NULL */
	unsigned redirects;		/* followed so far */
	uint64_t passed;		/* bytes of the replies before this */
	int (*begin)(void *arg, const struct http_reply *r);
	int (*body)(void *arg, const void *data, size_t len);
	void *arg;

	struct http_reply reply;
	bool begun;
	uint64_t refusal;		/* bytes of an error page received */
	int rc;
	const char *why;		/* a clause for rc; NULL: strerror() */
	CURLcode code;
	const void *tls;		/* the SSL_CTX of the connection that it
					 * has made, for comparison; or NULL */
	int alert;			/* the last of TLS that arrived there */

	/*
	 * A transfer that receives hardly any data within stall_ns is ended.
	 * The interval starts when the transfer leaves libcurl's queue for a
	 * connection; until then since_ns is 0.
	 */
	uint64_t stall_ns, since_ns;
	curl_off_t since_B;
	bool stalled;
	char error[CURL_ERROR_SIZE];

	bool done;			/* guarded by the lock in struct http */
	bool complete;			/* done, and not a redirect */
	uint64_t queued_ns;
	struct http_transfer *next;	/* next in the queue, or next running */
};

/* A host's support for ranges. */
enum http_ranges {
	HTTP_MANY,			/* assume that several ranges per
					 * request work */
	HTTP_ONE,
	HTTP_NONE			/* the whole object is sent */
};

struct http_host {
	char *origin;
	enum http_ranges ranges;
	struct http_host *next;
};

struct http_object {
	struct http *h;
	char *url;
	struct http_host *host;

	/* protected by h's lock */
	char target[HTTP_URL];		/* redirect target, or "" */
	char validator[HTTP_VALIDATOR];
	bool has_size;
	bool whole;			/* was sent in place of a range */
	uint64_t size;
	char why[LAYER_WHY];
};

/* The value of Authorization for URLs that begin with prefix. */
struct http_grant {
	char *prefix, *value;
	struct http_grant *next;
};

struct http {
	CURLM *multi;
	pthread_t thread;
	struct http_transfer *running;	/* used only by the thread */
	uint64_t heard_ns;		/* time of the last byte; used only by
					 * the thread */
	struct http_options o;
	char *credentials, *credentials_for, *ca_file;
	char *auth_path;		/* of auth_file, absolute; or NULL */

	pthread_mutex_t lock;		/* protects the following */
	struct strbuf auths;		/* contents of auth_file, */
	struct stat auths_of;		/* and of which file they are */
	pthread_cond_t changed;		/* signalled when a transfer ends */
	bool stop;
	bool reached;			/* there has been a reply */
	struct http_transfer *queue;
	struct http_host *hosts;
	struct http_grant *grants;
	struct http_counts counts[HTTP_PHASES];
};

/* A certificate of the client, what follows it in its chain, and its key. */
struct http_shown {
	X509 *leaf;
	STACK_OF(X509) *chain;
	EVP_PKEY *key;
};

/* http.c */

/*
 * Runs the transfers, several at a time, follows redirects, and waits for all.
 */
void http_run(struct http *h, struct http_transfer *const *t, size_t count);

/* http_transfer.c */

/*
 * Prepares a request for the URL, with its credentials, if known, a list of
 * ranges or NULL, and an additional header field or NULL.  The transfer is
 * ended if hardly any data arrives for a third of timeout_s; and http_run() does
 * not begin it if its rc is set, because the server cannot be reached as it is
 * configured.  Returns 0, -ENOMEM or -EINVAL.
 */
int http_transfer_open(struct http_transfer *t, struct http *h,
    const char *url, const char *ranges, const char *field);

/*
 * Makes the transfer use a new connection, because existing ones may be
 * half-open.
 */
void http_transfer_renew(struct http_transfer *t);
void http_transfer_close(struct http_transfer *t);	/* may be zeroed */

/*
 * Gives the reason for a nonzero result of begin or body, a constant; returns
 * rc.
 */
int http_transfer_refuse(struct http_transfer *t, int rc, const char *why);

/* Refuses a reply whose body is encoded.  Returns 0 or -EPROTO. */
int http_transfer_plain(struct http_transfer *t, const struct http_reply *r);

/*
 * Returns whether it has tried to connect for too long, until the time ns.  A
 * libcurl of 8 does not report progress meanwhile.
 */
bool http_transfer_unconnected(struct http_transfer *t, uint64_t ns);

/*
 * Prepares the transfer that has ended for another request if the reply is a
 * redirect.  Credentials, certificates and header fields for a server are not
 * sent to another origin, and a form is sent nowhere else; https is not followed
 * by http.  Returns whether it should run again.
 */
bool http_transfer_follow(struct http_transfer *t);

/* Adds the transfer to the counts. */
void http_transfer_count(struct http *h, const struct http_transfer *t,
    enum http_phase phase);

/* Returns the URL of the reply, after redirects. */
void http_transfer_url(const struct http_transfer *t, char url[HTTP_URL]);

/*
 * Evaluates the result, and writes a clause.  Returns 0; -EAGAIN to retry (see
 * retry_after); or another -errno.  For status 401, returns -EACCES.
 */
int http_judge(const struct http_transfer *t, char why[LAYER_WHY]);

/*
 * The attempts within timeout_s.  If other stalled transfers occupy all
 * connections, an attempt takes longer; as many are made nevertheless.
 */
enum { HTTP_TRIES = 3 };

struct http_patience {
	uint64_t limit_ns;		/* time allowed without progress */
	uint64_t deadline_ns;
	unsigned tries;
	bool answered;			/* a challenge has been handled since
					 * the last progress */
	bool lost;			/* the last attempt's connection failed */
};

void http_patience_start(struct http_patience *p, unsigned timeout_s);

/* Records progress, which restarts the timeout. */
void http_patience_renew(struct http_patience *p);

/* Returns whether the reply came from the original host, without a redirect. */
bool http_is_own(const struct http_transfer *t, const char *url);

/*
 * After a failed transfer, waits or requests a token before another attempt.
 * Returns 0 to retry, or the final -errno with a clause in why.  On entry why
 * contains the clause from http_judge().
 */
int http_again(struct http *h, const struct http_transfer *t, const char *url,
    int rc, struct http_patience *p, enum http_phase phase,
    char why[LAYER_WHY]);

/* http_tls.c */

/*
 * Forgets what the last connection was.  On its next one, the transfer learns
 * which alerts arrive, and several certificates of the client are chosen from.
 * Returns false if libcurl does not use OpenSSL, so that neither is possible.
 */
bool http_tls_watch(struct http_transfer *t);

/*
 * Returns the name of the alert, a constant, if the server has ended the
 * connection because of the client's certificate; or NULL.
 */
const char *http_tls_refusal(const struct http_transfer *t);

/* http_auth.c */

bool http_is_secure(const char *url);

/*
 * Writes the URL's "scheme://host:port".  Returns false if the URL is invalid.
 */
bool http_origin(const char *url, char origin[HTTP_URL]);

/*
 * Writes the origin and, for the URL of a registry, "/v2/NAME".
 */
bool http_realm_of(const char *url, char prefix[HTTP_URL]);

/* Reads and checks auth_file, which is read again when it has changed. */
int http_auth_load(struct http *h, const char *path, char why[LAYER_WHY]);
void http_auth_free(struct http *h);

/*
 * Returns whether a key in the file, with or without scheme and path, matches
 * HOST:PORT; a default port may be omitted from the key.
 */
bool http_auth_is_host(const char *key, const char *host);

/*
 * Finds the base64 of "user:password" and the identity token for a host in an
 * auth file's text.  What is not there is NULL; the results must be freed with
 * helpers_forget().  Returns 0, -ENOENT, -EBADMSG or -ENOMEM.
 */
int http_auth_lookup(const char *text, size_t len, const char *host,
    char **base64, char **token);

/*
 * Finds the value of Authorization for this URL, to be freed with sys_free();
 * NULL if none is known.  Returns 0 or -ENOMEM.
 */
int http_auth_find(struct http *h, const char *url, char **value);

/*
 * Handles an authentication challenge for this URL by requesting a token or
 * finding credentials.  Returns 0, or -EACCES or another -errno with a clause
 * in why.
 */
int http_auth_answer(struct http *h, const char *url,
    const struct http_challenge *c, char why[LAYER_WHY]);

/* http_get.c */

/* How a document is requested. */
struct http_manner {
	const char *field;		/* of the header, or NULL */
	const char *post, *kin;		/* as in struct http_transfer */
	bool answering;			/* challenges are answered */
};

/* Like http_get(). */
int http_get_as(struct http *h, const char *url, const struct http_manner *as,
    size_t max, struct http_document *d, char why[LAYER_WHY]);

#endif

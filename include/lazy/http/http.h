/*
 * http.h - reading ranges of objects from an HTTP server
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 9110 and 9111; the OCI distribution specification 1.1.
 *
 * One thread performs all transfers, using libcurl; any thread may read, and
 * waits until its bytes have arrived.  Neighbouring ranges are merged, a
 * request names several ranges, and several requests run in parallel.  A server
 * found not to support several ranges per request is sent one range at a time;
 * if it ignores ranges, its reply is read as far as needed.
 *
 * Transient failures (time-outs, 408, 429, 5xx, broken connections, short or
 * unexpected bodies) are retried, after a pause that doubles or that the server
 * requests, and only for the bytes still missing.  A read fails with -errno if
 * there is no progress for timeout_s seconds and in three attempts.  Until there
 * has been a reply from any server, a request in phase HTTP_INDEX to one that
 * does not exist or refuses connections fails at once, with -EHOSTUNREACH.
 *
 * The data is not verified here, except that an object must not change: if its
 * validator (ETag) changes, reads return -ESTALE.
 */
#ifndef COLDPRESS_LAZY_HTTP_HTTP_H
#define COLDPRESS_LAZY_HTTP_HTTP_H

#include "base/strbuf.h"
#include "lazy/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The purpose of a read. */
enum http_phase {
	HTTP_INDEX, HTTP_READ, HTTP_PREFETCH, HTTP_BACKGROUND, HTTP_PHASES
};

/* Transfer counts; bytes include headers and bodies. */
struct http_counts {
	uint64_t requests;		/* redirected requests count twice */
	uint64_t retries;
	uint64_t wire;			/* bytes received */
	uint64_t useful;		/* requested bytes that were received */
	uint64_t whole;			/* bytes from servers that ignored
					 * the ranges */
};

struct helpers;
struct http_servers;
struct resolver;

struct http_options {
	const char *credentials;	/* "user:password", or NULL */
	const char *credentials_for;	/* a URL of the only server that gets
					 * them */
	const char *auth_file;		/* file with "auths", as written by
					 * Docker or Podman; or NULL */
	const char *ca_file;		/* trusted certificates; NULL: the
					 * system's */
	struct resolver *resolver;	/* looks up names, and is closed after
					 * the client; NULL: libcurl does it */
	struct helpers *helpers;	/* runs the programs that auth_file
					 * names, and is closed after the
					 * client; NULL: they are not run */
	struct http_servers *servers;	/* certificates and header fields; freed
					 * after the client; or NULL */
	/* what people should know of a server, by any thread; or NULL */
	void (*warn)(void *arg, const char *name, const char *why);
	void *arg;			/* of warn() */
	unsigned timeout_s;
	unsigned connections;		/* maximum number per host */
};

struct http;
struct http_object;

/*
 * Initializes libcurl, which reads configuration, and returns the file and the
 * directory of the certificates that it trusts by default, or NULL.  A process
 * that confines itself calls it before.
 */
void http_prepare(const char **ca_file, const char **ca_dir);

/*
 * Starts the thread.  The options are copied, and the files that they name are
 * read.  Returns 0, -ENOMEM, or -errno with the reason in why.
 */
int http_open(struct http **h, const struct http_options *o,
    char why[LAYER_WHY]);

/*
 * Stops the thread.  No object may be open and no call in progress.  h may be
 * NULL.
 */
void http_close(struct http *h);

/* Returns whether two URLs have the same scheme, host and port. */
bool http_same_server(const char *a, const char *b);

/*
 * Opens an object without requesting it.  Returns 0, -ENOMEM, or -EINVAL if the
 * URL is neither http nor https.
 */
int http_object_open(struct http_object **o, struct http *h, const char *url);
void http_object_close(struct http_object *o);	/* may be NULL */

/* Returns, for messages, the reason why the last call failed. */
void http_object_why(struct http_object *o, char why[LAYER_WHY]);

/*
 * Reads all ranges; their `object` is ignored.  Returns 0, -ENODATA (a range
 * extends past the end of the object), -ENOENT, -EACCES, -ESTALE, -ETIMEDOUT,
 * -EPROTO (an invalid reply) or another -errno.  Thread-safe.
 */
int http_read(struct http_object *o, const struct layer_range *ranges,
    size_t count, enum http_phase phase);

/*
 * Reads whole objects; the URL of each is base, "/" and its name.  Of each
 * object, at most the length of its range is read; the rest of the range is
 * filled with zeros.  lengths is set to the number of bytes read from each.
 * Returns the same values as http_read(), with the reason in why on failure.
 * Thread-safe.
 */
int http_read_whole(struct http *h, const char *base,
    const struct layer_range *ranges, size_t count, uint64_t *lengths,
    enum http_phase phase, char why[LAYER_WHY]);

/*
 * Returns whether the server once sent the whole object, though a range of it
 * was requested: http_read_all() then costs less than http_read().  Thread-safe.
 */
bool http_ignores_ranges(struct http_object *o);

/*
 * Reads the object with one request, from its beginning.  take() gets its bytes
 * in order, in the client's thread, so that other transfers wait until it
 * returns; a nonzero result ends the transfer, and is returned.  After a broken
 * connection, the bytes from offset 0 on are passed again.  Returns 0 or -errno
 * as http_read() does.  Thread-safe.
 */
int http_read_all(struct http_object *o, int (*take)(void *arg,
    uint64_t offset, const void *data, size_t len), void *arg,
    enum http_phase phase);

/* Determines the object's size.  Returns 0 or -errno as above.  Thread-safe. */
int http_size(struct http_object *o, uint64_t *size);

/*
 * Returns the object's validator (ETag), or "", after http_size() or
 * http_read().
 */
void http_validator(struct http_object *o, char *text, size_t size);

/* A small document and its headers. */
struct http_document {
	struct strbuf body;		/* the caller's buffer, freed by
					 * http_document_free() */
	char type[128];			/* Content-Type, or "" */
	char digest[128];		/* Docker-Content-Digest, or "" */
	long status;
};

/*
 * Gets a document of at most max bytes; accept lists media types, or is NULL.
 * Returns 0 or, with the reason in why, -EFBIG or an error from http_read().
 * The document must always be freed.  Thread-safe.
 */
int http_get(struct http *h, const char *url, const char *accept, size_t max,
    struct http_document *d, char why[LAYER_WHY]);
void http_document_free(struct http_document *d);

/* Copies the counts so far.  Thread-safe. */
void http_counted(struct http *h, struct http_counts c[HTTP_PHASES]);

/* A server's reply to one request, for --probe. */
struct http_answer {
	long status;
	char version[12];		/* version, for example "HTTP/1.1" */
	char type[128], encoding[64], caching[128], validator[128];
	char url[8192];			/* final URL, after redirects */
	uint64_t length;		/* number of body bytes read */
};

/*
 * Requests ranges, written as in the header field ("0-0,9-9"; NULL: the whole
 * object), and reads at most max bytes of the body, without retries.  Returns 0
 * if there was a reply, or -errno with the reason in why.
 */
int http_ask(struct http *h, const char *url, const char *ranges, size_t max,
    struct http_answer *a, char why[LAYER_WHY]);

#endif

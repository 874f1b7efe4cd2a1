/*
 * http.h - objects of an HTTP server, read in ranges
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 9110 and 9111; the OCI distribution specification 1.1.
 *
 * One thread transfers, by libcurl; any thread may read, and waits until its
 * bytes are there.  Ranges near each other are requested as one, several ranges
 * in one request, and several requests in parallel.  A server that does not answer
 * several ranges gets one at a time from then on; of one that ignores ranges,
 * the body is read as far as it is needed.
 *
 * What fails for a reason that may pass (time-outs, 408, 429, 5xx, broken
 * connections, short or unexpected bodies) is retried, after a pause that
 * doubles or that the server asks for, and only for the bytes still missing.  A
 * read ends with -errno at the latest when no progress was made for timeout_s.
 *
 * The bytes are not verified here, except that an object must remain the same:
 * one whose validator (ETag) changes gives -ESTALE.
 */
#ifndef COLDPRESS_LAZY_HTTP_H
#define COLDPRESS_LAZY_HTTP_H

#include "base/strbuf.h"
#include "lazy/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why something is read. */
enum http_phase {
	HTTP_INDEX, HTTP_READ, HTTP_PREFETCH, HTTP_BACKGROUND, HTTP_PHASES
};

/* What was transferred; the bytes are those of headers and bodies. */
struct http_counts {
	uint64_t requests;		/* redirected ones count again */
	uint64_t retries;
	uint64_t wire;			/* bytes received */
	uint64_t useful;		/* of them, bytes that were wanted */
	uint64_t whole;			/* bodies of servers that ignored the
					 * ranges */
};

struct http_options {
	const char *credentials;	/* "user:password", or NULL */
	const char *auth_file;		/* a file of Docker or containers/image
					 * with "auths", or NULL */
	const char *ca_file;		/* trusted certificates; NULL: the
					 * system's */
	unsigned timeout_s;
	unsigned connections;		/* to one host at a time */
};

struct http;
struct http_object;

/*
 * Starts the thread; the options are copied, and the files they name are read.
 * 0, -ENOMEM, or -errno with a clause in why.
 */
int http_open(struct http **h, const struct http_options *o,
    char why[LAYER_WHY]);

/*
 * To be called when no object is open and no call is running.  h may be NULL.
 */
void http_close(struct http *h);

/*
 * An object, which is not requested yet.  0, -ENOMEM or -EINVAL: the URL is not
 * one of http or https.
 */
int http_object_open(struct http_object **o, struct http *h, const char *url);
void http_object_close(struct http_object *o);	/* may be NULL */

/* The URL, and what happened when the last call failed, for messages. */
const char *http_object_url(const struct http_object *o);
void http_object_why(struct http_object *o, char why[LAYER_WHY]);

/*
 * Reads all ranges; their `object` is ignored.  0, -ENODATA (a range ends after
 * the object), -ENOENT, -EACCES, -ESTALE, -ETIMEDOUT, -EPROTO (not what a
 * server should answer) or another -errno.  Thread-safe.
 */
int http_read(struct http_object *o, const struct layer_range *ranges,
    size_t count, enum http_phase phase);

/* The size of the object: 0 or as above.  Thread-safe. */
int http_size(struct http_object *o, uint64_t *size);

/*
 * The validator (ETag) of the object, or "", after http_size() or http_read().
 */
void http_validator(struct http_object *o, char *text, size_t size);

/* A small document. */
struct http_document {
	struct strbuf body;		/* the caller's, freed by
					 * http_document_free() */
	char type[128];			/* Content-Type, or "" */
	char digest[128];		/* Docker-Content-Digest, or "" */
	long status;
};

/*
 * Gets a document of at most max bytes; accept: media types, or NULL.  0,
 * -EFBIG or as http_read(), with a clause in why; the document is to be freed
 * in either case.  Thread-safe.
 */
int http_get(struct http *h, const char *url, const char *accept, size_t max,
    struct http_document *d, char why[LAYER_WHY]);
void http_document_free(struct http_document *d);

/* The counts so far.  Thread-safe. */
void http_counted(struct http *h, struct http_counts c[HTTP_PHASES]);

/* What a server answered to one request, for --probe. */
struct http_answer {
	long status;
	char version[12];		/* for example "HTTP/1.1" */
	char type[128], encoding[64], caching[128], validator[128];
	char url[8192];			/* after redirects */
	uint64_t length;		/* bytes of the body that were read */
};

/*
 * Requests ranges, as in the header field ("0-0,9-9"; NULL: all), reading at
 * most max bytes of the body and retrying nothing.  0: there was an answer, or
 * -errno with a clause in why.
 */
int http_ask(struct http *h, const char *url, const char *ranges, size_t max,
    struct http_answer *a, char why[LAYER_WHY]);

#endif

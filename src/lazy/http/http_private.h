/*
 * http_private.h - declarations shared by the parts of the HTTP client
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * http_thread.c runs the transfers that http_transfer.c sets up; http_auth.c
 * knows the credentials; http_read.c divides a read into requests
 * (http_request.c), and http_again.c decides whether to try again; http_get.c
 * gets small documents.
 */
#ifndef COLDPRESS_HTTP_PRIVATE_H
#define COLDPRESS_HTTP_PRIVATE_H

#include "http_header.h"
#include "http_multipart.h"
#include "http_spans.h"
#include "lazy/http.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdbool.h>

enum {
	HTTP_URL = 8192,		/* bytes of a URL, including the
					 * terminating NUL */
	HTTP_VALIDATOR = 128,
	HTTP_REDIRECTS = 5,
	HTTP_FIELD = 1024		/* a longer one is ignored */
};

/* The head of a reply. */
struct http_reply {
	long status;
	bool has_range, has_length;
	struct http_content_range range;
	uint64_t length;		/* Content-Length */
	char boundary[HTTP_BOUNDARY];	/* of multipart/byteranges, or "" */
	char validator[HTTP_VALIDATOR];	/* a strong one, or "" */
	char type[128], encoding[64], caching[128], digest[128];
	unsigned retry_after;
	struct http_challenge challenge;	/* scheme 0: none */
};

/*
 * One request.  The I/O thread calls begin before the body's first byte, and
 * body for its bytes; a result other than 0 ends the transfer and becomes rc.
 */
struct http_transfer {
	struct http *h;
	CURL *easy;
	struct curl_slist *fields;
	int (*begin)(void *arg, const struct http_reply *r);
	int (*body)(void *arg, const void *data, size_t len);
	void *arg;

	struct http_reply reply;
	bool begun;
	uint64_t refusal;		/* bytes of an error page */
	int rc;
	CURLcode code;

	/*
	 * A transfer that receives hardly any bytes within stall_ns is ended.
	 * The time starts when it has a connection; until then since_ns is 0.
	 */
	uint64_t stall_ns, since_ns;
	curl_off_t since_B;
	bool stalled;
	char error[CURL_ERROR_SIZE];

	bool done;			/* guarded by the lock in struct http */
	uint64_t queued_ns;
	struct http_transfer *next;	/* of the queue, or of those running */
};

/* A host's support for ranges. */
enum http_ranges {
	HTTP_MANY,			/* several at a time, until disproved */
	HTTP_ONE,
	HTTP_NONE			/* it sends the whole object */
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

	/* guarded by h's lock */
	char target[HTTP_URL];		/* the redirection's target, or "" */
	char validator[HTTP_VALIDATOR];
	bool has_size;
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
	struct http_transfer *running;	/* the thread's */
	uint64_t heard_ns;		/* likewise: when a byte last arrived */
	struct http_options o;
	char *credentials, *ca_file;
	struct strbuf auths;		/* the text of auth_file */

	pthread_mutex_t lock;		/* of all that follows */
	pthread_cond_t changed;		/* a transfer has ended */
	bool stop;
	struct http_transfer *queue;
	struct http_host *hosts;
	struct http_grant *grants;
	struct http_counts counts[HTTP_PHASES];
};

/* http_thread.c */

int http_thread_start(struct http *h);
void http_thread_stop(struct http *h);

/* Runs the transfers, several at a time, and waits for all of them. */
void http_run(struct http *h, struct http_transfer *const *t, size_t count);

/* http_transfer.c */

/*
 * Prepares a GET of the URL, with any credentials known for it, a list of
 * ranges or NULL, and an additional header field or NULL.  It ends if few or no
 * bytes arrive for a third of timeout_s.  Returns 0, -ENOMEM or -EINVAL.
 */
int http_transfer_open(struct http_transfer *t, struct http *h,
    const char *url, const char *ranges, const char *field);

/* Makes the transfer use a new connection: existing ones may be half-open. */
void http_transfer_renew(struct http_transfer *t);
void http_transfer_close(struct http_transfer *t);	/* may be zeroed */

/* Adds the transfer to the counts. */
void http_transfer_count(struct http *h, const struct http_transfer *t,
    enum http_phase phase);

/* Returns the URL of the reply, after redirects. */
void http_transfer_url(const struct http_transfer *t, char url[HTTP_URL]);

/*
 * Judges the outcome, and writes a clause.  Returns 0; -EAGAIN to retry, see
 * retry_after; or another -errno.  401 is -EACCES.
 */
int http_judge(const struct http_transfer *t, char why[LAYER_WHY]);

/* http_auth.c */

/* Reads and checks auth_file. */
int http_auth_load(struct http *h, const char *path, char why[LAYER_WHY]);
void http_auth_free(struct http *h);

/*
 * Returns the value of Authorization for this URL, to be freed with sys_free();
 * NULL if none is known.
 */
char *http_auth_find(struct http *h, const char *url);

/*
 * Answers the challenge of a reply for this URL: gets a token, or finds
 * credentials.  Returns 0, or -EACCES or another -errno with a clause in why.
 */
int http_auth_answer(struct http *h, const char *url,
    const struct http_challenge *c, char why[LAYER_WHY]);

/* http_auth_file.c */

/*
 * Finds the base64 of "user:password" for a host in an auth file's text; the
 * result must be freed with sys_free().  Returns 0, -ENOENT or -EBADMSG.
 */
int http_auth_lookup(const char *text, size_t len, const char *host,
    char **base64);

/* http_pause.c */

/* Attempts, and the time left for them. */
struct http_patience {
	uint64_t limit_ns;		/* without progress */
	uint64_t deadline_ns;
	unsigned tries;
	bool answered;			/* a challenge, since the last
					 * progress */
	bool lost;			/* the last attempt's connection failed */
};

void http_patience_start(struct http_patience *p, unsigned timeout_s);

/* Records progress, which restarts the timeout. */
void http_patience_renew(struct http_patience *p);

/*
 * Sleeps before the next attempt, for retry_after seconds unless it is 0.
 * Returns 0, or -ETIMEDOUT if that would exceed the deadline.
 */
int http_patience_pause(struct http_patience *p, unsigned retry_after);

/* http_request.c */

/* One request of a read, for some of its spans. */
struct http_request {
	struct http_transfer t;
	struct http_object *o;
	struct http_spans *spans;
	size_t first, count;
	enum http_ranges how;
	char url[HTTP_URL];
	bool redirected;		/* the URL is the target */

	/* the body */
	struct multipart parts;
	bool in_parts;
	uint64_t at;			/* of the object */
	uint64_t left;			/* of the range, or a limit */
	uint64_t wanted;		/* at most */
	uint64_t taken;
};

/*
 * Prepares a request for the spans from first onward, skipping complete ones,
 * and sets count to how many it covers.  Returns 0 or -errno.
 */
int http_request_open(struct http_request *q, struct http_object *o,
    struct http_spans *spans, size_t first);
void http_request_close(struct http_request *q);

/* Returns whether all of the request's spans are complete. */
bool http_request_complete(const struct http_request *q);

/*
 * After the transfer, returns 0 (complete), -EAGAIN (retry after a pause),
 * -EREMCHG (retry immediately, because the host turned out to behave
 * differently), or another -errno, with a clause in why.
 */
int http_request_judge(struct http_request *q, char why[LAYER_WHY]);

/* http_again.c */

/* Returns whether the reply came from the host that was asked. */
bool http_is_own(const struct http_transfer *t, const char *url);

/*
 * After a failed transfer, waits or gets a token for another attempt.  Returns
 * 0 to retry, or the final -errno with a clause in why, which on entry holds
 * that of http_judge().
 */
int http_again(struct http *h, const struct http_transfer *t, const char *url,
    int rc, struct http_patience *p, enum http_phase phase,
    char why[LAYER_WHY]);

/* http_get.c */

/* http_get() with a header field, or NULL, instead of known credentials. */
int http_get_as(struct http *h, const char *url, const char *field,
    size_t max, struct http_document *d, char why[LAYER_WHY]);

/* http_url.c */

/* Writes the URL's "scheme://host:port".  Returns false if it is invalid. */
bool http_origin(const char *url, char origin[HTTP_URL]);

/*
 * Writes the origin and "/v2/NAME" of a registry's URL, otherwise the origin.
 */
bool http_realm_of(const char *url, char prefix[HTTP_URL]);

#endif

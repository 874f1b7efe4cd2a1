/*
 * metrics.h - a Unix socket that answers GET /metrics and GET /healthz
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One thread answers HTTP/1.0 and 1.1, one request for each connection.  No
 * client can delay another thread, nor take up more than is stated here.
 *
 * Sources: RFC 9112 for requests; Prometheus's text exposition format 0.0.4.
 */
#ifndef COLDPRESS_LAZY_METRICS_METRICS_H
#define COLDPRESS_LAZY_METRICS_METRICS_H

#include "base/strbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	METRICS_REQUEST = 4096,		/* maximum bytes in a request */
	METRICS_CONNECTIONS = 16,	/* at one time; others wait */
	METRICS_PATIENCE_MS = 5000	/* for a request and its reply */
};

enum metrics_page {
	METRICS_MORE,			/* the request is not complete */
	METRICS_TEXT, METRICS_HEALTH,	/* the two pages */
	METRICS_NO_PAGE,		/* 404 */
	METRICS_NO_METHOD,		/* 405: neither GET nor HEAD */
	METRICS_BAD,			/* 400 */
	METRICS_LARGE			/* 431 */
};

/*
 * Finds which page the first len bytes of a request ask for; *head says whether
 * the reply has no body.  Never returns METRICS_MORE for METRICS_REQUEST bytes.
 * Thread-safe.
 */
enum metrics_page metrics_parse(const char *text, size_t len, bool *head);

/* What is answered; called by the thread. */
struct metrics_pages {
	/* Appends the page in Prometheus's format. */
	void (*text)(void *arg, struct strbuf *b);
	/* Appends a line, and returns whether all is well. */
	bool (*health)(void *arg, struct strbuf *b);
	void *arg;
};

struct metrics;

/*
 * Answers at a listening socket, which belongs to the caller.  Returns 0 or
 * -errno.
 */
int metrics_start(struct metrics **m, int listener,
    const struct metrics_pages *pages);

/* Ends the thread, and closes all connections.  m may be NULL. */
void metrics_stop(struct metrics *m);

/* A sample, with its help and type */

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE };

/* Appends the two lines that precede a metric's samples. */
void metrics_describe(struct strbuf *b, const char *name,
    enum metrics_type type, const char *help);

/*
 * Appends a sample.  label is NULL, or a label's name, which then has this
 * value.
 */
void metrics_sample(struct strbuf *b, const char *name, const char *label,
    const char *value, uint64_t number);

#endif

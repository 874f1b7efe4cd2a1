/*
 * http_request.c - one request for ranges, and its reply
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Bytes count only at the offset that the reply states, and only if they are
 * the next ones of a span: a reply with a different range contributes nothing,
 * and the request is repeated.
 */
#include "http_private.h"

#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	SPANS_MAX = 100,		/* of one request */
	REQUEST_MAX = 4 << 20,		/* maximum bytes in a request for
					 * several spans */
	PART_MAX = MULTIPART_LINE * (MULTIPART_FIELDS + 2)	/* of a head */
};

static bool
is_complete(const struct http_span *s)
{
	return s->got == s->length;
}

bool
http_request_complete(const struct http_request *q)
{
	for (size_t i = q->first; i < q->first + q->count; i++)
		if (!is_complete(&q->spans->spans[i]))
			return false;
	return true;
}

static int
take_part(void *arg, uint64_t offset, const void *data, size_t len)
{
	struct http_request *q = arg;

	q->taken += http_spans_take(q->spans, offset, data, len);
	return 0;
}

/* The head of the reply */

/* Checks that the object is the same as in earlier replies. */
static int
check_same(struct http_object *o, const struct http_reply *r, uint64_t total)
{
	int rc = 0;

	pthread_mutex_lock(&o->h->lock);
	if (*o->validator == '\0')
		strcpy(o->validator, r->validator);
	else if (*r->validator != '\0' &&
	    strcmp(o->validator, r->validator) != 0)
		rc = -ESTALE;
	if (!o->has_size && total != HTTP_UNKNOWN) {
		o->has_size = true;
		o->size = total;
	} else if (total != HTTP_UNKNOWN && o->size != total) {
		rc = -ESTALE;
	}
	pthread_mutex_unlock(&o->h->lock);
	return rc;
}

static int
begin_whole(struct http_request *q, const struct http_reply *r)
{
	int rc;

	rc = check_same(q->o, r, r->has_length ? r->length : HTTP_UNKNOWN);
	if (rc != 0)
		return rc;
	/* the host may still support a single range */
	if (q->how == HTTP_MANY && q->count > 1)
		return -EREMCHG;
	q->at = 0;
	q->left = UINT64_MAX;
	return 0;
}

static int
begin_reply(void *arg, const struct http_reply *r)
{
	struct http_request *q = arg;

	if (http_transfer_plain(&q->t, r) != 0)
		return -EPROTO;
	if (r->status == 200)
		return begin_whole(q, r);
	q->in_parts = *r->boundary != '\0';
	if (q->in_parts) {
		multipart_start(&q->parts, r->boundary, take_part, q);
		q->left = q->wanted + (q->count + 1) * PART_MAX;
		return check_same(q->o, r, HTTP_UNKNOWN);
	}
	if (!r->has_range)
		return http_transfer_refuse(&q->t, -EPROTO, "the server sent "
		    "part of the object without saying which part "
		    "(Content-Range)");
	q->at = r->range.offset;
	q->left = r->range.length;
	return check_same(q->o, r, r->range.total);
}

/* The body */

/*
 * Rejects a body that is longer than the requested bytes and the headers of the
 * parts.
 */
static int
take_parts(struct http_request *q, const void *data, size_t len)
{
	int rc;

	q->left = len < q->left ? q->left - len : 0;
	if (q->left == 0)
		return http_transfer_refuse(&q->t, -EPROTO, "the server sent "
		    "more than the requested parts");
	rc = multipart_feed(&q->parts, data, len);
	return rc == 0 ? 0 : http_transfer_refuse(&q->t, rc, "the server sent "
	    "malformed parts");
}

static int
take_body(void *arg, const void *data, size_t len)
{
	struct http_request *q = arg;
	size_t n = len < q->left ? len : (size_t)q->left;

	if (q->in_parts)
		return take_parts(q, data, len);
	take_part(q, q->at, data, n);
	q->at += n;
	q->left -= n;
	/*
	 * The rest of the body was not requested. At the end of the body,
	 * ending the transfer would only close the connection.
	 */
	if (len > n || (q->t.reply.status == 200 &&
	    http_request_complete(q) && q->at != q->t.reply.length))
		return -ECANCELED;
	return 0;
}

/* The request */

/* Returns the number of spans, from first onward, that fit in one request. */
static size_t
count_spans(const struct http_spans *s, size_t first, enum http_ranges how)
{
	uint64_t bytes = 0;
	size_t n = 0, wanted = 0;

	if (how == HTTP_NONE)
		return s->count - first;
	for (; first + n < s->count; n++) {
		const struct http_span *span = &s->spans[first + n];

		if (is_complete(span))
			continue;
		bytes += span->length - span->got;
		if (wanted > 0 && (how == HTTP_ONE || wanted == SPANS_MAX ||
		    bytes > REQUEST_MAX))
			break;
		wanted++;
	}
	return n;
}

/* Returns the value of Range, or NULL. */
static char *
ranges_of(const struct http_request *q)
{
	struct strbuf b = { .len = 0 };

	for (size_t i = q->first; i < q->first + q->count; i++) {
		const struct http_span *s = &q->spans->spans[i];

		if (!is_complete(s))
			strbuf_fmt(&b, "%s%" PRIu64 "-%" PRIu64,
			    b.len == 0 ? "" : ",", s->offset + s->got,
			    s->offset + s->length - 1);
	}
	strbuf_char(&b, '\0');
	if (!b.failed)
		return b.data;
	strbuf_free(&b);
	return NULL;
}

int
http_request_open(struct http_request *q, struct http_object *o,
    struct http_spans *spans, size_t first)
{
	char field[HTTP_VALIDATOR + 16] = "", *ranges;
	int rc;

	*q = (struct http_request){ .o = o, .spans = spans, .first = first,
		.t = { .begin = begin_reply, .body = take_body, .arg = q } };
	pthread_mutex_lock(&o->h->lock);
	q->how = o->host->ranges;
	q->redirected = *o->target != '\0';
	snprintf(q->url, sizeof(q->url), "%s", q->redirected ? o->target :
	    o->url);
	if (*o->validator != '\0')
		snprintf(field, sizeof(field), "If-Range: %s", o->validator);
	pthread_mutex_unlock(&o->h->lock);
	q->count = count_spans(spans, first, q->how);
	q->wanted = http_spans_left(spans);
	ranges = ranges_of(q);
	if (ranges == NULL)
		return -ENOMEM;
	rc = http_transfer_open(&q->t, o->h, q->url, q->how == HTTP_NONE ?
	    NULL : ranges, *field == '\0' ? NULL : field);
	sys_free(ranges);
	return rc;
}

void
http_request_close(struct http_request *q)
{
	http_transfer_close(&q->t);
}

/* The outcome */

static void
learn(struct http_object *o, enum http_ranges ranges)
{
	pthread_mutex_lock(&o->h->lock);
	if (o->host->ranges < ranges)
		o->host->ranges = ranges;
	pthread_mutex_unlock(&o->h->lock);
}

static void
learn_target(struct http_request *q, bool use)
{
	char from[HTTP_URL] = "";

	if (use)
		http_transfer_url(&q->t, from);
	pthread_mutex_lock(&q->o->h->lock);
	strcpy(q->o->target, strcmp(from, q->o->url) == 0 ? "" : from);
	pthread_mutex_unlock(&q->o->h->lock);
}

/* Returns whether a different type of request may succeed. */
static bool
may_avoid(struct http_request *q, int rc)
{
	bool refused = rc == -EREMCHG || rc == -EPROTO || rc == -EBADMSG ||
	    rc == -ENODATA;

	if (q->redirected && (refused || rc == -EACCES || rc == -ENOENT)) {
		learn_target(q, false);
		return true;
	}
	if (refused && q->how == HTTP_MANY && q->count > 1) {
		learn(q->o, HTTP_ONE);
		return true;
	}
	return false;
}

/* Returns whether several ranges were requested but only one was sent. */
static bool
is_one_of_many(const struct http_request *q)
{
	return q->how == HTTP_MANY && q->count > 1 && q->taken > 0 &&
	    q->t.reply.status == 206 && !q->in_parts && q->left == 0;
}

int
http_request_judge(struct http_request *q, char why[LAYER_WHY])
{
	bool whole = q->t.reply.status == 200 && q->t.begun &&
	    q->t.rc != -EREMCHG;
	int rc;

	if (whole && q->how != HTTP_NONE && q->first + 1 < q->spans->count)
		learn(q->o, HTTP_NONE);
	if (whole) {
		pthread_mutex_lock(&q->o->h->lock);
		q->o->h->counts[HTTP_READ].whole++;
		pthread_mutex_unlock(&q->o->h->lock);
	}
	if (http_request_complete(q)) {
		learn_target(q, true);
		return 0;
	}
	if (is_one_of_many(q)) {
		learn(q->o, HTTP_ONE);
		return -EREMCHG;
	}
	rc = http_judge(&q->t, why);
	if (rc == -ESTALE)
		snprintf(why, LAYER_WHY, "the object has changed");
	if (rc != 0 && may_avoid(q, rc))
		return -EREMCHG;
	if (rc == 0 || rc == -ECANCELED || rc == -EPROTO || rc == -EBADMSG) {
		/* possibly due to a proxy or a bad connection */
		if (rc == 0 || rc == -ECANCELED)
			snprintf(why, LAYER_WHY, "the server did not send the "
			    "requested bytes");
		return q->t.reply.status >= 400 ? rc : -EAGAIN;
	}
	return rc;
}

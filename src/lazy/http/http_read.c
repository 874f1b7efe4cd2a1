/*
 * http_read.c - reading ranges of an object, with as many requests as necessary
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In each round, a few requests at a time ask for what is missing.  Bytes count
 * only at the offset that the reply states, and only if they are the next ones
 * of a span: a reply with a different range contributes nothing, and the
 * request is repeated.
 */
#include "http_private.h"

#include "http_multipart.h"
#include "http_spans.h"

#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	/* another range costs about 100 bytes of header and boundary */
	GAP_MANY = 256,
	/* another request costs more, plus a round trip */
	GAP_ONE = 16 << 10,
	SPAN_MAX = 4 << 20,
	AT_ONCE = 16,			/* concurrent requests of a read */
	PROGRESS = 64 << 10,		/* bytes that count as progress */
	SPANS_MAX = 100,		/* of one request */
	REQUEST_MAX = 4 << 20,		/* maximum bytes in a request for
					 * several spans */
	PART_MAX = MULTIPART_LINE * (MULTIPART_FIELDS + 2)	/* of a head */
};

/* Requests */

/* One request of a read, for some of its spans. */
struct http_request {
	struct http_transfer t;
	struct http_object *o;
	struct http_spans *spans;
	size_t first, count;
	enum http_ranges how;
	char url[HTTP_URL];
	bool redirected;		/* the URL is the redirect target */

	/* the body */
	struct multipart parts;
	bool in_parts;
	uint64_t at;			/* offset in the object */
	uint64_t left;			/* bytes left in the range, or an upper
					 * bound */
	uint64_t wanted;		/* maximum number of bytes */
	uint64_t taken;
};

static bool
is_complete(const struct http_span *s)
{
	return s->got == s->length;
}

/* Returns whether all of the request's spans are complete. */
static bool
request_complete(const struct http_request *q)
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
begin_reply(void *arg, const struct http_reply *r)
{
	struct http_request *q = arg;
	uint64_t total = r->range.total;
	int rc;

	if (http_transfer_plain(&q->t, r) != 0)
		return -EPROTO;
	if (r->status == 200) {
		rc = check_same(q->o, r, r->has_length ? r->length :
		    HTTP_UNKNOWN);
		if (rc != 0)
			return rc;
		/* the host may still support a single range */
		if (q->how == HTTP_MANY && q->count > 1)
			return -EREMCHG;
		q->at = 0;
		q->left = UINT64_MAX;
		return 0;
	}
	q->in_parts = *r->boundary != '\0';
	if (q->in_parts) {
		multipart_start(&q->parts, r->boundary, take_part, q);
		q->left = q->wanted + (q->count + 1) * PART_MAX;
		total = HTTP_UNKNOWN;
	} else if (r->has_range) {
		q->at = r->range.offset;
		q->left = r->range.length;
	} else {
		return http_transfer_refuse(&q->t, -EPROTO, "the server sent "
		    "part of the object without saying which part "
		    "(Content-Range)");
	}
	return check_same(q->o, r, total);
}

/* The body */

static int
take_body(void *arg, const void *data, size_t len)
{
	struct http_request *q = arg;
	size_t n = len < q->left ? len : (size_t)q->left;
	int rc;

	if (q->in_parts) {
		/* more than the requested bytes and the heads of the parts */
		q->left -= n;
		if (q->left == 0)
			return http_transfer_refuse(&q->t, -EPROTO, "the "
			    "server sent more than the requested parts");
		rc = multipart_feed(&q->parts, data, len);
		return rc == 0 ? 0 : http_transfer_refuse(&q->t, rc, "the "
		    "server sent malformed parts");
	}
	take_part(q, q->at, data, n);
	q->at += n;
	q->left -= n;
	/*
	 * The rest of the body was not requested. At the end of the body,
	 * ending the transfer would only close the connection.
	 */
	if (len > n || (q->t.reply.status == 200 &&
	    request_complete(q) && q->at != q->t.reply.length))
		return -ECANCELED;
	return 0;
}

/* The request */

/*
 * Prepares a request for as many of the spans from first onward as fit in one,
 * skipping complete ones, and sets count to their number.  Returns 0 or -errno.
 */
static int
request_open(struct http_request *q, struct http_object *o,
    struct http_spans *spans, size_t first)
{
	char field[HTTP_VALIDATOR + 16] = "";
	struct strbuf b = { .len = 0 };
	uint64_t bytes = 0;
	size_t i, wanted = 0;
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
	for (i = first; i < spans->count; i++) {
		const struct http_span *s = &spans->spans[i];

		if (is_complete(s))
			continue;
		bytes += s->length - s->got;
		if (wanted > 0 && q->how != HTTP_NONE &&
		    (q->how == HTTP_ONE || wanted == SPANS_MAX ||
		    bytes > REQUEST_MAX))
			break;
		strbuf_fmt(&b, "%s%" PRIu64 "-%" PRIu64, wanted == 0 ? "" :
		    ",", s->offset + s->got, s->offset + s->length - 1);
		wanted++;
	}
	q->count = i - first;
	q->wanted = http_spans_left(spans);
	strbuf_char(&b, '\0');
	rc = b.failed ? -ENOMEM : http_transfer_open(&q->t, o->h, q->url,
	    q->how == HTTP_NONE ? NULL : b.data,
	    *field == '\0' ? NULL : field);
	strbuf_free(&b);
	return rc;
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

/*
 * After the transfer, returns 0 (complete), -EAGAIN (retry after a pause),
 * -EREMCHG (retry immediately in a different way), or another -errno, with a
 * clause in why.
 */
static int
request_judge(struct http_request *q, char why[LAYER_WHY])
{
	bool whole = q->t.reply.status == 200 && q->t.begun &&
	    q->t.rc != -EREMCHG;
	bool several = q->how == HTTP_MANY && q->count > 1, refused;
	int rc;

	if (whole && q->how != HTTP_NONE && q->first + 1 < q->spans->count)
		learn(q->o, HTTP_NONE);
	if (whole) {
		pthread_mutex_lock(&q->o->h->lock);
		q->o->h->counts[HTTP_READ].whole++;
		q->o->whole = true;
		pthread_mutex_unlock(&q->o->h->lock);
	}
	if (request_complete(q)) {
		learn_target(q, true);
		return 0;
	}
	/* several ranges were requested, but only one was sent */
	if (several && q->taken > 0 && q->t.reply.status == 206 &&
	    !q->in_parts && q->left == 0) {
		learn(q->o, HTTP_ONE);
		return -EREMCHG;
	}
	rc = http_judge(&q->t, why);
	if (rc == -ESTALE)
		snprintf(why, LAYER_WHY, "the object has changed");
	/* a different type of request may succeed */
	refused = rc == -EREMCHG || rc == -EPROTO || rc == -EBADMSG ||
	    rc == -ENODATA;
	if (q->redirected && (refused || rc == -EACCES || rc == -ENOENT)) {
		learn_target(q, false);
		return -EREMCHG;
	}
	if (refused && several) {
		learn(q->o, HTTP_ONE);
		return -EREMCHG;
	}
	if (rc == 0 || rc == -ECANCELED || rc == -EPROTO || rc == -EBADMSG) {
		/* possibly due to a proxy or a bad connection */
		if (rc == 0 || rc == -ECANCELED)
			snprintf(why, LAYER_WHY, "the server did not send the "
			    "requested bytes");
		return q->t.reply.status >= 400 ? rc : -EAGAIN;
	}
	return rc;
}

/* Rounds */

int
http_read(struct http_object *o, const struct layer_range *ranges,
    size_t count, enum http_phase phase)
{
	struct http *h = o->h;
	struct http_transfer *all[AT_ONCE];
	struct http_request *requests = NULL;
	struct http_patience patience;
	struct http_spans spans;
	const struct http_span *last;
	char why[LAYER_WHY] = "";
	bool many, beyond = false;
	int rc;

	pthread_mutex_lock(&h->lock);
	many = o->host->ranges == HTTP_MANY;
	pthread_mutex_unlock(&h->lock);
	rc = http_spans_plan(&spans, ranges, count, many ? GAP_MANY : GAP_ONE,
	    SPAN_MAX);
	if (rc != 0 || spans.count == 0)
		goto out;
	last = &spans.spans[spans.count - 1];
	pthread_mutex_lock(&h->lock);
	beyond = o->has_size && last->offset + last->length > o->size;
	pthread_mutex_unlock(&h->lock);
	if (beyond) {
		snprintf(why, sizeof(why), "a range extends past the end of "
		    "the object");
		rc = -ENODATA;
		goto out;
	}
	requests = sys_calloc(AT_ONCE, sizeof(*requests));
	if (requests == NULL) {
		rc = -ENOMEM;
		goto out;
	}
	http_patience_start(&patience, h->o.timeout_s);

	/* each round requests the missing bytes once */
	while (rc == 0 && http_spans_left(&spans) > 0) {
		bool paused = false, answered = patience.answered;
		uint64_t taken = 0;
		size_t n = 0;

		for (size_t i = 0; rc == 0 && i < spans.count && n < AT_ONCE;
		    i += requests[n++].count) {
			while (i < spans.count && is_complete(&spans.spans[i]))
				i++;
			if (i == spans.count)
				break;
			rc = request_open(&requests[n], o, &spans, i);
			if (rc == 0 && patience.lost)
				http_transfer_renew(&requests[n].t);
			all[n] = &requests[n].t;
		}
		patience.lost = false;
		if (rc != 0)
			snprintf(why, sizeof(why), "%s", strerror(-rc));
		else
			http_run(h, all, n);
		for (size_t i = 0; rc == 0 && i < n; i++) {
			http_transfer_count(h, all[i], phase);
			taken += requests[i].taken;
		}
		if (taken >= PROGRESS) {
			http_patience_renew(&patience);
			answered = false;
		}
		for (size_t i = 0; rc == 0 && i < n; i++) {
			struct http_request *q = &requests[i];

			rc = request_judge(q, why);
			/*
			 * one pause after failures, and one answer to a
			 * challenge, are for all requests of the round
			 */
			if (rc == -EREMCHG || (rc == -EAGAIN && paused) ||
			    (q->t.reply.status == 401 && patience.answered &&
			    !answered))
				rc = 0;
			if (rc == 0)
				continue;
			rc = http_again(h, &q->t, q->url, rc, &patience,
			    phase, why);
			paused = true;
		}
		for (size_t i = 0; i < n; i++)
			http_transfer_close(all[i]);
	}
out:
	pthread_mutex_lock(&h->lock);
	if (rc == 0)
		h->counts[phase].useful += spans.wanted;
	else
		snprintf(o->why, sizeof(o->why), "%s", *why != '\0' ?
		    why : strerror(-rc));
	pthread_mutex_unlock(&h->lock);
	sys_free(requests);
	http_spans_free(&spans);
	return rc;
}

int
http_size(struct http_object *o, uint64_t *size)
{
	char byte;
	struct layer_range first = { .length = 1, .buf = &byte };
	bool known;
	int rc;

	for (int tries = 0; ; tries++) {
		pthread_mutex_lock(&o->h->lock);
		known = o->has_size;
		*size = o->size;
		pthread_mutex_unlock(&o->h->lock);
		if (known)
			return 0;
		if (tries == 1) {
			pthread_mutex_lock(&o->h->lock);
			snprintf(o->why, sizeof(o->why), "the server does not "
			    "state the object's size (Content-Range or "
			    "Content-Length)");
			pthread_mutex_unlock(&o->h->lock);
			return -EPROTO;
		}
		rc = http_read(o, &first, 1, HTTP_INDEX);
		if (rc != 0)
			return rc;
	}
}

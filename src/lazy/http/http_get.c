/*
 * http_get.c - small documents, and single requests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Documents */

struct getting {
	struct http_transfer *t;
	struct http_document *d;
	size_t max;
};

static int
begin_document(void *arg, const struct http_reply *r)
{
	struct getting *g = arg;

	strbuf_clear(&g->d->body);
	strcpy(g->d->type, r->type);
	strcpy(g->d->digest, r->digest);
	return http_transfer_plain(g->t, r);
}

static int
take_document(void *arg, const void *data, size_t len)
{
	struct getting *g = arg;

	if (len > g->max - g->d->body.len)
		return http_transfer_refuse(g->t, -EFBIG, "the document is "
		    "larger than is allowed");
	strbuf_add(&g->d->body, data, len);
	return g->d->body.failed ? -ENOMEM : 0;
}

int
http_get_as(struct http *h, const char *url, const struct http_manner *as,
    size_t max, struct http_document *d, char why[LAYER_WHY])
{
	struct http_transfer t, *all = &t;
	struct getting g = { .t = &t, .d = d, .max = max };
	struct http_patience p;
	int rc, end = 0;

	*d = (struct http_document){ .status = 0 };
	http_patience_start(&p, h->o.timeout_s);
	p.answered = !as->answering;
	do {
		t = (struct http_transfer){ .begin = begin_document,
			.body = take_document, .arg = &g, .post = as->post,
			.kin = as->kin };
		strbuf_clear(&d->body);
		rc = http_transfer_open(&t, h, url, NULL, as->field);
		if (rc != 0) {
			snprintf(why, LAYER_WHY, "%s", strerror(-rc));
		} else {
			if (p.lost)
				http_transfer_renew(&t);
			http_run(h, &all, 1);
			http_transfer_count(h, &t, HTTP_INDEX);
			d->status = t.reply.status;
			rc = http_judge(&t, why);
		}
		if (rc != 0)
			end = t.easy == NULL ? rc :
			    http_again(h, &t, url, rc, &p, HTTP_INDEX, why);
		http_transfer_close(&t);
		if (end != 0)
			return end;
	} while (rc != 0);
	/* parsers expect a NUL after the text */
	if (strbuf_room(&d->body, 1) == NULL)
		return -ENOMEM;
	d->body.data[d->body.len] = '\0';
	return 0;
}

int
http_get(struct http *h, const char *url, const char *accept, size_t max,
    struct http_document *d, char why[LAYER_WHY])
{
	char field[HTTP_FIELD];
	const struct http_manner as = { .field = field, .answering = true };

	snprintf(field, sizeof(field), "Accept: %s", accept == NULL ? "*/*" :
	    accept);
	return http_get_as(h, url, &as, max, d, why);
}

void
http_document_free(struct http_document *d)
{
	strbuf_free(&d->body);
}

/* Single requests */

struct asking {
	struct http_answer *a;
	size_t max;
};

static int
begin_answer(void *arg, const struct http_reply *r)
{
	(void)arg;
	(void)r;
	return 0;
}

static int
take_answer(void *arg, const void *data, size_t len)
{
	struct asking *g = arg;

	(void)data;
	g->a->length += len;
	return g->a->length > g->max ? -ECANCELED : 0;
}

int
http_ask(struct http *h, const char *url, const char *ranges, size_t max,
    struct http_answer *a, char why[LAYER_WHY])
{
	static const char *const names[] = { [CURL_HTTP_VERSION_1_0] =
		"HTTP/1.0", [CURL_HTTP_VERSION_1_1] = "HTTP/1.1",
		[CURL_HTTP_VERSION_2_0] = "HTTP/2" };
	struct asking g = { .a = a, .max = max };
	struct http_transfer t, *all = &t;
	bool answered = false, own;
	long version = 0;
	int rc;

	do {
		*a = (struct http_answer){ .status = 0 };
		t = (struct http_transfer){ .begin = begin_answer,
			.body = take_answer, .arg = &g };
		rc = http_transfer_open(&t, h, url, ranges, NULL);
		if (rc == 0) {
			http_run(h, &all, 1);
			http_transfer_count(h, &t, HTTP_INDEX);
			curl_easy_getinfo(t.easy, CURLINFO_HTTP_VERSION,
			    &version);
			if (version > 0 && version <
			    (long)(sizeof(names) / sizeof(*names)))
				strcpy(a->version, names[version]);
			a->status = t.reply.status;
			strcpy(a->type, t.reply.type);
			strcpy(a->encoding, t.reply.encoding);
			strcpy(a->caching, t.reply.caching);
			strcpy(a->validator, t.reply.validator);
			http_transfer_url(&t, a->url);
			rc = http_judge(&t, why);
		}
		own = a->status == 401 && http_is_own(&t, url);
		http_transfer_close(&t);
		if (!own || answered)
			break;
		answered = true;
	} while (http_auth_answer(h, url, &t.reply.challenge, why) == 0);
	return rc == -ECANCELED || a->status != 0 ? 0 : rc;
}

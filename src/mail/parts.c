/*
 * parts.c - MIME: text alone, or with an HTML part, a logo and an attachment
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include <stdio.h>
#include <string.h>

enum { BOUNDARY_B = 40, CLOSING = 2 * (BOUNDARY_B + 8), ATTACH_LEAST = 600,
    ATTACH_MOST = 32 << 10,
    TYPE_B = 75, LOGO_HEAD = 256, TEXT_LEAST = 200, TEXT_MOST = 1200 };

static void
add_plain(struct mail_maker *m, struct mail *a, size_t len)
{
	if (a->rich || mail_has(m, a, FIELD_MIME))
		encode_header(&m->out, "plain", a->encoding);
	strbuf_char(&m->out, '\n');
	if (a->twin != MAIL_NONE) {
		a->body = m->mails[a->twin].body;
		a->body_len = m->mails[a->twin].body_len;
	} else
		mail_body(m, a, len);
	if (m->bodies.failed)
		return;
	encode_text(&m->out, m->bodies.data + a->body,
	    (a->twin != MAIL_NONE ? a->body_len : m->bodies.len - a->body),
	    a->encoding);
}

/* Adds the same text again, as HTML. */
static void
add_page(struct mail_maker *m, const struct mail *a)
{
	const char *text = m->bodies.data + a->body;
	size_t left = a->body_len;

	if (m->bodies.failed)
		return;
	encode_header(&m->out, "html", a->encoding);
	strbuf_char(&m->out, '\n');
	strbuf_add(&m->out, a->list->page.data, a->list->page.len);
	while (left > 0) {
		const char *nl = memchr(text, '\n', left);
		size_t n = nl == NULL ? left : (size_t)(nl - text);

		strbuf_str(&m->out, n == 0 ? "<p class=\"MsoNormal\">" : "");
		encode_text(&m->out, text, n, a->encoding);
		strbuf_str(&m->out, n == 0 ? "</p>\n" : "<br>\n");
		text += n + (nl != NULL);
		left -= n + (nl != NULL);
	}
	strbuf_add(&m->out, a->list->end.data, a->list->end.len);
}

static size_t
left_of(const struct mail_maker *m, const struct mail *a)
{
	return m->out.len + CLOSING < a->target_B ?
	    a->target_B - m->out.len - CLOSING : 0;
}

static void
add_boundary(struct mail_maker *m, const char *boundary)
{
	strbuf_fmt(&m->out, "\n--%s\n", boundary);
}

/* Adds as much of the text as fits; the attachment fills the rest. */
static void
add_rich(struct mail_maker *m, struct mail *a)
{
	const struct list *l = a->list;
	size_t page = l->page.len + l->end.len, left, len;
	size_t logo = l->logo.len == 0 ? 0 : l->logo.len + LOGO_HEAD;
	char boundary[BOUNDARY_B];

	snprintf(boundary, sizeof(boundary), "=_%016llx",
	    (unsigned long long)prng_next(&m->prng));
	strbuf_fmt(&m->out, "Content-Type: multipart/mixed;\n"
	    "\tboundary=\"%s\"\n", boundary);
	add_boundary(m, boundary);
	left = left_of(m, a);
	len = prng_range(&m->prng, TEXT_LEAST, TEXT_MOST);
	if (left < logo + len + ATTACH_LEAST)
		logo = 0;
	if (page == 0 || left < page + logo + 2 * len + ATTACH_LEAST) {
		add_plain(m, a, len < left / 2 ? len : left / 2);
	} else {
		strbuf_fmt(&m->out, "Content-Type: multipart/alternative;\n"
		    "\tboundary=\"alt-%s\"\n\n--alt-%s\n", boundary, boundary);
		add_plain(m, a, len);
		strbuf_fmt(&m->out, "\n--alt-%s\n", boundary);
		add_page(m, a);
		strbuf_fmt(&m->out, "\n--alt-%s--\n", boundary);
	}
	add_boundary(m, boundary);
	if (logo > 0) {
		strbuf_fmt(&m->out, "Content-Type: image/png; "
		    "name=\"logo.png\"\n"
		    "Content-Transfer-Encoding: base64\n"
		    "Content-ID: <logo@%s>\n\n", l->host);
		strbuf_add(&m->out, l->logo.data, l->logo.len);
		add_boundary(m, boundary);
	}
	for (unsigned i = 0; !m->out.failed &&
	    ((left = left_of(m, a)) > ATTACH_LEAST || i == 0); i++) {
		if (i > 0)
			add_boundary(m, boundary);
		mail_attach(m, a, i, left < ATTACH_MOST ? left : ATTACH_MOST);
	}
	strbuf_fmt(&m->out, "\n--%s--\n", boundary);
}

void
mail_parts(struct mail_maker *m, struct mail *a)
{
	size_t type = mail_has(m, a, FIELD_MIME) ? TYPE_B : 1;

	if (a->rich)
		add_rich(m, a);
	else
		add_plain(m, a, a->target_B > m->out.len + type ?
		    a->target_B - m->out.len - type : 0);
}

/*
 * body.c - generating message bodies
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include <string.h>

/* The encoded size of 100 bytes of Latin-1 text. */
static const unsigned grown[ENCODE_COUNT] = { 100, 100, 104, 109, 122 };

static void
add_quotes(struct mail_maker *m, const struct mail *a, size_t len)
{
	const struct mail *from = &m->mails[a->parent];
	struct strbuf *b = &m->bodies;

	if (from->body_len == 0 || len < 160)
		return;
	strbuf_str(b, "On ");
	mail_date(b, from->date);
	strbuf_fmt(b, ", %s wrote:\n", from->author->name);
	/* the source buffer may move while it grows */
	if (strbuf_room(b, len + 256) != NULL)
		text_quote(&m->prng, b, b->data + from->body, from->body_len,
		    len);
	strbuf_char(b, '\n');
}

static size_t
room(const struct mail_maker *m, size_t from, size_t len)
{
	size_t used = m->bodies.len - from;

	return used < len ? len - used : 0;
}

void
mail_body(struct mail_maker *m, struct mail *a, size_t len)
{
	const char *signature = a->author->signature;
	const char *footer = a->list->footer;
	struct strbuf *b = &m->bodies;
	size_t end = 0;

	len = len * 100 / grown[a->encoding];
	a->body = b->len;
	if (a->parent != MAIL_NONE)
		add_quotes(m, a, len * prng_range(&m->prng, 35, 65) / 100);
	if (room(m, a->body, len) > 4 * strlen(signature))
		end += strlen(signature);
	else
		signature = "";
	if (room(m, a->body, len) > 3 * strlen(footer) + end)
		end += strlen(footer);
	else
		footer = "";
	text_start(&m->text, &m->world->words[a->list->language], &m->prng,
	    m->like->repeat);
	len = room(m, a->body, len);
	text_write(&m->text, b, len > end ? len - end : 0);
	a->body_len = b->len - a->body;
	strbuf_str(b, signature);
	strbuf_str(b, footer);
}

/*
 * body.c - generating message bodies
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include <string.h>

/* The least room for a quote, and the messages quoted by one. */
enum { QUOTE_LEAST = 160, SOURCES = 4 };

/* The bytes of consecutive lines that are repeated. */
enum { AGAIN_LEAST = 80, AGAIN_MOST = 400 };

/* The encoded size of 100 bytes of Latin-1 text. */
static const unsigned grown[ENCODE_COUNT] = { 100, 100, 104, 109, 122 };

/* Repeats at most len bytes of a message, from a random line on. */
static void
add_lines(struct mail_maker *m, const struct mail *from, size_t len)
{
	struct strbuf *b = &m->bodies;
	size_t left = from->body_len, n;
	const char *at, *nl;

	/* the source buffer may move while it grows */
	if (strbuf_room(b, len) == NULL)
		return;
	at = b->data + from->body;
	n = prng_below(&m->prng, (uint32_t)left);
	for (; (nl = memchr(at + n, '\n', left - n)) != NULL; n = 0) {
		left -= (size_t)(nl + 1 - at);
		at = nl + 1;
		nl = left == 0 ? NULL : memchr(at, '\n', left);
		n = nl == NULL ? len : (size_t)(nl + 1 - at);
		if (n >= len)
			break;
		if (*at != '>') {
			strbuf_add(b, at, n);
			len -= n;
		}
	}
}

static size_t
room_left(const struct mail_maker *m, size_t from, size_t len)
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
	size_t end = 0, again, again_end;
	uint16_t from = a->parent;

	len = len * 100 / grown[a->encoding];
	a->body = b->len;
	/* quotes of the parent and, if it is too short, other messages */
	if (from != MAIL_NONE) {
		uint32_t q = m->like->quoted, r = PRNG_ONE - q;
		uint32_t more = (q < r ? q : r) * 3 / 10;

		end = b->len + (size_t)((uint64_t)len *
		    prng_range(&m->prng, q - more, q + more) / PRNG_ONE);
	}
	for (int i = 0; i < SOURCES && from != MAIL_NONE &&
	    b->len + QUOTE_LEAST <= end; i++) {
		const struct mail *p = &m->mails[from];

		if (p->body_len > 0 && p->language == a->language) {
			size_t most = end - b->len;

			strbuf_str(b, "On ");
			mail_date(b, p->date);
			strbuf_fmt(b, ", %s wrote:\n", p->author->name);
			/* the source buffer may move while it grows */
			if (strbuf_room(b, most + 256) != NULL)
				text_quote(&m->prng, b, b->data + p->body,
				    p->body_len, most);
			strbuf_char(b, '\n');
		}
		from = mail_recent(m, a->folder, true);
	}
	end = 0;
	if (room_left(m, a->body, len) > 4 * strlen(signature))
		end += strlen(signature);
	else
		signature = "";
	if (room_left(m, a->body, len) > 3 * strlen(footer) + end)
		end += strlen(footer);
	else
		footer = "";
	len = room_left(m, a->body, len);
	len = len > end ? len - end : 0;
	end = b->len + len;
	/* lines of recent messages again, as in patches and forms */
	again = (size_t)((uint64_t)len * m->like->again / PRNG_ONE);
	again_end = b->len + again;
	for (size_t i = 0; m->like->again > 0 && i <= again / AGAIN_LEAST &&
	    b->len + AGAIN_LEAST <= again_end; i++) {
		size_t n = prng_range(&m->prng, AGAIN_LEAST, AGAIN_MOST);
		size_t left = again_end - b->len;

		from = mail_recent(m, a->folder, true);
		if (from != MAIL_NONE && m->mails[from].body_len > 0 &&
		    m->mails[from].language == a->language)
			add_lines(m, &m->mails[from], n < left ? n : left);
	}
	text_start(&m->text, &m->world->words[a->language], &m->prng,
	    &m->like->text);
	m->text.topic = m->week * WORLD_SET + a->folder + 1;
	text_write(&m->text, b, end > b->len ? end - b->len : 0);
	a->body_len = b->len - a->body;
	strbuf_str(b, signature);
	strbuf_str(b, footer);
}

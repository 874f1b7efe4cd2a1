/*
 * week.c - a week of mail: who replies to whom, and when
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Larger messages with attachments go to a separate folder. */
enum { SHARE_FROM = 24 << 10 };

/* The most digits added to a Message-ID. */
enum { ID_MORE = 24 };

enum { WEEK_S = 7 * 86400, STEP_S = WEEK_S / MAIL_WEEK };

/* Monday, 4 January 2021. */
static const int64_t first_day = 1609718400;

int64_t
mail_week_date(uint64_t week)
{
	return first_day + (int64_t)(week % MAIL_WEEKS) * WEEK_S;
}

void
mail_week(struct mail_maker *m, uint64_t week)
{
	m->week = week;
	m->count = 0;
	strbuf_clear(&m->bodies);
}

uint16_t
mail_recent(struct mail_maker *m, unsigned folder, bool same)
{
	unsigned back = prng_range(&m->prng, 0, 7);

	for (unsigned i = m->count; i-- > 0;) {
		const struct mail *b = &m->mails[i];

		if ((b->folder == folder) != same || (!same && b->rich) ||
		    b->twin != MAIL_NONE)
			continue;
		if (back-- == 0)
			return (uint16_t)i;
	}
	return MAIL_NONE;
}

/*
 * Determines whether the message is a reply or starts a thread, and invents the
 * Message-ID.
 */
static void
draw_thread(struct mail_maker *m, struct mail *a)
{
	uint64_t r = prng_next(&m->prng);
	size_t want = (size_t)((uint64_t)a->target_B * m->like->quoted /
	    PRNG_ONE);
	char extra[ID_MORE + 1] = "";
	struct strbuf *b = &m->spare;
	size_t least, more;

	/* a recent message, preferably one with enough text to quote */
	if (prng_chance(&m->prng, m->like->replies))
		for (int i = 0; i < 4 && (a->parent == MAIL_NONE ||
		    m->mails[a->parent].body_len < want); i++) {
			uint16_t p = mail_recent(m, a->folder, true);

			if (a->parent == MAIL_NONE || (p != MAIL_NONE &&
			    m->mails[p].body_len >
			    m->mails[a->parent].body_len))
				a->parent = p;
		}
	a->author = &m->world->people[prng_below(&m->prng, WORLD_PEOPLE)];
	least = sizeof("<12345678.123456@>") - 1 + strlen(a->author->host);
	more = m->like->id_B > least ? m->like->id_B - least : 0;
	for (size_t i = 0; i < more && i < ID_MORE; i++)
		extra[i] = "0123456789abcdef"[prng_next(&m->prng) >> 60];
	snprintf(a->id, sizeof(a->id), "%08x.%s%06x@%s", (unsigned)(r >> 32),
	    extra, (unsigned)(r & 0xffffff), a->author->host);
	if (a->parent != MAIL_NONE) {
		const struct mail *parent = &m->mails[a->parent];

		a->depth = (uint16_t)(parent->depth + 1);
		a->language = parent->language;
		memcpy(a->subject, parent->subject, sizeof(a->subject));
		return;
	}
	a->language = prng_chance(&m->prng, m->like->foreign);
	strbuf_clear(b);
	text_start(&m->text, &m->world->words[a->language], &m->prng,
	    &(struct text_like){ .repeat = 0 });
	text_line(&m->text, b, prng_range(&m->prng, 2, 6));
	if (a->list->footer[0] != '\0')
		snprintf(a->subject, sizeof(a->subject), "[%s] %.*s",
		    a->list->name, (int)b->len, b->failed ? "" : b->data);
	else
		snprintf(a->subject, sizeof(a->subject), "%.*s", (int)b->len,
		    b->failed ? "" : b->data);
}

int
mail_next(struct mail_maker *m)
{
	struct mail *a = &m->mails[m->count];
	const struct mail *b;
	uint64_t share = m->like->attachments, part = PRNG_ONE - share;
	uint64_t from = 0, before, u;

	*a = (struct mail){ .number = m->week * MAIL_WEEK + m->count,
	    .parent = MAIL_NONE, .twin = MAIL_NONE };
	prng_start(&m->prng, m->seed, a->number);
	/*
	 * Messages with attachments are spread evenly among the others, and the
	 * sizes of each type are spread evenly over their part of the table, so
	 * the statistics of a small corpus are close to those of a large one.
	 */
	before = a->number * share / PRNG_ONE;
	a->rich = (a->number + 1) * share / PRNG_ONE > before;
	a->nth = a->rich ? before : a->number - before;
	a->stuff = a->nth;
	if (a->rich) {
		from = part << 16;
		part = share;
	}
	u = (a->nth * MAIL_EVEN_X + prng_mix(m->seed + a->rich)) >> 32;
	a->target_B = sizes_at(&m->like->sizes,
	    (uint32_t)(from + (u * part >> 16)));
	a->date = mail_week_date(m->week) + m->count * (int64_t)STEP_S +
	    prng_below(&m->prng, STEP_S);
	a->sent = a->date;
	if (!a->rich)
		a->folder = (uint8_t)prng_below(&m->prng, WORLD_OFFICE);
	else
		a->folder = a->target_B < SHARE_FROM ? WORLD_OFFICE :
		    WORLD_SHARE;
	a->list = &m->world->lists[m->week / MAIL_WEEKS * WORLD_SET +
	    a->folder];
	a->luck = prng_below(&m->prng, PRNG_ONE);
	draw_thread(m, a);
	a->encoding = ENCODE_ASCII;
	if (a->language != 0)
		a->encoding = (enum encoding)prng_range(&m->prng,
		    ENCODE_LATIN1, a->rich || mail_has(m, a, FIELD_MIME) ?
		    ENCODE_UTF8_QP : ENCODE_UTF8);
	/* one message in five resends earlier attachments */
	if (a->rich && prng_chance(&m->prng, PRNG_ONE / 5)) {
		unsigned i = m->count;

		while (i > 0 && m->mails[i - 1].folder != a->folder)
			i--;
		if (i > 0)
			a->stuff = m->mails[i - 1].stuff;
	}
	/* one message in 40 is an earlier one, sent through another list */
	if (!a->rich && prng_chance(&m->prng, PRNG_ONE / 40))
		a->twin = mail_recent(m, a->folder, false);
	if (a->twin != MAIL_NONE) {
		b = &m->mails[a->twin];
		a->author = b->author;
		a->sent = b->sent;
		a->parent = b->parent;
		a->depth = b->depth;
		a->encoding = b->encoding;
		a->language = b->language;
		a->target_B = b->target_B;
		memcpy(a->id, b->id, sizeof(a->id));
		memcpy(a->subject, b->subject, sizeof(a->subject));
	}
	strbuf_clear(&m->out);
	mail_head(m, a);
	mail_parts(m, a);
	m->count++;
	return m->out.failed || m->bodies.failed || m->spare.failed ?
	    -ENOMEM : 0;
}

void
mail_free(struct mail_maker *m)
{
	strbuf_free(&m->bodies);
	strbuf_free(&m->out);
	strbuf_free(&m->spare);
}

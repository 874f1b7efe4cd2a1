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

/*
 * 2^64 divided by the plastic number and by its square, whose multiples fill a
 * square evenly (Roberts, "The unreasonable effectiveness of quasirandom
 * sequences", 2018).
 */
static const uint64_t even_x = 0xc13fa9a902a6328f, even_y = 0x91e10da5c79e7b1d;

uint32_t
mail_even_x(uint64_t i, uint64_t seed)
{
	return (uint32_t)((i * even_x + prng_mix(seed)) >> 32);
}

uint32_t
mail_even_y(uint64_t i, uint64_t seed)
{
	return (uint32_t)((i * even_y + prng_mix(~seed)) >> 32);
}

int64_t
mail_week_date(uint64_t week)
{
	return first_day + (int64_t)(week % MAIL_WEEKS) * WEEK_S;
}

uint32_t
mail_week_set(uint64_t week)
{
	return (uint32_t)(week / MAIL_WEEKS);
}

void
mail_week(struct mail_maker *m, uint64_t week)
{
	m->week = week;
	m->count = 0;
	strbuf_clear(&m->bodies);
}

/*
 * Determines the attachments and size of a message.  Messages with attachments
 * are spread evenly among the others, and the sizes of each type are spread
 * evenly over their part of the table, so the statistics of a small corpus are
 * close to those of a large one.
 */
static void
draw_size(const struct mail_maker *m, struct mail *a)
{
	uint64_t share = m->like->attachments;
	uint64_t before = a->number * share / PRNG_ONE;
	uint64_t u, from = 0, part = PRNG_ONE - share;

	a->rich = (a->number + 1) * share / PRNG_ONE > before;
	a->nth = a->rich ? before : a->number - before;
	a->stuff = a->nth;
	if (a->rich) {
		from = (uint64_t)part << 16;
		part = share;
	}
	u = mail_even_x(a->nth, m->seed + a->rich);
	a->target_B = sizes_at(&m->like->sizes,
	    (uint32_t)(from + (u * part >> 16)));
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

static void
draw_subject(struct mail_maker *m, struct mail *a)
{
	struct strbuf *b = &m->spare;

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

/* Returns a recent message, preferably one with enough text to quote. */
static uint16_t
draw_parent(struct mail_maker *m, const struct mail *a)
{
	size_t want = (size_t)((uint64_t)a->target_B * m->like->quoted /
	    PRNG_ONE);
	uint16_t best = MAIL_NONE;

	for (int i = 0; i < 4 && (best == MAIL_NONE ||
	    m->mails[best].body_len < want); i++) {
		uint16_t p = mail_recent(m, a->folder, true);

		if (best == MAIL_NONE || (p != MAIL_NONE &&
		    m->mails[p].body_len > m->mails[best].body_len))
			best = p;
	}
	return best;
}

/*
 * Determines whether the message is a reply or starts a thread, and invents the
 * Message-ID.
 */
static void
draw_thread(struct mail_maker *m, struct mail *a)
{
	uint64_t r = prng_next(&m->prng);
	char extra[ID_MORE + 1] = "";
	size_t least, more;

	a->parent = prng_chance(&m->prng, m->like->replies) ?
	    draw_parent(m, a) : MAIL_NONE;
	a->author = &m->world->people[prng_below(&m->prng, WORLD_PEOPLE)];
	least = sizeof("<12345678.123456@>") - 1 + strlen(a->author->host);
	more = m->like->id_B > least ? m->like->id_B - least : 0;
	for (size_t i = 0; i < more && i < ID_MORE; i++)
		extra[i] = "0123456789abcdef"[prng_next(&m->prng) >> 60];
	snprintf(a->id, sizeof(a->id), "%08x.%s%06x@%s", (unsigned)(r >> 32),
	    extra, (unsigned)(r & 0xffffff), a->author->host);
	if (a->parent == MAIL_NONE) {
		a->language = prng_chance(&m->prng, m->like->foreign);
		draw_subject(m, a);
		return;
	}
	a->depth = (uint16_t)(m->mails[a->parent].depth + 1);
	a->language = m->mails[a->parent].language;
	memcpy(a->subject, m->mails[a->parent].subject, sizeof(a->subject));
}

/* Makes the message a copy of an earlier one, sent through another list. */
static void
draw_twin(struct mail_maker *m, struct mail *a)
{
	const struct mail *b;

	if (a->rich || !prng_chance(&m->prng, PRNG_ONE / 40))
		return;
	a->twin = mail_recent(m, a->folder, false);
	if (a->twin == MAIL_NONE)
		return;
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

int
mail_next(struct mail_maker *m)
{
	struct mail *a = &m->mails[m->count];

	*a = (struct mail){ .number = m->week * MAIL_WEEK + m->count,
	    .parent = MAIL_NONE, .twin = MAIL_NONE };
	prng_start(&m->prng, m->seed, a->number);
	draw_size(m, a);
	a->date = mail_week_date(m->week) + m->count * (int64_t)STEP_S +
	    prng_below(&m->prng, STEP_S);
	a->sent = a->date;
	if (!a->rich)
		a->folder = (uint8_t)prng_below(&m->prng, WORLD_OFFICE);
	else
		a->folder = a->target_B < SHARE_FROM ? WORLD_OFFICE :
		    WORLD_SHARE;
	a->list = &m->world->lists[mail_week_set(m->week) * WORLD_SET +
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
	draw_twin(m, a);
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

/*
 * head.c - headers: traces, signatures and lists
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 5322 (format), RFC 5321 (Received), RFC 6376 (DKIM), RFC 8601
 * (Authentication-Results), RFC 8617 (ARC), RFC 2369 and 2919 (lists).  The
 * signatures are random data in the correct format.  Small messages pass
 * through few hosts, so that the trace headers leave room for text.
 */
#include "mail/mail.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* The size from which messages have a field, unless a share is given, */
static const uint16_t field_from[FIELD_COUNT] = { [FIELD_REFERENCES] = 800,
    [FIELD_AGENT] = 800, [FIELD_LIST] = 1600, [FIELD_RECEIVED] = 800,
    [FIELD_ROUTE] = 1350, [FIELD_DKIM] = 1900, [FIELD_ARC] = 5200 };

/* and the size from which there is room for it. */
const uint16_t mail_field_least[FIELD_COUNT] = { [FIELD_REFERENCES] = 400,
    [FIELD_AGENT] = 400, [FIELD_LIST] = 1200, [FIELD_RECEIVED] = 800,
    [FIELD_ROUTE] = 1350, [FIELD_DKIM] = 1900, [FIELD_ARC] = 3600 };

enum { SIGNATURE = 172, BODY_HASH = 43, WRAPPED = 72 };

/*
 * The people who get copies, the words of a field that all messages have, half
 * the size of a field, and the least room for text.
 */
enum { COPIES = 4, CONSTANT_WORDS = 8, MORE_HALF = 100, TEXT_LEAST = 200 };

bool
mail_has(const struct mail_maker *m, const struct mail *a, enum mail_field f)
{
	uint32_t share = m->like->fields[f];

	if (share == FIELD_BY_SIZE)
		return a->target_B >= field_from[f];
	return a->luck < share && a->target_B >= mail_field_least[f];
}

void
mail_date(struct strbuf *b, int64_t date)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t t = (time_t)date;
	struct tm tm;

	gmtime_r(&t, &tm);
	strbuf_fmt(b, "%.3s, %d %.3s %d %02d:%02d:%02d +0000",
	    days + 3 * tm.tm_wday, tm.tm_mday, months + 3 * tm.tm_mon,
	    tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static void
add_received(struct mail_maker *m, const char *by, const char *from,
    const uint8_t ip[4], int64_t date)
{
	struct prng *p = &m->prng;

	strbuf_fmt(&m->out, "Received: from %s (%s [%u.%u.%u.%u])\n", from,
	    from, ip[0], ip[1], ip[2], ip[3]);
	strbuf_fmt(&m->out, "\tby %s (Postfix) with ESMTPS id %010llX;\n\t", by,
	    (unsigned long long)(prng_next(p) >> 24));
	mail_date(&m->out, date);
	strbuf_char(&m->out, '\n');
}

/* Adds base64 in folded lines. */
static void
add_signature(struct mail_maker *m)
{
	for (unsigned n = SIGNATURE; n > 0;) {
		unsigned k = n < WRAPPED ? n : WRAPPED;

		strbuf_str(&m->out, n == SIGNATURE ? "\tb=" : "\t ");
		encode_token(&m->out, &m->prng, k);
		n -= k;
		strbuf_char(&m->out, '\n');
	}
}

static void
add_dkim(struct mail_maker *m, const char *field, const char *host,
    int64_t date)
{
	strbuf_fmt(&m->out, "%s a=rsa-sha256; c=relaxed/relaxed; d=%s;\n"
	    "\ts=mail; t=%lld;\n\th=from:to:subject:date:message-id:"
	    "in-reply-to:references:mime-version:content-type;\n\tbh=", field,
	    host, (long long)date);
	encode_token(&m->out, &m->prng, BODY_HASH);
	strbuf_str(&m->out, "=;\n");
	add_signature(m);
}

static void
add_results(struct mail_maker *m, const char *field, const struct mail *a)
{
	strbuf_fmt(&m->out, "%s lists.%s;\n\tdkim=pass header.d=%s "
	    "header.s=mail;\n\tspf=pass (lists.%s: domain of %s designates "
	    "%u.%u.%u.%u as permitted sender) smtp.mailfrom=%s;\n"
	    "\tdmarc=pass (p=NONE) header.from=%s\n", field, a->list->host,
	    a->author->host, a->list->host, a->author->address,
	    a->author->ip[0], a->author->ip[1], a->author->ip[2],
	    a->author->ip[3], a->author->address, a->author->host);
}

/* Adds the trace headers of the hosts on the route, last host first. */
static void
add_traces(struct mail_maker *m, const struct mail *a)
{
	uint8_t ours[4] = { 192, 0, 2, (uint8_t)(a->list->name[0]) };
	char lists[3 * WORD_B], mx[3 * WORD_B];
	uint32_t late = prng_range(&m->prng, 1, 30);

	snprintf(lists, sizeof(lists), "lists.%s", a->list->host);
	snprintf(mx, sizeof(mx), "mx1.%s", a->author->host);
	if (prng_chance(&m->prng, PRNG_ONE * 7 / 8))
		strbuf_fmt(&m->out, "Return-Path: <%s-bounces@%s>\n",
		    a->list->name, lists);
	add_received(m, "mail.home.example", lists, ours, a->date + late + 2);
	if (mail_has(m, a, FIELD_ARC)) {
		strbuf_fmt(&m->out, "ARC-Seal: i=1; a=rsa-sha256; t=%lld; "
		    "cv=none;\n\td=%s; s=arc;\n", (long long)a->date + 4,
		    a->list->host);
		add_signature(m);
		add_dkim(m, "ARC-Message-Signature: i=1;", a->list->host,
		    a->date + 4);
		add_results(m, "ARC-Authentication-Results: i=1;", a);
	}
	if (mail_has(m, a, FIELD_DKIM)) {
		add_results(m, "Authentication-Results:", a);
		add_received(m, lists, mx, a->author->ip, a->date + late);
		add_dkim(m, "DKIM-Signature: v=1;", a->author->host, a->sent);
	}
	if (mail_has(m, a, FIELD_ROUTE))
		add_received(m, mx, a->author->machine, a->author->ip,
		    a->date + 1);
}

/* Adds fields of other programs until they have about len bytes. */
static void
add_more(struct mail_maker *m, const struct mail *a, size_t len)
{
	const struct words *w = &m->world->words[0];
	size_t from = m->out.len;
	unsigned others = prng_below(&m->prng, 3), constants = 0;

	/* the last field is added or left out at random: it may be too long */
	while (m->out.len + prng_below(&m->prng, 2 * MORE_HALF) < from + len &&
	    !m->out.failed) {
		uint32_t kind = prng_below(&m->prng, PRNG_ONE);

		if (kind < m->like->signatures) {
			add_dkim(m, "X-DKIM-Signature: v=1;", a->author->host,
			    a->sent);
		} else if (kind - m->like->signatures < m->like->constant) {
			/* one of those that all messages of the list have */
			struct prng p;
			char name[WORD_B];

			prng_start(&p, (uintptr_t)(a->list - m->world->lists),
			    constants++);
			words_name(&p, 3, name);
			strbuf_fmt(&m->out, "X-%s:", name);
			for (int k = 0; k < CONSTANT_WORDS; k++) {
				const struct word *v =
				    &w->at[prng_below(&p, WORDS)];

				strbuf_char(&m->out, ' ');
				strbuf_add(&m->out, v->text, v->len);
			}
			strbuf_char(&m->out, '\n');
		} else if (others++ % 3 == 0) {
			/* copies to people who read the thread */
			uint64_t thread = 0;

			for (const char *s = a->subject; *s != '\0'; s++)
				thread = prng_mix(thread + (uint8_t)*s);
			strbuf_str(&m->out, "Cc: ");
			for (unsigned i = 0; i < COPIES; i++) {
				const struct person *to = &m->world->people[
				    prng_mix(thread + i) % WORLD_PEOPLE];

				strbuf_fmt(&m->out, "%s <%s>%s\n", to->name,
				    to->address, i + 1 < COPIES ? ",\n\t" : "");
			}
		} else
			add_received(m, a->list->host, a->author->machine,
			    a->author->ip, a->sent + others);
	}
}

void
mail_head(struct mail_maker *m, const struct mail *a)
{
	static const char *const clients[] = { "Mutt/1.14.6 (2020-07-11)",
	    "Gnus/5.13 (Gnus v5.13) Emacs/26.1 (gnu/linux)",
	    "Mozilla Thunderbird 78.6.0", "K-9 Mail for Android",
	    "Evolution 3.38.2-1" };
	struct strbuf *b = &m->out;
	const struct list *l = a->list;
	uint16_t way[4];
	unsigned n = 0;

	if (mail_has(m, a, FIELD_RECEIVED))
		add_traces(m, a);
	strbuf_str(b, "From: ");
	encode_phrase(b, a->author->name, a->encoding);
	strbuf_fmt(b, " <%s>\n", a->author->address);
	if (mail_has(m, a, FIELD_TO))
		strbuf_fmt(b, "To: %s@lists.%s\n", a->list->name,
		    a->list->host);
	strbuf_fmt(b, "Subject: %s", a->depth > 0 ? "Re: " : "");
	encode_phrase(b, a->subject, a->encoding);
	strbuf_str(b, "\nDate: ");
	mail_date(b, a->sent);
	strbuf_fmt(b, "\nMessage-ID: <%s>\n", a->id);
	if (a->parent != MAIL_NONE && mail_has(m, a, FIELD_REPLY))
		strbuf_fmt(b, "In-Reply-To: <%s>\n", m->mails[a->parent].id);
	/* from the thread's first message on, but at most four */
	for (uint16_t i = a->parent; i != MAIL_NONE && n < 4;
	    i = m->mails[i].parent)
		way[n++] = i;
	if (n > 0 && mail_has(m, a, FIELD_REFERENCES)) {
		strbuf_str(b, "References:");
		while (n-- > 0)
			strbuf_fmt(b, " <%s>%s", m->mails[way[n]].id,
			    n > 0 ? "\n" : "");
		strbuf_char(b, '\n');
	}
	if (mail_has(m, a, FIELD_AGENT) && (prng_chance(&m->prng,
	    PRNG_ONE / 2) || m->like->fields[FIELD_AGENT] != FIELD_BY_SIZE))
		strbuf_fmt(b, "User-Agent: %s\n", clients[a->author->client]);
	if (l->footer[0] != '\0' && mail_has(m, a, FIELD_LIST))
		strbuf_fmt(b, "List-Id: <%s.lists.%s>\n"
		    "List-Unsubscribe: <https://lists.%s/mailman/options/%s>,\n"
		    "\t<mailto:%s-request@lists.%s?subject=unsubscribe>\n"
		    "List-Archive: <https://lists.%s/pipermail/%s/>\n"
		    "List-Post: <mailto:%s@lists.%s>\nPrecedence: list\n"
		    "Errors-To: %s-bounces@lists.%s\n", l->name, l->host,
		    l->host, l->name, l->name, l->host, l->host, l->name,
		    l->name, l->host, l->name, l->host);
	if (a->rich || mail_has(m, a, FIELD_MIME))
		strbuf_str(b, "MIME-Version: 1.0\n");
	if (m->like->more_B > 0 && a->target_B > b->len + TEXT_LEAST) {
		size_t more = prng_range(&m->prng, m->like->more_B / 2,
		    m->like->more_B / 2 * 3);
		size_t room = a->target_B - b->len - TEXT_LEAST;

		add_more(m, a, more < room ? more : room);
	}
}

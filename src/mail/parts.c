/*
 * parts.c - MIME: text alone, or with an HTML part, a logo and an attachment
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/mail.h"

#include "base/bytes.h"

#include <stdio.h>
#include <string.h>

enum { BOUNDARY_B = 40, CLOSING = 2 * (BOUNDARY_B + 8), ATTACH_LEAST = 600,
    ATTACH_MOST = 32 << 10, TYPE_B = 75, LOGO_HEAD = 256,
    TEXT_LEAST = 200, TEXT_MOST = 1200 };

enum { PAGE = 64 };			/* number of lines repeated in a
					 * document */

/* Attachments in one message differ as much as those in different messages. */
enum { STRIDE = 7919 };

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

static void
add_header(struct mail_maker *m, struct prng *p, const char *type,
    const char *suffix, bool base64)
{
	char name[WORD_B];

	words_name(p, 3, name);
	strbuf_fmt(&m->out, "Content-Type: %s; name=\"%s.%s\"\n"
	    "Content-Disposition: attachment; filename=\"%s.%s\"\n"
	    "Content-Transfer-Encoding: %s\n\n", type, name, suffix, name,
	    suffix, base64 ? "base64" : "7bit");
}

/* Adds an office document, much of which is repetitive. */
static void
add_document(struct mail_maker *m, struct prng *p, size_t end)
{
	uint8_t lines[PAGE][ENCODE_RAW + 7], raw[ENCODE_RAW + 7] = { 0 };
	char out[ENCODE_LINE];

	add_header(m, p, "application/msword", "doc", true);
	for (int i = 0; i < PAGE; i++)
		for (int j = 0; j < 8; j++)
			store_le64(lines[i] + 8 * j, prng_next(p) &
			    0x1f1f1f1f1f1f1f1f);
	while (m->out.len + ENCODE_LINE <= end && !m->out.failed) {
		uint8_t *line = lines[prng_below(p, PAGE)];
		uint32_t at = prng_below(p, ENCODE_RAW);

		line[at] = (uint8_t)prng_next(p);
		encode_line(out, prng_chance(p, PRNG_ONE / 6) ? raw : line);
		strbuf_add(&m->out, out, ENCODE_LINE);
	}
}

/* Adds a program's log: a few messages with varying numbers. */
static void
add_log(struct mail_maker *m, struct text *t, size_t end)
{
	struct prng *p = t->prng;
	uint32_t second = prng_below(p, 40000);
	size_t at[8];

	add_header(m, p, "text/x-log", "log", false);
	strbuf_clear(&m->spare);
	for (int i = 0; i < 8; i++) {
		at[i] = m->spare.len;
		text_line(t, &m->spare, prng_range(p, 3, 9));
		strbuf_char(&m->spare, '\0');
	}
	while (m->out.len + 100 < end && !m->out.failed &&
	    !m->spare.failed) {
		second += prng_below(p, 20);
		strbuf_fmt(&m->out, "%02u:%02u:%02u daemon[%u]: ",
		    second / 3600 % 24, second / 60 % 60, second % 60,
		    1200 + prng_below(p, 4));
		strbuf_str(&m->out, m->spare.data + at[prng_below(p, 8)]);
		strbuf_fmt(&m->out, " %u\n", prng_below(p, 1u <<
		    prng_range(p, 4, 20)));
	}
}

static void
add_table(struct mail_maker *m, struct text *t, size_t end)
{
	struct prng *p = t->prng;
	unsigned row = 0;

	add_header(m, p, "text/csv", "csv", false);
	while (m->out.len + 64 < end && !m->out.failed) {
		strbuf_fmt(&m->out, "%u,", ++row);
		text_line(t, &m->out, 1);
		/*
		 * one call each, because argument evaluation order is
		 * unspecified
		 */
		strbuf_fmt(&m->out, ",%u", prng_below(p, 500));
		strbuf_fmt(&m->out, ".%02u", prng_below(p, 100));
		strbuf_fmt(&m->out, ",%u", prng_below(p, 3));
		strbuf_fmt(&m->out, ",%u\n", prng_below(p, 40));
	}
}

/*
 * Adds an attachment: a header, and len bytes of content.  It has its own
 * stream of random numbers, so that a resent attachment begins with the same
 * bytes even if its length differs.  The types are drawn from a low-discrepancy
 * sequence, so that their proportions converge quickly.
 */
static void
add_attachment(struct mail_maker *m, const struct mail *a, unsigned i,
    size_t len)
{
	/* content that resembles pictures and archives */
	static const char *const noise[][2] = { { "image/jpeg", "jpg" },
	    { "application/pdf", "pdf" }, { "application/zip", "zip" },
	    { "image/png", "png" } };
	uint32_t u = (uint32_t)(((a->stuff + i * STRIDE) * MAIL_EVEN_Y +
	    prng_mix(~m->seed)) >> 48);
	uint32_t part = PRNG_ONE - m->like->noise;
	size_t end = m->out.len + len;
	struct text *t = &m->text;
	struct prng p;

	prng_start(&p, ~m->seed, a->stuff << 16 | i);
	text_start(t, &m->world->words[0], &p,
	    &(struct text_like){ .repeat = m->like->text.repeat });
	if (u >= part) {
		unsigned k = prng_below(&p, 4);

		add_header(m, &p, noise[k][0], noise[k][1], true);
		encode_noise(&m->out, &p, m->out.len < end ?
		    end - m->out.len : 0);
	} else switch (u * 3 / part) {
	case 0: add_document(m, &p, end); break;
	case 1: add_log(m, t, end); break;
	default: add_table(m, t, end);
	}
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

void
mail_parts(struct mail_maker *m, struct mail *a)
{
	const struct list *l = a->list;
	size_t page = l->page.len + l->end.len, left, len;
	size_t logo = l->logo.len == 0 ? 0 : l->logo.len + LOGO_HEAD;
	size_t type = mail_has(m, a, FIELD_MIME) ? TYPE_B : 1;
	char boundary[BOUNDARY_B];

	if (!a->rich) {
		add_plain(m, a, a->target_B > m->out.len + type ?
		    a->target_B - m->out.len - type : 0);
		return;
	}
	/* as much of the text as fits; the attachments fill the rest */
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
		/* the same text again, as HTML */
		encode_header(&m->out, "html", a->encoding);
		strbuf_char(&m->out, '\n');
		strbuf_add(&m->out, l->page.data, l->page.len);
		for (size_t at = 0, n; !m->bodies.failed && at < a->body_len;
		    at += n) {
			const char *line = m->bodies.data + a->body + at;
			const char *nl = memchr(line, '\n', a->body_len - at);

			n = nl == NULL ? a->body_len - at : (size_t)(nl - line);
			strbuf_str(&m->out, n == 0 ?
			    "<p class=\"MsoNormal\">" : "");
			encode_text(&m->out, line, n, a->encoding);
			strbuf_str(&m->out, n == 0 ? "</p>\n" : "<br>\n");
			n += nl != NULL;
		}
		strbuf_add(&m->out, l->end.data, l->end.len);
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
		add_attachment(m, a, i, left < ATTACH_MOST ? left :
		    ATTACH_MOST);
	}
	strbuf_fmt(&m->out, "\n--%s--\n", boundary);
}

/*
 * attach.c - generating attachments
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An attachment has its own stream of random numbers, so that a resent
 * attachment begins with the same bytes even if its length differs.
 */
#include "mail/mail.h"

#include "base/bytes.h"

#include <string.h>

enum { PAGE = 64 };			/* number of lines repeated in a
					 * document */

/* Attachments in one message differ as much as those in different messages. */
enum { STRIDE = 7919 };

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

/* Adds content that resembles pictures and archives. */
static void
add_noise(struct mail_maker *m, struct prng *p, size_t end)
{
	static const char *const types[][2] = { { "image/jpeg", "jpg" },
	    { "application/pdf", "pdf" }, { "application/zip", "zip" },
	    { "image/png", "png" } };
	unsigned i = prng_below(p, 4);

	add_header(m, p, types[i][0], types[i][1], true);
	encode_noise(&m->out, p, m->out.len < end ? end - m->out.len : 0);
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
 * The types are drawn from a low-discrepancy sequence, so that their
 * proportions converge quickly.
 */
void
mail_attach(struct mail_maker *m, const struct mail *a, unsigned i, size_t len)
{
	uint32_t u = mail_even_y(a->stuff + i * STRIDE, m->seed) >> 16;
	uint32_t part = PRNG_ONE - m->like->noise;
	size_t end = m->out.len + len;
	struct text *t = &m->text;
	struct prng p;

	prng_start(&p, ~m->seed, a->stuff << 16 | i);
	text_start(t, &m->world->words[0], &p,
	    &(struct text_like){ .repeat = m->like->text.repeat });
	if (u >= part)
		add_noise(m, &p, end);
	else switch (u * 3 / part) {
	case 0: add_document(m, &p, end); break;
	case 1: add_log(m, t, end); break;
	default: add_table(m, t, end);
	}
}

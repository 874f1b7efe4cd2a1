/*
 * text.h - what people write to each other
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sentences of made-up words in paragraphs of lines, in Latin-1.  People
 * repeat themselves within a mail: with probability `repeat' the next two to
 * five words (more, if that is over a half) are some that stand further up.
 * That is what makes a mail compress as mail does; words by their frequencies
 * alone do not.
 *
 * A struct text belongs to one thread.
 */
#ifndef COLDPRESS_TEXT_H
#define COLDPRESS_TEXT_H

#include "base/strbuf.h"
#include "mail/words.h"

enum { TEXT_MEMORY = 4096 };		/* words */

struct text {
	const struct words *words;
	struct prng *prng;
	uint32_t repeat;		/* of PRNG_ONE */
	const char *break_line;		/* between lines, and */
	const char *break_par;		/* between paragraphs */
	unsigned column;
	unsigned left;			/* words of the sentence */
	unsigned copy, copies;		/* next word to copy, how many */
	uint32_t count;			/* words so far */
	uint16_t said[TEXT_MEMORY];
};

/* Forgets what was said. */
void text_start(struct text *t, const struct words *w, struct prng *p,
    uint32_t repeat);

/* Adds paragraphs of about len bytes in all, the last one ended. */
void text_write(struct text *t, struct strbuf *b, size_t len);

/* count words in one line, the first one capitalised, without an end. */
void text_line(struct text *t, struct strbuf *b, unsigned count);

/*
 * Some lines of a body, each behind "> ", not over len bytes.  Lines that
 * were quoted often enough are left out.
 */
void text_quote(struct prng *p, struct strbuf *b, const char *body, size_t size,
    size_t len);

#endif

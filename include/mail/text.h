/*
 * text.h - generating the text of messages
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The text is Latin-1: sentences of invented words, broken into lines and
 * paragraphs.  Text in a message repeats: with probability `repeat' the next
 * two to five words (more if `repeat' exceeds one half) are copied from earlier
 * text.  This makes a message as compressible as a real one; word frequencies
 * alone do not.
 *
 * A struct text belongs to one thread.
 */
#ifndef COLDPRESS_TEXT_H
#define COLDPRESS_TEXT_H

#include "base/strbuf.h"
#include "mail/words.h"

enum { TEXT_MEMORY = 4096 };		/* words */

/* The properties of text; probabilities are in units of 1 / PRNG_ONE. */
struct text_like {
	uint32_t repeat;		/* the next words repeat earlier ones
					 * of the message */
	uint32_t phrase;		/* the next word is one of the
					 * followers of the last word, which
					 * are the same in all messages */
	uint32_t novel;			/* the next word is in no other
					 * message */
	uint32_t topic;			/* the next word is one of the few that
					 * belong to the topic */
};

struct text {
	const struct words *words;
	struct prng *prng;
	struct text_like like;
	uint64_t salt;			/* determines the novel words */
	uint64_t topic;			/* determines the words of the topic */
	const char *break_line;		/* separator between lines, */
	const char *break_par;		/* separator between paragraphs */
	unsigned column;
	unsigned left;			/* words left in the sentence */
	unsigned copy, copies;		/* next word to copy, words left to
					 * copy */
	uint32_t count;			/* words so far */
	uint16_t said[TEXT_MEMORY];	/* from WORDS on: novel words */
};

/*
 * Starts a message, discarding earlier text.  Set t->topic afterwards if the
 * text has one.
 */
void text_start(struct text *t, const struct words *w, struct prng *p,
    const struct text_like *like);

/*
 * Appends paragraphs of about len bytes in total, with a break after the last.
 */
void text_write(struct text *t, struct strbuf *b, size_t len);

/*
 * Appends count words in one line, the first one capitalized, without a
 * newline.
 */
void text_line(struct text *t, struct strbuf *b, unsigned count);

/*
 * Quotes some lines of a body, each prefixed with "> ", at most len bytes in
 * total.  Lines that have already been quoted several times are omitted.
 */
void text_quote(struct prng *p, struct strbuf *b, const char *body, size_t size,
    size_t len);

#endif

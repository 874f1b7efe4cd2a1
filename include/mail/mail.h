/*
 * mail.h - generating mail, a week at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The unit of work is a week: MAIL_WEEK messages of one set of lists, in date
 * order, with the threads among them.  Message number i for seed s is generated
 * from stream i of the random numbers for s, and from earlier messages of the
 * same week.  Therefore any thread can generate any week, and a small corpus is
 * a prefix of a larger one.
 *
 * A struct mail_maker belongs to one thread.
 */
#ifndef COLDPRESS_MAIL_H
#define COLDPRESS_MAIL_H

#include "base/strbuf.h"
#include "mail/encode.h"
#include "mail/sizes.h"
#include "mail/text.h"
#include "mail/world.h"

#include <stdint.h>

enum { MAIL_WEEK = 256, MAIL_WEEKS = 240, MAIL_NONE = MAIL_WEEK };

/* Header fields that only some messages have. */
enum mail_field {
	FIELD_TO, FIELD_REPLY, FIELD_REFERENCES, FIELD_MIME, FIELD_AGENT,
	FIELD_LIST, FIELD_RECEIVED, FIELD_ROUTE, FIELD_DKIM, FIELD_ARC,
	FIELD_COUNT
};

enum { FIELD_BY_SIZE = PRNG_ONE + 1 };

/* The most bytes of a Message-ID, and of other header fields. */
enum { MAIL_ID_MOST = 80, MAIL_MORE_MOST = 32 << 10 };

/* The size from which a message has room for a field. */
extern const uint16_t mail_field_least[FIELD_COUNT];

/* The properties of a corpus.  Fractions are in units of 1 / PRNG_ONE. */
struct mail_like {
	struct sizes sizes;
	uint32_t attachments;		/* share of messages with attachments,
					 * which are the largest messages */
	uint32_t noise;			/* share of incompressible
					 * attachments */
	uint32_t replies;		/* share of messages that quote */
	uint32_t quoted;		/* share of quotes in their text */
	uint32_t foreign;		/* share of threads with accents */
	uint32_t again;			/* share of the other text that
					 * repeats lines of recent messages */
	uint32_t id_B;			/* size of a Message-ID, 0: short */
	uint32_t more_B;		/* bytes of other header fields, */
	uint32_t signatures;		/* the shares of signatures, */
	uint32_t constant;		/* and of fields that are the same for
					 * the whole list, in their number */
	uint32_t fields[FIELD_COUNT];	/* share of messages with a field, of
					 * those with room for it, or
					 * FIELD_BY_SIZE: the large ones */
	struct text_like text;
};

extern const struct mail_like mail_like_default;

struct mail {
	uint64_t number;
	uint64_t nth;			/* index among the messages with
					 * attachments, or those without */
	uint64_t stuff;			/* nth of the message whose attachments
					 * are reused */
	const struct list *list;
	const struct person *author;
	int64_t date, sent;		/* seconds since 1970 */
	uint32_t target_B;
	uint16_t parent, twin;		/* indices in the week, or MAIL_NONE */
	uint16_t depth;			/* depth within the thread */
	uint8_t folder;			/* 0..WORLD_SET - 1 */
	uint8_t language;
	bool rich;			/* has attachments */
	uint32_t luck;			/* which fields it has, < PRNG_ONE */
	enum encoding encoding;
	size_t body, body_len;		/* position of the text in the bodies */
	char id[80];
	char subject[80];		/* Latin-1, without Re: */
};

struct mail_maker {
	const struct world *world;
	const struct mail_like *like;
	uint64_t seed, week;
	struct prng prng;		/* generator for the current message */
	struct text text;
	struct mail mails[MAIL_WEEK];
	unsigned count;			/* messages in the week so far */
	struct strbuf bodies;		/* texts of the week, Latin-1 */
	struct strbuf out;			/* the current message */
	struct strbuf spare;
};

/*
 * mail_week() starts the week with the given number.  mail_next() generates the
 * next message in m->out; it is described by m->mails[m->count - 1].  Returns 0
 * or -ENOMEM.
 */
void mail_week(struct mail_maker *m, uint64_t week);
int mail_next(struct mail_maker *m);
void mail_free(struct mail_maker *m);

/*
 * These functions return the start of a week, in seconds since 1970, and its
 * set.
 */
int64_t mail_week_date(uint64_t week);
uint32_t mail_week_set(uint64_t week);

/*
 * src/mail/head.c: writes the header, except for the fields that describe the
 * content.
 */
void mail_head(struct mail_maker *m, const struct mail *a);

/*
 * Returns a recent message in the same or another folder, or MAIL_NONE.
 */
uint16_t mail_recent(struct mail_maker *m, unsigned folder, bool same);

/* Returns whether a message has a field. */
bool mail_has(const struct mail_maker *m, const struct mail *a,
    enum mail_field f);

/* Appends a date in the form "Mon, 6 Jan 2014 10:11:12 +0000". */
void mail_date(struct strbuf *b, int64_t date);

/*
 * src/mail/body.c: writes the text of message a, about len bytes when encoded,
 * to m->bodies, with as much of the greeting, quotes and signature as fits.
 */
void mail_body(struct mail_maker *m, struct mail *a, size_t len);

/* src/mail/parts.c: adds MIME headers and parts, up to the target size. */
void mail_parts(struct mail_maker *m, struct mail *a);

/*
 * src/mail/attach.c: appends an attachment: a header, and len bytes of content.
 */
void mail_attach(struct mail_maker *m, const struct mail *a, unsigned i,
    size_t len);

/*
 * These functions return the coordinates of point i in units of 2^-32.  For any
 * n, the points 0 to n - 1 are evenly distributed over a square.
 */
uint32_t mail_even_x(uint64_t i, uint64_t seed);
uint32_t mail_even_y(uint64_t i, uint64_t seed);

#endif

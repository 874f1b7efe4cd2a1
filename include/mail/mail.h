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
#include "mail/text.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Base64, quoted-printable and charsets.
 *
 * Sources: RFC 2045 (encodings), RFC 2047 (encoded words), RFC 3629 (UTF-8).
 * Thread-safe.
 */

enum encoding {
	ENCODE_ASCII, ENCODE_LATIN1, ENCODE_UTF8, ENCODE_LATIN1_QP,
	ENCODE_UTF8_QP, ENCODE_COUNT
};

enum { ENCODE_RAW = 57, ENCODE_LINE = 77 };	/* bytes per line of base64 */

/* Encodes ENCODE_RAW bytes as ENCODE_LINE bytes, including the newline. */
void encode_line(char out[ENCODE_LINE], const uint8_t raw[ENCODE_RAW]);

/* Appends len bytes of base64 lines that encode random bytes. */
void encode_noise(struct strbuf *b, struct prng *p, size_t len);

/* Appends n random base64 characters in one line. */
void encode_token(struct strbuf *b, struct prng *p, unsigned n);

/* Encodes text, which is Latin-1 or, if the encoding is ASCII, pure ASCII. */
void encode_text(struct strbuf *b, const char *text, size_t len,
    enum encoding to);

/*
 * Appends Content-Type and Content-Transfer-Encoding headers for text/subtype.
 */
void encode_header(struct strbuf *b, const char *subtype, enum encoding e);

/* Appends a phrase of a header field, as an encoded word if necessary. */
void encode_phrase(struct strbuf *b, const char *phrase, enum encoding e);

/*
 * The distribution of message sizes: a table of quantiles.
 *
 * The quantiles are integers, interpolated linearly between the nodes.
 * Thread-safe.
 */

/*
 * Nodes at multiples of 1/64, then at 1 - 2^-7, 1 - 2^-8, ..., 1 - 2^-16, and
 * 1, because a few large messages contain most of the bytes.
 */
enum { SIZES_EVEN = 64, SIZES_TAIL = 10,
    SIZES = SIZES_EVEN + SIZES_TAIL + 1, SIZES_MEDIAN = SIZES_EVEN / 2 };

/* The sizes of the smallest possible header and of the largest message. */
enum { SIZE_LEAST = 400, SIZE_MOST = 64 << 20 };

struct sizes {
	uint32_t at_B[SIZES];		/* ascending */
};

/* Returns the position of node i, in units of 2^-16. */
uint32_t sizes_node(unsigned i);

/* Returns the size at quantile u, in units of 2^-32. */
uint32_t sizes_at(const struct sizes *s, uint32_t u);

uint64_t sizes_mean(const struct sizes *s);

/*
 * Scales the sizes to the given median and mean: sizes up to the median in
 * proportion, and for larger sizes the excess over the median.  Returns 0, or
 * -ERANGE if no distribution has this mean and median.
 */
int sizes_fit(struct sizes *s, uint64_t mean_B, uint64_t median_B);

/* Builds the table from `count` sizes (at least one) in ascending order. */
void sizes_learn(struct sizes *s, const uint64_t *sorted, size_t count);

/*
 * The people who write, and the lists they write to.
 *
 * A world contains everything that is the same for all messages.  Hosts are in
 * the reserved domain "example" (RFC 2606), and addresses are in the blocks
 * reserved for documentation (RFC 5737), so neither belongs to anyone.
 *
 * A struct world is constant after creation; any thread may read it.
 */

/* The folders of a set: lists, a company's mail, and large files. */
enum { WORLD_OFFICE = 3, WORLD_SHARE, WORLD_SET };

enum { WORLD_PEOPLE = 400, WORLD_LANGUAGES = 2 };

struct person {
	char name[2 * WORD_B];
	char address[4 * WORD_B];
	char host[2 * WORD_B];		/* domain of the address */
	char machine[3 * WORD_B];	/* host on which mail is written */
	char signature[256];		/* signature, or "" */
	uint8_t ip[4];
	uint8_t client;			/* type of mail program */
};

/* A mailing list or, if it has a page and a logo, a company's mail. */
struct list {
	char name[2 * WORD_B];
	char host[2 * WORD_B];
	char footer[512];
	struct strbuf page;		/* HTML before the text, */
	struct strbuf end;			/* HTML after the text */
	struct strbuf logo;		/* base64 */
};

struct world {
	struct words words[WORLD_LANGUAGES];
	struct person people[WORLD_PEOPLE];
	struct list *lists;		/* WORLD_SET lists of each set */
	uint32_t sets;
};

/*
 * Creates the world for a seed.  Returns 0 or -ENOMEM; call world_free() even
 * on failure.
 */
int world_make(struct world *w, uint64_t seed, uint32_t sets);
void world_free(struct world *w);

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

/* Returns the start of a week, in seconds since 1970. */
int64_t mail_week_date(uint64_t week);

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
 * 2^64 divided by the plastic number and by its square: for any n, the
 * multiples 0 to n - 1 of both are evenly distributed over a square (Roberts,
 * "The unreasonable effectiveness of quasirandom sequences", 2018).
 */
#define MAIL_EVEN_X 0xc13fa9a902a6328fU
#define MAIL_EVEN_Y 0x91e10da5c79e7b1dU

#endif

/*
 * measure.h - measuring mail: sizes, attachments and compressibility
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct measure belongs to one thread; it must be zeroed initially, except
 * for `every'.
 */
#ifndef COLDPRESS_MEASURE_H
#define COLDPRESS_MEASURE_H

#include "mail/mail.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which header fields mail has, and how much it quotes.
 *
 * A struct traits, initially zeroed, belongs to one thread.
 */

enum { TRAITS_LINES = 1 << 15 };

struct traits {
	uint64_t count;			/* messages */
	uint64_t fields[FIELD_COUNT];	/* messages with each field, */
	uint64_t room[FIELD_COUNT];	/* of those with room for it */
	uint64_t replies, foreign;	/* messages */
	uint64_t text_B, quoted_B;	/* bytes of the replies' text */
	uint64_t head_B;		/* bytes of all headers, */
	uint64_t token_B;		/* of signatures and the like, */
	uint64_t same_B;		/* of lines in earlier headers */
	uint64_t ids, id_B;		/* messages with an ID, their bytes */
	uint64_t own_B, again_B;	/* bytes of text that is not quoted, of
					 * lines in earlier messages */
	uint32_t seen[TRAITS_LINES];	/* recent lines: hashes */
};

/* Adds a message. */
void traits_add(struct traits *t, const char *mail, size_t len);

/* Sets the shares in like.  There must be at least one message. */
void traits_learn(const struct traits *t, struct mail_like *like);

/*
 * How well many messages compress as one stream.
 *
 * Thread-safe.
 */

/* zstd -3, zstd -12 --long and xz -1 */
enum { TOGETHER = 3 };

/*
 * Computes the compression ratios of len bytes, at least one.  Returns 0 or
 * -ENOMEM.
 */
int together_ratios(double ratio[TOGETHER], const char *data, size_t len);

struct measure {
	uint64_t every;			/* one in every `every` messages is
					 * compressed */
	bool parts_only;		/* compress only messages with
					 * attachments */
	uint64_t *sizes;		/* sizes of all messages */
	size_t count, cap;
	uint64_t bytes;
	uint64_t with_parts;		/* messages with attachments */
	/*
	 * Total sizes before and after zlib -6, for messages without and with
	 * attachments.
	 */
	uint64_t plain_B[2], packed_B[2];
	struct traits traits;
	/*
	 * The messages that begin in the first run_B of every stretch_B bytes;
	 * none if these are 0.
	 */
	struct strbuf sample;
	uint64_t run_B, stretch_B;
	struct strbuf packed;
};

/*
 * Adds one message, or a file: an mbox if it begins with "From ", otherwise a
 * message.  Returns 0, -ENOMEM, or -EFBIG (a message larger than 4 GiB).
 */
int measure_mail(struct measure *m, const char *mail, size_t len);
int measure_file(struct measure *m, const char *data, size_t len);

/*
 * Returns the compression ratio, original size divided by compressed size, of
 * all messages or of one type; 0 if nothing was compressed.
 */
double measure_ratio(const struct measure *m);
double measure_ratio_of(const struct measure *m, int with_parts);

void measure_free(struct measure *m);

#endif

/*
 * traits.h - which header fields mail has, and how much it quotes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A struct traits, initially zeroed, belongs to one thread.
 */
#ifndef COLDPRESS_TRAITS_H
#define COLDPRESS_TRAITS_H

#include "mail/mail.h"

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

#endif

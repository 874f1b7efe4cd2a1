/*
 * world.h - the people who write, and the lists they write to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A world contains everything that is the same for all messages.  Hosts are in
 * the reserved domain "example" (RFC 2606), and addresses are in the blocks
 * reserved for documentation (RFC 5737), so neither belongs to anyone.
 *
 * A struct world is constant after creation; any thread may read it.
 */
#ifndef COLDPRESS_WORLD_H
#define COLDPRESS_WORLD_H

#include "base/strbuf.h"
#include "mail/words.h"

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

#endif

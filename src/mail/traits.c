/*
 * traits.c - which header fields mail has, and how much it quotes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "mail/traits.h"

#include "base/hash.h"

#include <string.h>
#include <strings.h>

/* The fields' names; User-Agent has two. */
static const struct {
	const char *name;
	enum mail_field field;
} names[] = {
	{ "to:", FIELD_TO }, { "in-reply-to:", FIELD_REPLY },
	{ "references:", FIELD_REFERENCES }, { "mime-version:", FIELD_MIME },
	{ "user-agent:", FIELD_AGENT }, { "x-mailer:", FIELD_AGENT },
	{ "list-id:", FIELD_LIST }, { "received:", FIELD_RECEIVED },
	{ "dkim-signature:", FIELD_DKIM }, { "arc-seal:", FIELD_ARC }
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* Shorter lines, which are often empty or a sign, are not repeated ones. */
enum { LINE_LEAST = 9 };

/* Shorter runs of base64 characters may be words and numbers. */
enum { TOKEN_LEAST = 32 };

struct line {
	const char *at;
	size_t len;			/* including the newline */
};

static bool
next_line(struct line *l, const char *end)
{
	const char *nl;

	l->at += l->len;
	nl = memchr(l->at, '\n', (size_t)(end - l->at));
	l->len = nl == NULL ? (size_t)(end - l->at) : (size_t)(nl + 1 - l->at);
	return l->len > 0;
}

static bool
is_blank(const struct line *l)
{
	return *l->at == '\n' || (l->len == 2 && *l->at == '\r');
}

static void
add_field(bool has[FIELD_COUNT], const struct line *l)
{
	for (unsigned i = 0; i < NAMES; i++) {
		size_t n = strlen(names[i].name);
		enum mail_field f = names[i].field;

		if (l->len < n || strncasecmp(l->at, names[i].name, n) != 0)
			continue;
		if (f == FIELD_RECEIVED && has[f])
			f = FIELD_ROUTE;
		has[f] = true;
	}
}

/* Returns the bytes in long runs of base64 characters. */
static uint64_t
tokens(const struct line *l)
{
	uint64_t all = 0, run = 0;

	for (size_t i = 0; i < l->len; i++) {
		uint8_t c = (uint8_t)l->at[i];

		if ((c < '0' || c > '9') && ((c | 0x20) < 'a' ||
		    (c | 0x20) > 'z') && c != '+' && c != '/')
			run = 0;
		else if (++run >= TOKEN_LEAST)
			all += run == TOKEN_LEAST ? run : 1;
	}
	return all;
}

static const char id_field[] = "message-id:";

/* Adds the size of the Message-ID, from < to >. */
static void
add_id(struct traits *t, const struct line *l)
{
	size_t n = sizeof(id_field) - 1;
	const char *open, *shut;

	if (l->len < n || strncasecmp(l->at, id_field, n) != 0)
		return;
	open = memchr(l->at, '<', l->len);
	shut = memchr(l->at, '>', l->len);
	if (open != NULL && shut != NULL && open < shut) {
		t->ids++;
		t->id_B += (uint64_t)(shut + 1 - open);
	}
}

/* Returns the bytes in lines of earlier messages; quotes do not count. */
static uint64_t
known(const struct traits *t, struct line l, const char *end)
{
	uint64_t bytes = 0;

	while (next_line(&l, end)) {
		uint64_t h = hash_bytes(0, l.at, l.len);

		if (l.len >= LINE_LEAST && *l.at != '>' &&
		    t->seen[h % TRAITS_LINES] == (uint32_t)(h >> 32))
			bytes += l.len;
	}
	return bytes;
}

/* Remembers the lines of a message. */
static void
remember(struct traits *t, struct line l, const char *end)
{
	while (next_line(&l, end)) {
		uint64_t h = hash_bytes(0, l.at, l.len);

		if (l.len >= LINE_LEAST && *l.at != '>')
			t->seen[h % TRAITS_LINES] = (uint32_t)(h >> 32);
	}
}

/* Returns the number of accented characters in a line. */
static uint64_t
accents(const struct line *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->len; i++)
		n += (uint8_t)l->at[i] >= 0xc0 ||
		    (l->at[i] == '=' && i + 1 < l->len &&
		    memchr("89ABCDEF", l->at[i + 1], 8) != NULL);
	return n;
}

static void
count_fields(struct traits *t, const bool has[FIELD_COUNT], size_t len,
    bool is_reply)
{
	for (unsigned i = 0; i < FIELD_COUNT; i++) {
		bool of_reply = i == FIELD_REPLY || i == FIELD_REFERENCES;
		bool room = len >= mail_field_least[i] &&
		    (is_reply || !of_reply);

		t->room[i] += room;
		t->fields[i] += room && has[i];
	}
}

void
traits_add(struct traits *t, const char *mail, size_t len)
{
	const char *end = mail + len;
	bool has[FIELD_COUNT] = { false }, is_reply;
	uint64_t quoted = 0, text = 0, accented = 0;
	struct line l = { .at = mail };

	while (next_line(&l, end) && !is_blank(&l)) {
		add_field(has, &l);
		add_id(t, &l);
		t->token_B += tokens(&l);
	}
	t->head_B += (uint64_t)(l.at + l.len - mail);
	t->same_B += known(t, (struct line){ .at = mail }, l.at);
	t->again_B += known(t, l, end);
	remember(t, (struct line){ .at = mail }, end);
	while (next_line(&l, end)) {
		text += l.len;
		quoted += *l.at == '>' ? l.len : 0;
		t->own_B += *l.at == '>' ? 0 : l.len;
		accented += accents(&l);
	}
	is_reply = quoted > 0 || has[FIELD_REPLY] || has[FIELD_REFERENCES];
	t->count++;
	t->foreign += accented * 100 > text;
	count_fields(t, has, len, is_reply);
	if (!is_reply)
		return;
	t->replies++;
	t->text_B += text;
	t->quoted_B += quoted;
}

static uint32_t
share(uint64_t part, uint64_t all)
{
	return all == 0 ? 0 : part >= all ? PRNG_ONE :
	    (uint32_t)(part * PRNG_ONE / all);
}

void
traits_learn(const struct traits *t, struct mail_like *like)
{
	like->replies = share(t->replies, t->count);
	like->quoted = share(t->quoted_B, t->text_B);
	like->foreign = share(t->foreign, t->count);
	like->id_B = t->ids == 0 ? 0 : (uint32_t)(t->id_B / t->ids);
	if (like->id_B > MAIL_ID_MOST)
		like->id_B = MAIL_ID_MOST;
	for (unsigned i = 0; i < FIELD_COUNT; i++)
		like->fields[i] = share(t->fields[i], t->room[i]);
}

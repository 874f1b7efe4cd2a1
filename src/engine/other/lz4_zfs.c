/*
 * lz4_zfs.c - LZ4 compression exactly as in ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Matching is greedy: only the last position with the same hash of four bytes
 * is examined, and steps grow until a match is found.
 */
#include "engine/other/lz4_zfs.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>

enum {
	MATCH_LEAST = 4,
	FAR_MOST = 65535,
	LITERALS_LAST = 5,		/* literals at the end; no match extends
					 * into them */
	START_LAST = 12,		/* no match begins this close to the
					 * end */
	SMALL = (1 << 16) + START_LAST - 1,	/* smaller blocks use a finer
						 * hash */
	TRIES = 64,			/* number of misses before steps grow by
					 * one */
	TOKEN_MOST = 15
};

struct coder {
	const uint8_t *in;
	size_t len;
	uint8_t *out;
	size_t n, cap;
	uint32_t *table;
	unsigned shift;			/* shift of the hash */
	size_t anchor;			/* start of the literals */
};

static uint32_t
hash_at(const struct coder *c, size_t pos)
{
	return load_le32(c->in + pos) * 2654435761U >> c->shift;
}

static bool
same_at(const struct coder *c, size_t a, size_t b)
{
	return load_le32(c->in + a) == load_le32(c->in + b);
}

/*
 * Returns the last position with the same hash as pos, and replaces it with
 * pos.
 */
static size_t
swap(const struct coder *c, size_t pos, uint32_t hash)
{
	size_t last = c->table[hash];

	c->table[hash] = (uint32_t)pos;
	return last;
}

/*
 * Returns the number of extra bytes for a length that exceeds its field in the
 * token.
 */
static size_t
length_bytes(size_t len)
{
	return len < TOKEN_MOST ? 0 : (len - TOKEN_MOST) / 255 + 1;
}

/* Writes the extra bytes of a length: a series of 255s and the remainder. */
static void
put_length(struct coder *c, size_t rest)
{
	for (; rest >= 255; rest -= 255)
		c->out[c->n++] = 255;
	c->out[c->n++] = (uint8_t)rest;
}

/*
 * Writes a token and the literals up to pos.  Returns false if there is no room
 * for them and for `follow` more bytes.
 */
static bool
put_literals(struct coder *c, size_t pos, size_t follow)
{
	size_t len = pos - c->anchor;
	size_t more = follow != 0 ? len >> 8 : (len + 255 - TOKEN_MOST) / 255;

	/*
	 * the first condition is the one in ZFS, which reserves too little for
	 * megabytes of literals
	 */
	if (c->n + 1 + len + follow + more > c->cap ||
	    c->n + 1 + len + follow + length_bytes(len) > c->cap)
		return false;
	if (len < TOKEN_MOST) {
		c->out[c->n++] = (uint8_t)(len << 4);
	} else {
		c->out[c->n++] = TOKEN_MOST << 4;
		put_length(c, len - TOKEN_MOST);
	}
	memcpy(c->out + c->n, c->in + c->anchor, len);
	c->n += len;
	return true;
}

/*
 * Finds the next match from *pos onward, and sets *pos and *from.  Returns
 * false if there is none before the end.
 */
static bool
next_match(struct coder *c, size_t *pos, size_t *from)
{
	size_t next = *pos, last = c->len - START_LAST, tries = TRIES + 3;
	uint32_t hash = hash_at(c, next);

	do {
		uint32_t here = hash;

		*pos = next;
		next += tries++ / TRIES;
		if (next > last)
			return false;
		hash = hash_at(c, next);
		*from = swap(c, *pos, here);
	} while (*from + FAR_MOST < *pos || !same_at(c, *from, *pos));
	while (*pos > c->anchor && *from > 0 &&
	    c->in[*pos - 1] == c->in[*from - 1])
		--*pos, --*from;
	return true;
}

/*
 * Writes the match between pos and from, and any matches right after it.
 * Returns the next position, or 0 if there is no room.
 */
static size_t
put_matches(struct coder *c, size_t pos, size_t from)
{
	size_t token = c->n;

	if (!put_literals(c, pos, 2 + LITERALS_LAST))
		return 0;
	for (;;) {
		size_t far = pos - from, end = pos + MATCH_LEAST, len;

		store_le16(c->out + c->n, (uint16_t)far);
		c->n += 2;
		while (end < c->len - LITERALS_LAST &&
		    c->in[end] == c->in[end - far])
			end++;
		len = end - pos - MATCH_LEAST;
		if (c->n + 1 + LITERALS_LAST + (len >> 8) > c->cap ||
		    c->n + length_bytes(len) > c->cap)
			return 0;
		if (len < TOKEN_MOST) {
			c->out[token] |= (uint8_t)len;
		} else {
			c->out[token] |= TOKEN_MOST;
			put_length(c, len - TOKEN_MOST);
		}
		c->anchor = pos = end;
		if (pos > c->len - START_LAST)
			return pos;
		c->table[hash_at(c, pos - 2)] = (uint32_t)(pos - 2);
		from = swap(c, pos, hash_at(c, pos));
		if (from + FAR_MOST < pos || !same_at(c, from, pos))
			return pos + 1;
		if (c->n + 3 > c->cap)
			return 0;
		token = c->n++;
		c->out[token] = 0;
	}
}

size_t
lz4_zfs_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    uint32_t *table)
{
	struct coder c = { .in = in, .len = len, .out = out, .cap = cap,
	    .table = table, .shift = len < SMALL ? 32 - 13 : 32 - 12 };
	size_t pos = 1, from;

	memset(table, 0, LZ4_ZFS_TABLE * sizeof(*table));
	if (len > START_LAST)
		while (pos <= len - START_LAST && next_match(&c, &pos, &from)) {
			pos = put_matches(&c, pos, from);
			if (pos == 0)
				return 0;
		}
	return put_literals(&c, len, 0) ? c.n : 0;
}

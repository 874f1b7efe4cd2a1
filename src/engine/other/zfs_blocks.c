/*
 * zfs_blocks.c - LZJB, ZLE and LZ4 exactly as in ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/zfs_blocks.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* LZJB */

enum {
	ITEMS = 8,
	GROUP_MOST = 1 + 2 * ITEMS,
	LZJB_LEAST = 3,
	LZJB_MOST = 66,
	FAR_BITS = 10,
	LZJB_FAR = 1 << FAR_BITS
};

/*
 * Returns the distance to the last occurrence of the three bytes at in[pos], if
 * it is in the table and within the range of a match; otherwise 0.  Positions
 * are stored modulo 65,536.
 */
static size_t
candidate_at(const uint8_t *in, size_t pos, uint16_t *table)
{
	const uint8_t *p = in + pos;
	uint32_t h = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
	uint16_t *entry;
	size_t far;

	h += h >> 9;
	h += h >> 5;
	entry = &table[h % LZJB_TABLE];
	far = (pos - *entry) % LZJB_FAR;
	*entry = (uint16_t)pos;
	if (far == 0 || far > pos ||
	    memcmp(in + pos, in + pos - far, LZJB_LEAST) != 0)
		return 0;
	return far;
}

size_t
lzjb_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    uint16_t *table)
{
	size_t pos = 0, n = 0, control = 0;
	unsigned item = ITEMS;

	memset(table, 0, LZJB_TABLE * sizeof(*table));
	while (pos < len) {
		size_t far, most = LZJB_LEAST;

		if (item == ITEMS) {
			if (n + GROUP_MOST >= cap)
				return 0;
			item = 0;
			control = n++;
			out[control] = 0;
		}
		/* the last bytes are never looked up */
		far = len - pos < LZJB_MOST ? 0 : candidate_at(in, pos, table);
		if (far == 0) {
			out[n++] = in[pos++];
		} else {
			while (most < LZJB_MOST &&
			    in[pos + most] == in[pos + most - far])
				most++;
			out[control] |= (uint8_t)(1U << item);
			out[n++] = (uint8_t)((most - LZJB_LEAST) << 2 |
			    far >> 8);
			out[n++] = (uint8_t)far;
			pos += most;
		}
		item++;
	}
	return n;
}

int
lzjb_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	size_t pos = 0, n = 0;
	unsigned item = ITEMS, control = 0;

	while (n < size) {
		if (item == ITEMS) {
			if (pos == len)
				return -EBADMSG;
			control = in[pos++];
			item = 0;
		}
		if (control >> item++ & 1) {
			size_t most, far;

			if (len - pos < 2)
				return -EBADMSG;
			most = (in[pos] >> 2) + (size_t)LZJB_LEAST;
			far = (in[pos] & 3U) << 8 | in[pos + 1];
			pos += 2;
			if (far == 0 || far > n)
				return -EBADMSG;
			for (; most > 0 && n < size; most--, n++)
				out[n] = out[n - far];
		} else {
			if (pos == len)
				return -EBADMSG;
			out[n++] = in[pos++];
		}
	}
	return 0;
}

/* ZLE */

enum { RUN = 64, ZEROS = 256 - RUN };

size_t
zle_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    size_t spare)
{
	size_t pos = 0, n = 0, left, most, run;
	size_t end = spare == 0 || cap == 0 ? cap : cap - 1;

	for (; pos < len && n < end; in += run, pos += run) {
		left = len - pos;
		run = 0;
		if (*in == 0) {
			most = left < ZEROS ? left : ZEROS;
			while (run < most && in[run] == 0)
				run++;
			out[n++] = (uint8_t)(RUN + run - 1);
			continue;
		}
		/* up to the next pair of zeros: a single zero is a literal */
		most = left < RUN ? left : RUN;
		while (run + 1 < most && (in[run] != 0 || in[run + 1] != 0))
			run++;
		run += in[run] != 0;
		if (cap - n < 1 + (run > spare ? run : spare))
			return 0;
		out[n++] = (uint8_t)(run - 1);
		memcpy(out + n, in, run);
		n += run;
	}
	return pos < len ? 0 : n;
}

int
zle_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	size_t pos = 0, n = 0;

	while (n < size) {
		size_t run;

		if (pos == len)
			return -EBADMSG;
		run = in[pos++] + (size_t)1;
		if (run > RUN) {
			run = run - RUN < size - n ? run - RUN : size - n;
			memset(out + n, 0, run);
		} else {
			if (run > len - pos || run > size - n)
				return -EBADMSG;
			memcpy(out + n, in + pos, run);
			pos += run;
		}
		n += run;
	}
	return 0;
}

/*
 * LZ4: matching is greedy: only the last position with the same hash of four
 * bytes is examined, and steps grow until a match is found.
 */

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

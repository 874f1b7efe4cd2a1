/*
 * lz4_fast.c - blocks of LZ4, fast
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first match that is found is taken, as in liblz4's fast compressor.
 * Two things differ.  Places are kept modulo 65,536, which is as far as a
 * match may reach: so the table has twice the entries in half of the first
 * cache, and no place is too far away.  And six bytes are hashed, not five:
 * fewer matches that hardly pay.  Less is left over, in less time.
 */
#include "lz4_fast.h"

#include "bytes.h"

#include <stdbool.h>
#include <string.h>

enum {
	HASHED = 6,		/* bytes */
	PATIENCE = 6,		/* log2 of the misses until steps lengthen */
	MATCH_MIN = 4,
	TAIL = 5,		/* literals that the format has at the end */
	MARGIN = 16,		/* before it: no match begins in there */
	FIELD_MAX = 15		/* of a token; more is in further bytes */
};

struct match {
	const uint8_t *at;
	size_t distance;
	uint64_t differ;	/* in which of eight bytes */
};

static inline uint16_t *
place(struct lz4_fast *f, uint64_t bytes)
{
	return &f->places[(bytes << (64 - 8 * HASHED)) *
	    UINT64_C(227718039650203) >> (64 - 13)];
}

/* Whether bytes, which are at m->at, have a match where they were last. */
static inline bool
look(struct match *m, uint16_t *last, const uint8_t *in, uint64_t bytes)
{
	uint16_t here = (uint16_t)(m->at - in);

	m->distance = (uint16_t)(here - *last);
	m->differ = bytes ^ load_le64(m->at - m->distance);
	*last = here;
	return (uint32_t)m->differ == 0 && m->distance != 0;
}

/* The next match from m->at on, that begins before the limit. */
static inline bool
search(struct lz4_fast *f, struct match *m, const uint8_t *in,
    const uint8_t *limit)
{
	const uint8_t *next = m->at;
	unsigned tries = 1 << PATIENCE;
	uint64_t bytes, ahead;
	uint16_t *last;

	if (next >= limit)
		return false;
	ahead = load_le64(next);
	do {
		m->at = next;
		bytes = ahead;
		last = place(f, bytes);
		next += tries++ >> PATIENCE;
		if (next >= limit)
			return false;
		ahead = load_le64(next);
	} while (!look(m, last, in, bytes));
	return true;
}

/* How many bytes are equal, before end. */
static inline size_t
match_length(const struct match *m, const uint8_t *end)
{
	const uint8_t *p = m->at + 8;

	if (m->differ != 0)
		return (size_t)__builtin_ctzll(m->differ) / 8;
	for (; end - p >= 8; p += 8) {
		uint64_t differ = load_le64(p) ^ load_le64(p - m->distance);

		if (differ != 0)
			return (size_t)(p - m->at) +
			    (size_t)__builtin_ctzll(differ) / 8;
	}
	while (p < end && *p == *(p - m->distance))
		p++;
	return (size_t)(p - m->at);
}

/* Bytes before the match that are equal too: up to eight, and most. */
static inline size_t
match_before(const struct match *m, const uint8_t *in, size_t most)
{
	uint64_t differ;
	size_t n;

	if ((size_t)(m->at - in) < m->distance + 8)
		return 0;
	differ = load_le64(m->at - 8) ^ load_le64(m->at - 8 - m->distance);
	n = differ == 0 ? 8 : (size_t)__builtin_clzll(differ) / 8;
	return n < most ? n : most;
}

static inline uint8_t *
put_length(uint8_t *p, size_t n)
{
	for (; n >= 255; n -= 255)
		*p++ = 255;
	*p++ = (uint8_t)n;
	return p;
}

/* A token and n literals, which MARGIN bytes follow. */
static inline uint8_t *
put_literals(uint8_t *token, const uint8_t *from, size_t n)
{
	uint8_t *p = token + 1, *end;

	if (n < FIELD_MAX) {
		*token = (uint8_t)(n << 4);
		memcpy(p, from, MARGIN);
		return p + n;
	}
	*token = FIELD_MAX << 4;
	p = put_length(p, n - FIELD_MAX);
	for (end = p + n; p < end; p += MARGIN, from += MARGIN)
		memcpy(p, from, MARGIN);
	return end;
}

static inline uint8_t *
put_match(uint8_t *token, uint8_t *p, size_t distance, size_t length)
{
	p[0] = (uint8_t)distance;
	p[1] = (uint8_t)(distance >> 8);
	p += 2;
	length -= MATCH_MIN;
	if (length < FIELD_MAX) {
		*token |= (uint8_t)length;
		return p;
	}
	*token |= FIELD_MAX;
	return put_length(p, length - FIELD_MAX);
}

static uint8_t *
put_last(uint8_t *token, const uint8_t *from, size_t n)
{
	uint8_t *p = token + 1;

	*token = (uint8_t)((n < FIELD_MAX ? n : FIELD_MAX) << 4);
	if (n >= FIELD_MAX)
		p = put_length(p, n - FIELD_MAX);
	memcpy(p, from, n);
	return p + n;
}

size_t
lz4_fast_block(struct lz4_fast *f, const uint8_t *in, size_t len,
    uint8_t *out)
{
	const uint8_t *end = in + len, *done = in;
	const uint8_t *limit = len > MARGIN ? end - MARGIN : in;
	struct match m = { .at = in + 1 };
	uint8_t *p = out;

	memset(f, 0, sizeof(*f));
	while (search(f, &m, in, limit)) {
		size_t length = match_length(&m, end - TAIL);
		size_t back = match_before(&m, in, (size_t)(m.at - done));
		uint8_t *token = p;
		uint64_t bytes;

		m.at -= back;
		length += back;
		p = put_literals(token, done, (size_t)(m.at - done));
		for (;;) {
			p = put_match(token, p, m.distance, length);
			done = m.at += length;
			if (m.at >= limit)
				break;
			*place(f, load_le64(m.at - 2)) =
			    (uint16_t)(m.at - 2 - in);
			bytes = load_le64(m.at);
			if (!look(&m, place(f, bytes), in, bytes)) {
				m.at++;
				break;
			}
			token = p++;
			*token = 0;
			length = match_length(&m, end - TAIL);
		}
	}
	p = put_last(p, done, (size_t)(end - done));
	return (size_t)(p - out);
}

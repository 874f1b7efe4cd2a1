/*
 * lz4_fast.c - fast compression of LZ4 blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first match found is used, as in liblz4's fast compressor.  There are
 * three differences.  Positions are stored modulo 65,536, the maximum distance
 * of a match, so the first-level cache holds four times as many entries, and no
 * position is too distant.  Six bytes are hashed, not five, which avoids
 * matches that save little.  The time saved allows a denser search: steps
 * lengthen later.
 */
#include "engine/other/lz4_fast.h"

#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	HASHED = 6,		/* bytes */
	PATIENCE = 4,		/* log2 of the number of misses before steps
				 * lengthen */
	MATCH_MIN = 4,
	TAIL = 5,		/* literals that the format requires at the
				 * end */
	GLANCE = 32,		/* number of match bytes compared at once */
	MARGIN = GLANCE + TAIL,	/* distance from the end within which no
				 * match begins */
	COPIED = 16,		/* literals copied at a time */
	FIELD_MAX = 15		/* maximum of a token's field; larger values
				 * continue in further bytes */
};

_Static_assert(GLANCE == 32, "one bit per compared byte");
_Static_assert(MARGIN >= GLANCE && MARGIN >= COPIED, "loads and copies end");

struct match {
	const uint8_t *at;
	size_t distance;
};

static inline uint16_t *
table_entry(struct lz4_fast *f, uint64_t bytes)
{
	return &f->places[(bytes << (64 - 8 * HASHED)) *
	    UINT64_C(227718039650203) >> (64 - LZ4_FAST_BITS)];
}

/*
 * Returns whether the bytes at m->at match the last position with the same
 * hash.
 */
static inline bool
candidate_for(struct match *m, uint16_t *last, const uint8_t *in,
    uint64_t bytes)
{
	uint16_t here = (uint16_t)(m->at - in);

	m->distance = (uint16_t)(here - *last);
	*last = here;
	return load_le32(m->at - m->distance) == (uint32_t)bytes &&
	    m->distance != 0;
}

/* Finds the next match from m->at onward that begins before the limit. */
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
		last = table_entry(f, bytes);
		next += tries++ >> PATIENCE;
		if (next >= limit)
			return false;
		ahead = load_le64(next);
	} while (!candidate_for(m, last, in, bytes));
	return true;
}

/*
 * Returns a mask of the GLANCE bytes in which a and b differ, starting at the
 * lowest bit.  Comparing all of them takes less time than a branch on each
 * word, because the length of a match is unpredictable.
 */
static inline uint32_t
differing(const uint8_t *a, const uint8_t *b)
{
#ifdef __SSE2__
	const __m128i *x = (const void *)a, *y = (const void *)b;
	int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(x),
	    _mm_loadu_si128(y)));
	int high = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(x + 1),
	    _mm_loadu_si128(y + 1)));

	return ~((uint32_t)low | (uint32_t)high << 16);
#else
	for (unsigned i = 0; i < GLANCE; i += 8) {
		uint64_t differ = load_le64(a + i) ^ load_le64(b + i);

		if (differ != 0)
			return 1U << (i + (unsigned)__builtin_ctzll(differ) / 8);
	}
	return 0;
#endif
}

/* Returns how many bytes match, stopping at `end`. */
static inline size_t
match_length(const struct match *m, const uint8_t *end)
{
	const uint8_t *p = m->at;
	uint32_t differ = differing(p, p - m->distance);

	if (differ != 0)
		return (size_t)__builtin_ctz(differ);
	for (p += GLANCE; end - p >= GLANCE; p += GLANCE) {
		differ = differing(p, p - m->distance);
		if (differ != 0)
			return (size_t)(p - m->at) +
			    (size_t)__builtin_ctz(differ);
	}
	while (p < end && *p == *(p - m->distance))
		p++;
	return (size_t)(p - m->at);
}

static inline uint8_t *
put_length(uint8_t *p, size_t n)
{
	for (; n >= 255; n -= 255)
		*p++ = 255;
	*p++ = (uint8_t)n;
	return p;
}

/* Writes a token and n literals; COPIED bytes may be written after it. */
static inline uint8_t *
put_literals(uint8_t *token, const uint8_t *from, size_t n)
{
	uint8_t *p = token + 1, *end;

	if (n < FIELD_MAX) {
		*token = (uint8_t)(n << 4);
		memcpy(p, from, COPIED);
		return p + n;
	}
	*token = FIELD_MAX << 4;
	p = put_length(p, n - FIELD_MAX);
	for (end = p + n; p < end; p += COPIED, from += COPIED)
		memcpy(p, from, COPIED);
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
		size_t back = 0, most = (size_t)(m.at - done);
		uint8_t *token = p;
		uint64_t bytes;

		/* up to eight bytes before the match may also be equal */
		if ((size_t)(m.at - in) >= m.distance + 8) {
			bytes = load_le64(m.at - 8) ^
			    load_le64(m.at - 8 - m.distance);
			back = bytes == 0 ? 8 :
			    (size_t)__builtin_clzll(bytes) / 8;
			back = back < most ? back : most;
		}
		m.at -= back;
		length += back;
		p = put_literals(token, done, (size_t)(m.at - done));
		for (;;) {
			p = put_match(token, p, m.distance, length);
			done = m.at += length;
			if (m.at >= limit)
				break;
			*table_entry(f, load_le64(m.at - 2)) =
			    (uint16_t)(m.at - 2 - in);
			bytes = load_le64(m.at);
			if (!candidate_for(&m, table_entry(f, bytes), in,
			    bytes)) {
				m.at++;
				break;
			}
			token = p++;
			*token = 0;
			length = match_length(&m, end - TAIL);
		}
	}
	len = (size_t)(end - done);
	*p++ = (uint8_t)((len < FIELD_MAX ? len : FIELD_MAX) << 4);
	if (len >= FIELD_MAX)
		p = put_length(p, len - FIELD_MAX);
	memcpy(p, done, len);
	return (size_t)(p - out) + len;
}

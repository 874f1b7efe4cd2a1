/*
 * deflate_words.h - candidates for a match, compared a word at a time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Positions are stored modulo 65,536.  A stale position is harmless, because
 * the bytes are compared, and may still yield a match.
 */
#ifndef COLDPRESS_DEFLATE_WORDS_H
#define COLDPRESS_DEFLATE_WORDS_H

#include "base/bytes.h"
#include "engine/deflate/deflate_blocks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WORDS_MOST = 258,	/* maximum length of a match */
	WORD = 8,		/* bytes compared at a time */
	WORDS_WINDOW = 32768
};

/* The `length` bytes at pos equal those at `at`. */
struct words_match {
	size_t pos, at, length;
};

/* Return a hash of a word's first seven, four or three bytes. */
static inline uint32_t
words_hash7(uint64_t word, unsigned bits)
{
	return (uint32_t)((word << 8) * UINT64_C(0x9e3779b185ebca87) >>
	    (64 - bits));
}

static inline uint32_t
words_hash4(uint64_t word, unsigned bits)
{
	return (uint32_t)word * UINT32_C(0x9e3779b1) >> (32 - bits);
}

static inline uint32_t
words_hash3(uint64_t word, unsigned bits)
{
	return words_hash4(word << 8, bits);
}

/*
 * Returns the last position before pos whose low 16 bits equal `low`, or pos if
 * there is none in the window.
 */
static inline size_t
words_candidate(size_t pos, uint16_t low)
{
	size_t back = (uint16_t)(pos - low);

	return back <= WORDS_WINDOW && back <= pos ? pos - back : pos;
}

/*
 * Returns a mask of the differing bits of the eight bytes, or only the lowest
 * bit if `at` is no candidate.
 */
static inline uint64_t
words_differ(const uint8_t *in, uint64_t word, size_t at, size_t pos)
{
	return at == pos ? 1 : load_le64(in + at) ^ word;
}

/*
 * Returns how many of `most` bytes are equal, given that the first words are.
 */
static inline size_t
words_extend(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t n = WORD;

	for (; n + WORD <= most; n += WORD) {
		uint64_t differ = load_le64(a + n) ^ load_le64(b + n);

		if (differ != 0)
			return n + (size_t)__builtin_ctzll(differ) / 8;
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

static inline size_t
words_most_at(size_t len, size_t pos)
{
	return len - pos < WORDS_MOST ? len - pos : WORDS_MOST;
}

/*
 * Chooses the longer of two matches at m->pos, at least one of which has four
 * bytes.  Returns whether it covers a word.  Unless `more` is set, the first
 * one that covers a word is chosen, which is usually the longer of the two.
 */
static inline bool
words_longer(const uint8_t *in, size_t len, struct words_match *m,
    uint64_t differ_a, size_t a, uint64_t differ_b, size_t b, bool more)
{
	const uint8_t *p = in + m->pos;
	size_t most = words_most_at(len, m->pos), other = 0;

	if (differ_a != 0 && differ_b != 0) {
		/* the more bytes are equal, the higher the lowest bit set */
		if ((differ_b & -differ_b) > (differ_a & -differ_a)) {
			differ_a = differ_b;
			a = b;
		}
		m->at = a;
		m->length = (size_t)__builtin_ctzll(differ_a) / 8;
		return false;
	}
	m->at = a;
	m->length = differ_a == 0 ? words_extend(p, in + a, most) : 0;
	if (differ_a != 0 ||
	    (more && differ_b == 0 && a != b && m->length < most))
		other = words_extend(p, in + b, most);
	if (other > m->length) {
		m->at = b;
		m->length = other;
	}
	return true;
}

/* Extends the match backwards over equal bytes, as far as `from`. */
static inline void
words_extend_back(const uint8_t *in, struct words_match *m, size_t from)
{
	while (m->pos > from && m->at > 0 && m->length < WORDS_MOST &&
	    in[m->pos - 1] == in[m->at - 1]) {
		m->pos--;
		m->at--;
		m->length++;
	}
}

/* Returns the sequence of the literals since `from` and the match. */
static inline struct deflate_seq
words_seq(const struct words_match *m, size_t from)
{
	return (struct deflate_seq){ (uint32_t)(m->pos - from),
	    (uint16_t)m->length, (uint16_t)(m->pos - m->at) };
}

/* Returns the last sequence, which has no match. */
static inline struct deflate_seq
words_rest(size_t literals)
{
	return (struct deflate_seq){ .literals = (uint32_t)literals };
}

#endif

/*
 * deflate_strong.c - our own deflate encoder: parsing, and writing blocks
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Parsing is lazy, by chains of positions (deflate_parse.h), or by a search for
 * binaries: each position has three candidates, the last positions with the
 * same hash of seven, four and three bytes.  A short match is deferred if a
 * better one begins a byte later.  On machine code, this finds as much as a
 * short search through chains of four bytes does, in less time, because the
 * candidates' bytes can be loaded at once.  On text, chains find more.
 */
#include "engine/deflate/deflate_strong.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "deflate_parse.h"
#include "deflate_words.h"
#include "engine/deflate/deflate_blocks.h"

#include <errno.h>
#include <string.h>

enum {
	/*
	 * Sequences are written as soon as this many have accumulated, which
	 * bounds memory use.
	 */
	SEQUENCES = 32768,
	FAR_THREE = 4096,	/* beyond this distance, three literals are
				 * cheaper */
	SKIP_MOST = 4,		/* positions skipped where few match */
	LAZY_BITS = 15,
	LAZY_BITS3 = 14,
	MARGIN = 3 * WORD,	/* bytes examined after a position */
	LAZY = 12,		/* defer matches shorter than this */
	PACE = 5		/* after 1 << PACE misses, some positions are
				 * skipped */
};

struct deflate_lazy {
	const uint8_t *in;
	size_t len, pos;
	/* last position with each hash, modulo 65,536 */
	uint16_t by_seven[1 << LAZY_BITS];
	uint16_t by_four[1 << LAZY_BITS];
	uint16_t by_three[1 << LAZY_BITS3];
};

struct deflate_strong {
	const struct deflate_effort *effort;
	union {
		struct deflate_parse parse;
		struct deflate_lazy lazy;
	};
	struct deflate_blocks blocks;
	struct deflate_seq seqs[SEQUENCES];
};

/* The effort for levels 3 to 9. */
static const struct deflate_effort efforts[] = {
	{ 1, 3, 2, 258, 32, 8 },
	{ 1, 4, 2, 258, 32, 16 },
	{ 1, 6, 3, 258, 66, 32 },
	{ 2, 8, 4, 258, 130, 64 },
	{ 4, 24, 12, 16, 130, 64 },
	{ 8, 64, 32, 16, 258, 258 },
	{ 16, 220, 80, 16, 258, 258 },
};

/* Return the last position with the hash of a word's first bytes. */
static inline uint16_t *
seven_of(struct deflate_lazy *f, uint64_t word)
{
	return &f->by_seven[words_hash7(word, LAZY_BITS)];
}

static inline uint16_t *
four_of(struct deflate_lazy *f, uint64_t word)
{
	return &f->by_four[words_hash4(word, LAZY_BITS)];
}

static inline bool
lazy_three(const struct deflate_lazy *f, uint64_t word, uint16_t low,
    struct words_match *m)
{
	size_t back = (uint16_t)(m->pos - low);

	if (back == 0 || back > FAR_THREE || back > m->pos ||
	    (load_le32(f->in + m->pos - back) ^ (uint32_t)word) << 8 != 0)
		return false;
	m->at = m->pos - back;
	m->length = 3;
	return true;
}

/*
 * Finds the match at pos and inserts the position.  Returns false if there
 * is none, or none longer than three bytes if `shortest` is 4.
 */
static inline bool
lazy_at(struct deflate_lazy *f, size_t pos, struct words_match *m,
    unsigned shortest)
{
	uint64_t word = load_le64(f->in + pos);
	uint16_t *seven = seven_of(f, word), *four = four_of(f, word);
	uint16_t *last3 = &f->by_three[words_hash3(word, LAZY_BITS3)];
	uint16_t c = *last3;
	size_t a = words_candidate(pos, *seven);
	size_t b = words_candidate(pos, *four);
	uint64_t differ_a = words_differ(f->in, word, a, pos);
	uint64_t differ_b = words_differ(f->in, word, b, pos);

	*seven = *four = *last3 = (uint16_t)pos;
	m->pos = pos;
	if ((uint32_t)differ_a != 0 && (uint32_t)differ_b != 0)
		return shortest == 3 && lazy_three(f, word, c, m);
	words_longer(f->in, f->len, m, differ_a, a, differ_b, b, true);
	return true;
}

static inline int
log2_of(size_t v)
{
	return 31 - __builtin_clz((uint32_t)v);
}

/*
 * Moves on as long as a better match begins at the next position.  Returns the
 * first position that has not been inserted.
 */
static inline size_t
lazy_wait(struct deflate_lazy *f, struct words_match *m, size_t end)
{
	size_t pos = m->pos + 1;

	while (m->length < LAZY && pos < end) {
		struct words_match next;

		if (!lazy_at(f, pos++, &next, 4) ||
		    4 * ((int)next.length - (int)m->length) +
		    log2_of(m->pos - m->at) < 3 + log2_of(next.pos - next.at))
			break;
		*m = next;
	}
	return pos;
}

/*
 * Finds the first match at or after `from`.  Returns false if there is none
 * before `end`.  The inner loop has only one condition, because most of its
 * positions have no match.
 */
static inline bool
lazy_match(struct deflate_lazy *f, size_t from, size_t end,
    struct words_match *m)
{
	size_t stop = from + (1 << PACE) + 1, skip;

	for (size_t pos = from; pos < end; pos += skip, stop = pos + 1) {
		for (stop = stop < end ? stop : end; pos < stop; pos++)
			if (lazy_at(f, pos, m, 3))
				return true;
		skip = (pos - 1 - from) >> PACE;
		skip = skip < SKIP_MOST ? skip : SKIP_MOST;
	}
	return false;
}

/*
 * Fills seqs, which has room for at least two, with the next sequences from
 * f->pos onward, and advances f->pos.  Returns their number, 0 at the end of
 * the input.
 */
static size_t
parse_binary(struct deflate_lazy *f, struct deflate_seq *seqs,
    size_t room)
{
	size_t end = f->len < MARGIN ? 0 : f->len - MARGIN;
	size_t from = f->pos, next, n = 0;
	struct words_match m;

	while (n + 1 < room && lazy_match(f, from, end, &m)) {
		next = lazy_wait(f, &m, end);
		/* the match may begin earlier if positions were skipped */
		if ((m.pos - from) >> PACE != 0)
			words_extend_back(f->in, &m, from);
		seqs[n++] = words_seq(&m, from);
		from = m.pos + m.length;
		/* matches of three bytes would take more time than they save */
		for (; next < from && next < end; next++) {
			uint64_t word = load_le64(f->in + next);

			*seven_of(f, word) = *four_of(f, word) = (uint16_t)next;
		}
	}
	if (n + 1 < room && from < f->len) {
		seqs[n++] = words_rest(f->len - from);
		from = f->len;
	}
	f->pos = from;
	return n;
}

/* The encoder */

int
deflate_strong_open(struct deflate_strong **out, int level)
{
	struct deflate_strong *s = sys_calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	s->effort = &efforts[level - DEFLATE_STRONG_MIN];
	*out = s;
	return 0;
}

void
deflate_strong_close(struct deflate_strong *s)
{
	sys_free(s);
}

size_t
deflate_strong_memory(void)
{
	return sizeof(struct deflate_strong);
}

size_t
deflate_strong_bound(size_t len)
{
	/* each batch of sequences begins a new stored block */
	return deflate_blocks_bound(len) + (len / (3 * SEQUENCES) + 1) * 5;
}

ssize_t
deflate_strong_run(struct deflate_strong *s, const uint8_t *in, size_t len,
    bool last, uint8_t *out, size_t cap)
{
	size_t n;

	if (len > UINT32_MAX)
		return -ENOBUFS;
	s->blocks.search = DEFLATE_THOROUGH;
	deflate_blocks_begin(&s->blocks, out, cap);
	deflate_parse_begin(&s->parse, s->effort, in, (uint32_t)len);
	for (;;) {
		const uint8_t *at = in + s->parse.pos;
		int rc;

		n = deflate_parse_run(&s->parse, s->seqs, SEQUENCES);
		if (n == 0)
			break;
		rc = deflate_blocks_add(&s->blocks, at, s->seqs, n);
		if (rc != 0)
			return rc;
	}
	return deflate_blocks_end(&s->blocks, last);
}

ssize_t
deflate_strong_run_binary(struct deflate_strong *s, const uint8_t *in,
    size_t len, bool last, uint8_t *out, size_t cap)
{
	size_t from = 0, n;

	s->blocks.search = DEFLATE_QUICK;
	deflate_blocks_begin(&s->blocks, out, cap);
	memset(&s->lazy, 0, sizeof(s->lazy));
	s->lazy.in = in;
	s->lazy.len = len;
	while ((n = parse_binary(&s->lazy, s->seqs, SEQUENCES)) > 0) {
		int rc = deflate_blocks_add(&s->blocks, in + from, s->seqs, n);

		if (rc != 0)
			return rc;
		from = s->lazy.pos;
	}
	return deflate_blocks_end(&s->blocks, last);
}

/*
 * deflate_walk.c - a decoder of lengths only (RFC 1951)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * To find the end of a block it is enough to know how many bits each symbol
 * takes.  So the decoder is a state machine without branches: the state is a
 * table to look the next bits up in, and an entry says how many bits to drop
 * (code and extra bits together) and which table comes next.  One entry may
 * stand for several literals and a length that follows them.  The end of the
 * block and codes that do not exist lead to tables of one entry, which drop
 * no bits and lead to themselves, so that it is enough to look for them once
 * in several steps.
 */
#include "deflate_walk.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	CODE_MAX = 15,		/* bits of the longest code */
	PRE_MAX = 7,		/* the same for the code of the code lengths */
	LITLEN_SYMS = 288,
	DIST_SYMS = 32,
	PRE_SYMS = 19,
	END_OF_BLOCK = 256,

	LIT_BITS = 11,
	DIST_BITS = 8,

	/*
	 * The tables lie in one array.  Each of the two codes has tables of
	 * 0, 1, 2 ... BITS bits one after another; that of n bits begins at
	 * 1 << n after the code's place, so an index with a one put before it
	 * names table and entry at once.  Codes longer than BITS go on in a
	 * table of their own: at least two codes share one, so there are at
	 * most half as many of these as symbols.
	 */
	STOP_END = 0,
	STOP_BAD = 4,
	LIT_TRIE = 8,
	LIT_SUBS = LIT_TRIE + (2 << LIT_BITS),
	DIST_TRIE = LIT_SUBS +
	    LITLEN_SYMS / 2 * (1 << (CODE_MAX - LIT_BITS)),
	DIST_SUBS = DIST_TRIE + (2 << DIST_BITS),
	ENTRIES = DIST_SUBS + DIST_SYMS / 2 * (1 << (CODE_MAX - DIST_BITS)),
};

/*
 * An entry: bits 0-7 how many bits to drop, 8-19 the mask for the index into
 * the next table, 20-31 the place of that table in units of four entries.
 */
#define NEXT(place, bits) \
	((uint32_t)(place) / 4 << 20 | ((1U << (bits)) - 1) << 8)
#define NEXT_LIT NEXT(LIT_TRIE + (1 << LIT_BITS), LIT_BITS)
#define NEXT_DIST NEXT(DIST_TRIE + (1 << DIST_BITS), DIST_BITS)
#define NEXT_END NEXT(STOP_END, 0)
#define NEXT_BAD NEXT(STOP_BAD, 0)

_Static_assert(ENTRIES <= 4 << 12, "the place of a table has 12 bits");
_Static_assert(LIT_BITS <= 12 && DIST_BITS <= 12, "a mask has 12 bits");
_Static_assert(CODE_MAX - LIT_BITS >= 2 && CODE_MAX - DIST_BITS >= 2,
    "tables are aligned to four entries");

struct code {
	uint32_t trie;		/* the place of its tables */
	uint32_t subs;
	unsigned bits;
	bool one;		/* may consist of one code, or of none */
	uint32_t again;		/* the state in which this code is read */
};

struct walk {
	const uint8_t *in;
	uint64_t len;		/* bytes */
	uint64_t pos;		/* bits; may pass the end until it is looked at */
	bool fixed;		/* the tables are those of the fixed codes */
	uint32_t tab[ENTRIES];
};

static uint64_t
load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

/* At least 57 bits from the position on; zeros after the end. */
static uint64_t
peek(const struct walk *w)
{
	uint64_t at = w->pos >> 3;
	uint8_t tail[8] = { 0 };

	if (w->len >= 8 && at <= w->len - 8)
		return load64(w->in + at) >> (w->pos & 7);
	if (at < w->len)
		memcpy(tail, w->in + at, w->len - at);
	return load64(tail) >> (w->pos & 7);
}

static unsigned
take(struct walk *w, unsigned bits)
{
	unsigned v = (unsigned)(peek(w) & ((1U << bits) - 1));

	w->pos += bits;
	return v;
}

static bool
past_end(const struct walk *w)
{
	return w->pos > w->len * 8;
}

/* The entry of a symbol, but for the bits of its code. */
static uint32_t
litlen_entry(unsigned sym)
{
	unsigned n = sym - 257;

	if (sym < END_OF_BLOCK)
		return NEXT_LIT;
	if (sym == END_OF_BLOCK)
		return NEXT_END;
	if (n > 28)
		return NEXT_BAD;
	return NEXT_DIST | (n < 8 || n == 28 ? 0 : (n - 4) / 4);
}

static uint32_t
dist_entry(unsigned sym)
{
	if (sym > 29)
		return NEXT_BAD;
	return NEXT_LIT | (sym < 4 ? 0 : (sym - 2) / 2);
}

/*
 * How many codes there are of each length, and the symbols in the order of
 * their codes, behind those that have none.
 */
static void
sort_symbols(const uint8_t *lens, unsigned n, uint16_t *count, uint16_t *sorted)
{
	uint16_t at[CODE_MAX + 2];

	memset(count, 0, sizeof(*count) * (CODE_MAX + 1));
	for (unsigned i = 0; i < n; i++)
		count[lens[i]]++;
	at[0] = 0;
	for (unsigned i = 0; i <= CODE_MAX; i++)
		at[i + 1] = at[i] + count[i];
	for (unsigned i = 0; i < n; i++)
		sorted[at[lens[i]]++] = (uint16_t)i;
}

/*
 * 0, or -EBADMSG: more codes than there is room for, or fewer.  Fewer may be
 * none or a single one of one bit, where the caller allows that.
 */
static int
check_counts(const uint16_t *count, bool one)
{
	int left = 1;
	unsigned longest = 0;

	for (unsigned i = 1; i <= CODE_MAX; i++) {
		left = 2 * left - count[i];
		if (left < 0)
			return -EBADMSG;
		if (count[i] != 0)
			longest = i;
	}
	return left > 0 && (longest > 1 || !one) ? -EBADMSG : 0;
}

/* The code of len bits after this one; the first bit is the lowest. */
static uint32_t
next_code(uint32_t code, unsigned len)
{
	uint32_t zeros = ~code & ((1U << len) - 1);
	uint32_t bit;

	if (zeros == 0)
		return 0;
	bit = 1U << (31 - __builtin_clz(zeros));
	return (code & (bit - 1)) | bit;
}

/* The bits that tell the codes apart which begin like the next one. */
static unsigned
sub_bits(const uint16_t *count, unsigned used, unsigned len, unsigned root)
{
	unsigned bits = len - root;
	int left = (1 << bits) - (count[len] - (int)used);

	while (left > 0 && bits + root < CODE_MAX) {
		bits++;
		left = 2 * left - count[bits + root];
	}
	return bits;
}

/* Codes of more than c->bits bits, from the symbol *sorted and code on. */
static void
fill_subs(uint32_t *tab, const struct code *c, const uint16_t *count,
    const uint16_t *sorted, const uint32_t *entry, uint32_t code)
{
	uint32_t *root = tab + c->trie + (1U << c->bits);
	uint32_t place = c->subs, prefix = UINT32_MAX;
	unsigned bits = 0;

	for (unsigned len = c->bits + 1; len <= CODE_MAX; len++) {
		for (unsigned i = 0; i < count[len]; i++) {
			uint32_t low = code & ((1U << c->bits) - 1);
			uint32_t e = entry[*sorted++] + len - c->bits;

			if (low != prefix) {
				if (prefix != UINT32_MAX)
					place += bits < 2 ? 4 : 1U << bits;
				prefix = low;
				bits = sub_bits(count, i, len, c->bits);
				root[low] = NEXT(place, bits) | c->bits;
			}
			for (uint32_t k = code >> c->bits; k < 1U << bits;
			    k += 1U << (len - c->bits))
				tab[place + k] = e;
			code = next_code(code, len);
		}
	}
}

/*
 * Makes the tables of a code.  The one of n bits is the one of n - 1 bits
 * twice and the codes of n bits, so it has every code of up to n bits; what
 * is not filled begins a longer code and says "drop nothing, the same code
 * again", but in the largest table, where it leads to the rest of the code.
 */
static int
make_tables(uint32_t *tab, const struct code *c, const uint8_t *lens,
    unsigned n, const uint32_t *entry)
{
	uint16_t count[CODE_MAX + 1], sorted[LITLEN_SYMS], *s = sorted;
	uint32_t *t = tab + c->trie;
	uint32_t code = 0;

	sort_symbols(lens, n, count, sorted);
	if (check_counts(count, c->one) != 0)
		return -EBADMSG;
	s += count[0];
	t[1] = count[0] + 1U >= n ? NEXT_BAD : c->again;
	for (unsigned len = 1; len <= c->bits; len++) {
		uint32_t *half = t + (1U << len);

		memcpy(half, half - (1U << (len - 1)),
		    sizeof(*t) << (len - 1));
		memcpy(half + (1U << (len - 1)), half,
		    sizeof(*t) << (len - 1));
		for (unsigned i = 0; i < count[len]; i++) {
			half[code] = entry[*s++] + len;
			code = next_code(code, len);
		}
	}
	fill_subs(tab, c, count, s, entry, code);
	return 0;
}

/*
 * Makes the entry of a literal take what follows it as well: drop n bits
 * from the index and its leading one, and it names the table for the other
 * bits and the entry there.  In that table whatever is too long drops
 * nothing, so the sum is right without a look at it.
 */
static void
merge_literals(uint32_t *t)
{
	for (unsigned i = 2; i < 2 << LIT_BITS; i++) {
		uint32_t n = t[i] ^ NEXT_LIT;

		n = n <= LIT_BITS ? n : 0;
		t[i] = t[i >> n] + n;
	}
}

static const struct code lit_code = {
	LIT_TRIE, LIT_SUBS, LIT_BITS, true, NEXT_LIT
};
static const struct code dist_code = {
	DIST_TRIE, DIST_SUBS, DIST_BITS, true, NEXT_DIST
};
/* It is done with before the distances come. */
static const struct code pre_code = {
	DIST_TRIE, DIST_SUBS, PRE_MAX, false, 0
};

static int
make_both(struct walk *w, const uint8_t *lens, unsigned nlit, unsigned ndist)
{
	uint32_t entry[LITLEN_SYMS];
	int rc;

	for (unsigned i = 0; i < nlit; i++)
		entry[i] = litlen_entry(i);
	rc = make_tables(w->tab, &lit_code, lens, nlit, entry);
	if (rc != 0)
		return rc;
	merge_literals(w->tab + LIT_TRIE);
	for (unsigned i = 0; i < ndist; i++)
		entry[i] = dist_entry(i);
	return make_tables(w->tab, &dist_code, lens + nlit, ndist, entry);
}

static int
fixed_tables(struct walk *w)
{
	uint8_t lens[LITLEN_SYMS + DIST_SYMS];

	if (w->fixed)
		return 0;
	memset(lens, 8, 144);
	memset(lens + 144, 9, 112);
	memset(lens + 256, 7, 24);
	memset(lens + 280, 8, 8);
	memset(lens + LITLEN_SYMS, 5, DIST_SYMS);
	w->fixed = true;
	return make_both(w, lens, LITLEN_SYMS, DIST_SYMS);
}

static int
pre_tables(struct walk *w, unsigned npre)
{
	static const uint8_t order[PRE_SYMS] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15
	};
	uint8_t lens[PRE_SYMS] = { 0 };
	uint32_t entry[PRE_SYMS];
	uint64_t bits = peek(w);

	for (unsigned i = 0; i < npre; i++, bits >>= 3)
		lens[order[i]] = bits & 7;
	w->pos += npre * 3;
	for (unsigned i = 0; i < PRE_SYMS; i++)
		entry[i] = i << 8;
	return make_tables(w->tab, &pre_code, lens, PRE_SYMS, entry);
}

/* The n code lengths of both codes. */
static int
read_lens(struct walk *w, uint8_t *lens, unsigned n)
{
	static const struct {
		uint8_t bits, least;
	} repeat[] = { { 2, 3 }, { 3, 3 }, { 7, 11 } };
	const uint32_t *t = w->tab + DIST_TRIE + (1 << PRE_MAX);
	unsigned i = 0;

	while (i < n) {
		uint64_t bits = peek(w);
		uint32_t e = t[bits & ((1 << PRE_MAX) - 1)];
		unsigned sym = e >> 8, used = e & 0xff, times;

		if (sym < 16) {
			lens[i++] = (uint8_t)sym;
			w->pos += used;
			continue;
		}
		sym -= 16;
		times = repeat[sym].least + ((unsigned)(bits >> used) &
		    ((1U << repeat[sym].bits) - 1));
		if (times > n - i || (sym == 0 && i == 0))
			return -EBADMSG;
		memset(lens + i, sym == 0 ? lens[i - 1] : 0, times);
		i += times;
		w->pos += used + repeat[sym].bits;
	}
	return past_end(w) ? -EBADMSG : 0;
}

static int
dynamic_tables(struct walk *w)
{
	uint8_t lens[LITLEN_SYMS + DIST_SYMS];
	unsigned nlit = take(w, 5) + 257;
	unsigned ndist = take(w, 5) + 1;
	unsigned npre = take(w, 4) + 4;
	int rc;

	w->fixed = false;
	if (nlit > 286 || ndist > 30)
		return -EBADMSG;
	rc = pre_tables(w, npre);
	if (rc != 0)
		return rc;
	rc = read_lens(w, lens, nlit + ndist);
	if (rc != 0)
		return rc;
	if (lens[END_OF_BLOCK] == 0)
		return -EBADMSG;
	return make_both(w, lens, nlit, ndist);
}

/* Where a walk through the codes is: have bits are known, the next in bits. */
struct lane {
	uint64_t bits;
	const uint8_t *p;
	uint32_t have;
	uint32_t state;
};

static inline void
step(const uint32_t *tab, struct lane *l)
{
	const uint32_t *t = tab + (l->state >> 20) * 4;

	l->state = t[l->bits & (l->state >> 8 & 0xfff)];
	l->bits >>= l->state & 63;
	l->have -= l->state & 63;
}

/* Eight bytes at l->p must be readable.  After it, have is 56..63. */
static inline void
refill(struct lane *l)
{
	/* What is above have already is the same, so this does not hurt. */
	l->bits |= load64(l->p) << l->have;
	l->p += (63 - l->have) >> 3;
	l->have |= 56;
}

static inline bool
stopped(uint32_t state)
{
	return state >> 20 <= STOP_BAD / 4;
}

/*
 * Steps from bit *pos of in until the end of the block, an invalid code, or
 * a place behind last, from where eight bytes must be readable.  Gives the
 * state and moves *pos.
 */
static uint32_t
run(const uint32_t *tab, uint32_t state, const uint8_t *in,
    const uint8_t *last, uint64_t *pos)
{
	struct lane l = { .p = in + (*pos >> 3), .state = state };

	if (l.p > last)
		return state;
	refill(&l);
	l.bits >>= *pos & 7;
	l.have -= *pos & 7;
	while (l.p <= last && !stopped(l.state)) {
		refill(&l);
		step(tab, &l);
		step(tab, &l);
	}
	*pos = (uint64_t)(l.p - in) * 8 - l.have;
	return l.state;
}

/*
 * The codes of a block.  The last bytes are walked in a copy with zeros
 * behind them, so that no load has to be shorter than eight bytes.
 */
static int
walk_codes(struct walk *w)
{
	uint8_t tail[64] = { 0 };
	uint32_t state = NEXT_LIT;
	uint64_t at, pos;

	if (w->len >= 8)
		state = run(w->tab, state, w->in, w->in + w->len - 8, &w->pos);
	if (!stopped(state)) {
		at = w->pos >> 3;
		if (at >= w->len)
			return -EBADMSG;
		memcpy(tail, w->in + at, w->len - at);
		pos = w->pos & 7;
		state = run(w->tab, state, tail, tail + (w->len - at) + 8,
		    &pos);
		w->pos = at * 8 + pos;
	}
	return state >> 20 != STOP_END / 4 || past_end(w) ? -EBADMSG : 0;
}

static int
walk_stored(struct walk *w)
{
	unsigned n;

	w->pos = (w->pos + 7) & ~(uint64_t)7;
	n = take(w, 16);
	if (past_end(w) || take(w, 16) != (n ^ 0xffff))
		return -EBADMSG;
	w->pos += (uint64_t)n * 8;
	return past_end(w) ? -EBADMSG : 0;
}

static int
walk_block(struct walk *w, unsigned type)
{
	int rc;

	switch (type) {
	case 0:
		return walk_stored(w);
	case 1:
		rc = fixed_tables(w);
		break;
	case 2:
		rc = dynamic_tables(w);
		break;
	default:
		return -EBADMSG;
	}
	return rc == 0 ? walk_codes(w) : rc;
}

int
deflate_walk(const uint8_t *in, size_t len, struct deflate_last *last)
{
	struct walk w;
	uint64_t header;
	unsigned final;
	int rc;

	w.in = in;
	w.len = len;
	w.pos = 0;
	w.fixed = false;
	w.tab[STOP_END] = NEXT_END;
	w.tab[STOP_BAD] = NEXT_BAD;
	do {
		header = w.pos;
		final = take(&w, 1);
		rc = walk_block(&w, take(&w, 2));
		if (rc != 0)
			return rc;
	} while (!final);
	last->header = header;
	last->end = w.pos;
	return 0;
}

ssize_t
deflate_make_nonfinal(uint8_t *buf, size_t len, size_t cap)
{
	struct deflate_last last;
	uint64_t body;
	int rc;

	rc = deflate_walk(buf, len, &last);
	if (rc != 0)
		return rc;
	if ((last.end + 7) / 8 != len)
		return -EBADMSG;
	/* The header of the empty block takes three bits, all zero. */
	body = (last.end + 3 + 7) / 8;
	if (cap < body + 4)
		return -ENOBUFS;
	buf[last.header / 8] &= (uint8_t)~(1U << last.header % 8);
	if (last.end % 8 != 0)
		buf[last.end / 8] &= (uint8_t)((1U << last.end % 8) - 1);
	if (body > len)
		buf[len] = 0;
	memcpy(buf + body, "\0\0\xff\xff", 4);
	return (ssize_t)(body + 4);
}

/*
 * deflate_blocks.c - encoding matches as deflate blocks (RFC 1951, 3.2.3)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Splitting: the tokens are cut into pieces of equal token count, each with its
 * histogram.  Then neighbours are joined, starting with the pair that saves
 * most: one header is saved, but a common code is slightly worse for both.  For
 * this, the size of a block is only estimated, from the entropy of its symbols
 * and from how often the resulting lengths change.  Finally, the remaining
 * boundaries are moved by a fraction of a piece.
 */
#include "engine/deflate/deflate_blocks.h"

#include "base/cpu.h"
#include "base/bytes.h"
#include "engine/huffman.h"

#include <errno.h>
#include <string.h>

/* Splitting: choosing where to begin a new block */

enum {
	TOKENS = 1024,		/* per piece */
	QUICK_TOKENS = 2048,
	FASTEST_TOKENS = 4096,
	STEP = 128,		/* tokens per move of a boundary */
	FRACTION = 16,		/* costs are in units of 1 / FRACTION bit */
	STORED_COST = 42	/* overhead of a stored block, in bits */
};

/* Returns a distance's symbol: roughly 2 * log2(distance - 1). */
static inline unsigned
distance_sym(unsigned distance)
{
	unsigned d = distance - 1, log;

	if (d < 4)
		return d;
	log = 31 - (unsigned)__builtin_clz(d);
	return 2 * log + (d >> (log - 1) & 1);
}

static inline void
count_match(struct deflate_piece *p, const struct deflate_seq *s,
    const uint8_t *length_sym)
{
	p->freq[257 + length_sym[s->length]]++;
	p->freq[LITLEN_SYMS + distance_sym(s->distance)]++;
}

/*
 * Counts whole sequences with a match while they are certain to fit in the
 * piece.  Returns how many tokens are left.  Three bytes are always read for a
 * sequence's last literals, which is faster than a mispredicted branch; this is
 * safe because the bytes of the match are also readable.
 */
static uint32_t
count_whole(struct deflate_piece *p, struct deflate_cursor *at,
    const struct deflate_seq *end, uint32_t left, const uint8_t *length_sym)
{
	const struct deflate_seq *s = at->seq;
	const uint8_t *in = at->in;

	for (; s != end && s->literals < left && s->length != 0; s++) {
		uint32_t n = s->literals;

		left -= n + 1;
		for (; n >= 4; n -= 4, in += 4) {
			p->freq[in[0]]++;
			p->freq[in[1]]++;
			p->freq[in[2]]++;
			p->freq[in[3]]++;
		}
		p->freq[in[0]] += n > 0;
		p->freq[in[1]] += n > 1;
		p->freq[in[2]] += n > 2;
		in += n + s->length;
		count_match(p, s, length_sym);
	}
	at->seq = s;
	at->in = in;
	return left;
}

/*
 * Fills a piece with at most the given number of tokens.  Returns false if
 * there are none left.
 */
static bool
fill_piece(struct deflate_piece *p, struct deflate_cursor *at,
    const struct deflate_seq *end, uint32_t tokens, const uint8_t *length_sym)
{
	uint32_t left = tokens;

	p->at = p->last = *at;
	memset(p->freq, 0, sizeof(p->freq));
	while (at->seq != end) {
		const struct deflate_seq *s = at->seq;
		uint32_t n = s->literals - at->skip;

		n = n < left ? n : left;
		for (uint32_t i = 0; i < n; i++)
			p->freq[at->in[i]]++;
		at->in += n;
		at->skip += n;
		left -= n;
		if (at->skip < s->literals || (left == 0 && s->length != 0))
			break;
		if (s->length != 0) {
			count_match(p, s, length_sym);
			at->in += s->length;
			left--;
		}
		at->seq++;
		at->skip = 0;
		left = count_whole(p, at, end, left, length_sym);
	}
	p->bytes = (uint64_t)(at->in - p->at.in);
	p->extra = 0;
	for (unsigned n = 0; n < 29; n++)
		p->extra += p->freq[257 + n] * codes_length_extra(n);
	for (unsigned n = 0; n < 30; n++)
		p->extra += p->freq[LITLEN_SYMS + n] *
		    codes_distance_extra(n);
	return left < tokens;
}

/*
 * Computes log2(n) to within 0.001 for n > 0, from the exponent and a
 * polynomial in the mantissa; without a table, a compiler can vectorise it.
 */
EACH float
log2_of(int32_t n)
{
	float v = (float)n, x;
	uint32_t bits, one;

	memcpy(&bits, &v, sizeof(bits));
	one = (bits & 0x7fffff) | 0x3f800000;
	memcpy(&x, &one, sizeof(x));
	x -= 1;
	return (float)((int32_t)(bits >> 23) - 127) + x + x * (1 - x) *
	    (0.442695f - x * (0.247335f - x * 0.08329f));
}

/*
 * Returns the cost of one code: the number of bits in its symbols and its
 * lengths.
 */
EACH uint32_t
code_cost(const uint32_t *a, const uint32_t *b, unsigned n)
{
	int32_t len[LITLEN_SYMS + 1];
	int32_t total = 0, sum = 0, change = 0, same = 0, gaps = 0;
	float log_total;

	for (unsigned i = 0; i < n; i++)
		total += (int32_t)(a[i] + b[i]);
	if (total == 0)
		return 0;
	log_total = log2_of(total);
	len[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		int32_t f = (int32_t)(a[i] + b[i]);
		float bits = log_total - log2_of(f);

		sum += (int32_t)(bits * (float)(f * FRACTION));
		len[i + 1] = (int32_t)(bits + 1.5f) & -(f != 0);
	}
	for (unsigned i = 1; i <= n; i++) {
		bool differs = len[i] != len[i - 1];

		change += differs & (len[i] != 0);
		same += !differs & (len[i] != 0);
		gaps += differs & (len[i] == 0);
	}
	return (uint32_t)(sum + FRACTION * (3 * change + 2 * same + 5 * gaps));
}

/*
 * Returns the cost of a block consisting of both pieces, or of a if b is empty.
 */
EACH uint32_t
each_pair_cost(const struct deflate_piece *a, const struct deflate_piece *b)
{
	uint64_t stored = (a->bytes + b->bytes) * 8 + STORED_COST;
	uint64_t bits = code_cost(a->freq, b->freq, LITLEN_SYMS) +
	    code_cost(a->freq + LITLEN_SYMS, b->freq + LITLEN_SYMS,
	    DIST_SYMS) + (a->extra + b->extra + 60) * FRACTION;

	stored *= FRACTION;
	return (uint32_t)(stored < bits ? stored : bits);
}

static uint32_t
pair_cost_plain(const struct deflate_piece *a, const struct deflate_piece *b)
{
	return each_pair_cost(a, b);
}

WITH_AVX2 static uint32_t
pair_cost_avx2(const struct deflate_piece *a, const struct deflate_piece *b)
{
	return each_pair_cost(a, b);
}

static uint32_t
pair_cost(const struct deflate_piece *a, const struct deflate_piece *b)
{
	return (have_avx2() ? pair_cost_avx2 : pair_cost_plain)(a, b);
}

/* Neighbours among the remaining pieces. */
struct row {
	unsigned n;
	uint32_t cost[DEFLATE_PIECES];
	int32_t gain[DEFLATE_PIECES];	/* gain from joining each with the
					 * next */
	unsigned next[DEFLATE_PIECES];
	unsigned prev[DEFLATE_PIECES];
};

static void
set_gain(struct row *r, const struct deflate_piece *p, unsigned i)
{
	unsigned k = r->next[i];

	r->gain[i] = k >= r->n ? INT32_MIN : (int32_t)(r->cost[i] +
	    r->cost[k] - pair_cost(&p[i], &p[k]));
}

static const struct deflate_piece no_piece;

/* Joins pieces and compacts the array.  Returns the number of pieces left. */
static unsigned
join_pieces(struct deflate_piece *p, unsigned n)
{
	unsigned left = 0;
	struct row r;

	r.n = n;
	for (unsigned i = 0; i < n; i++) {
		r.next[i] = i + 1;
		r.prev[i] = i - 1;
		r.cost[i] = pair_cost(&p[i], &no_piece);
	}
	for (unsigned i = 0; i < n; i++)
		set_gain(&r, p, i);
	for (;;) {
		unsigned best = 0, k;

		for (unsigned i = 1; i < n; i++)
			best = r.gain[i] > r.gain[best] ? i : best;
		if (r.gain[best] <= 0)
			break;
		k = r.next[best];
		for (unsigned s = 0; s < DEFLATE_SYMS; s++)
			p[best].freq[s] += p[k].freq[s];
		p[best].bytes += p[k].bytes;
		p[best].extra += p[k].extra;
		p[best].last = p[k].last;
		r.cost[best] += r.cost[k] - (uint32_t)r.gain[best];
		r.gain[k] = INT32_MIN;
		r.next[best] = r.next[k];
		if (r.next[best] < n)
			r.prev[r.next[best]] = best;
		set_gain(&r, p, best);
		if (best > 0)
			set_gain(&r, p, r.prev[best]);
	}
	for (unsigned i = 0; i < n; i = r.next[i], left++)
		if (left != i)
			p[left] = p[i];
	p[left].at = p[n].at;
	return left;
}

/* Moves tokens from one piece to another. */
static void
move_tokens(struct deflate_piece *from, struct deflate_piece *to,
    const struct deflate_piece *t)
{
	for (unsigned s = 0; s < DEFLATE_SYMS; s++) {
		from->freq[s] -= t->freq[s];
		to->freq[s] += t->freq[s];
	}
	from->bytes -= t->bytes;
	to->bytes += t->bytes;
	from->extra -= t->extra;
	to->extra += t->extra;
}

/*
 * Moves the boundary between two blocks to the best position within the last
 * piece before it and the first one after it, but not into a piece that is also
 * the last of the second block, because the next boundary needs all of it.
 */
static void
move_border(struct deflate_piece p[2], const struct deflate_seq *end,
    const uint8_t *length_sym)
{
	struct deflate_piece t, try[2] = { p[0], p[1] };
	struct deflate_cursor at = p[0].last;
	uint32_t least = pair_cost(&p[0], &no_piece) +
	    pair_cost(&p[1], &no_piece);
	unsigned steps = TOKENS / STEP;

	if (p[1].last.in != p[1].at.in)
		steps *= 2;
	fill_piece(&t, &at, end, TOKENS, length_sym);
	move_tokens(&try[0], &try[1], &t);
	at = p[0].last;
	for (unsigned i = 0; i < steps; i++) {
		uint32_t cost;

		fill_piece(&t, &at, end, STEP, length_sym);
		if (t.bytes >= try[1].bytes)
			break;
		move_tokens(&try[1], &try[0], &t);
		cost = pair_cost(&try[0], &no_piece) +
		    pair_cost(&try[1], &no_piece);
		if (cost < least) {
			least = cost;
			try[1].at = at;
			p[0] = try[0];
			p[1] = try[1];
		}
	}
}

/* Planning: the codes of a block */

enum {
	LIT_MOST = 14,		/* bits of a literal's or length's code */
	REPEAT = 16,		/* the previous length, 3 to 6 more times */
	ZEROS = 17,		/* 3 to 10 zeros */
	MANY_ZEROS = 18,	/* 11 to 138 zeros */
	HELD = 7,		/* bits that remain after a flush */
	UNUSED_COST = 7		/* cost of a code that may have to be added */
};

/* The bits between two flushes; a full word could not be shifted out. */
_Static_assert(HELD + 4 * LIT_MOST < 64, "four literals");
_Static_assert(HELD + LIT_MOST + LENGTH_EXTRA + CODE_MAX +
    DISTANCE_EXTRA < 64, "a match");
_Static_assert(LIT_MOST + LENGTH_EXTRA <= 24, "words.length has 24 bits");

static const uint8_t pre_extra[PRE_SYMS] = {
	[REPEAT] = 2, [ZEROS] = 3, [MANY_ZEROS] = 7
};

/* The cheaper encoding of a block, with the fixed codes or with its own. */
struct code_plan {
	uint64_t bits;			/* size of the whole block */
	bool fixed;
	uint8_t lens[DEFLATE_SYMS];
	/* code lengths as in the header: symbol, extra bits << 8 */
	unsigned nlit, ndist, npre, nitems;
	uint16_t items[DEFLATE_SYMS];
	uint8_t pre_lens[PRE_SYMS];
};

/* The precode, and the statistics for it. */
struct pre {
	uint16_t items[DEFLATE_SYMS];
	unsigned nitems;
	uint32_t freq[PRE_SYMS];
	uint8_t lens[PRE_SYMS];
};

static void
add_pre_item(struct pre *pre, unsigned sym, unsigned extra)
{
	pre->items[pre->nitems++] = (uint16_t)(sym | extra << 8);
	pre->freq[sym]++;
}

/* Generates items for the lengths, given the cost of each symbol in bits. */
static void
make_items(struct pre *pre, const uint8_t *lens, unsigned n,
    const uint8_t *cost)
{
	pre->nitems = 0;
	memset(pre->freq, 0, sizeof(pre->freq));
	for (unsigned i = 0, run; i < n; i += run) {
		unsigned v = lens[i], left;

		for (run = 1; i + run < n && lens[i + run] == v; run++)
			;
		left = run;
		if (v != 0) {
			add_pre_item(pre, v, 0);
			left--;
		}
		while (left >= 3) {
			unsigned most = v != 0 ? 6 : 138, sym;
			unsigned k = left < most ? left : most;

			/* leave no remainder of one or two */
			if (left - k - 1 < 2 && k > 5)
				k -= 2;
			sym = v != 0 ? REPEAT : k < 11 ? ZEROS : MANY_ZEROS;
			if (cost[sym] + pre_extra[sym] >= k * cost[v])
				break;
			add_pre_item(pre, sym, k - (sym == MANY_ZEROS ?
			    11 : 3));
			left -= k;
		}
		while (left-- > 0)
			add_pre_item(pre, v, 0);
	}
}

/* Returns the number of bits in the items with their own code. */
static unsigned
make_pre(struct pre *pre)
{
	unsigned bits = 0;

	huffman_lengths(pre->lens, pre->freq, PRE_SYMS, PRE_MAX);
	for (unsigned i = 0; i < PRE_SYMS; i++)
		bits += pre->freq[i] * (pre->lens[i] + pre_extra[i]);
	return bits;
}

/*
 * Converts the lengths of both codes to items.  Whether an item pays off for a
 * run depends on the resulting code, so this is repeated with that code.
 */
static unsigned
plan_header(struct code_plan *plan, bool fast)
{
	uint8_t lens[DEFLATE_SYMS], cost[PRE_SYMS];
	struct pre pre[2], *best = &pre[0];
	unsigned n, bits, npre = PRE_SYMS;

	for (n = LITLEN_SYMS; plan->lens[n - 1] == 0; n--)
		;
	plan->nlit = n;
	for (n = DIST_SYMS; plan->lens[LITLEN_SYMS + n - 1] == 0; n--)
		;
	plan->ndist = n;
	memcpy(lens, plan->lens, plan->nlit);
	memcpy(lens + plan->nlit, plan->lens + LITLEN_SYMS, n);
	n += plan->nlit;
	memset(cost, 4, sizeof(cost));
	make_items(&pre[0], lens, n, cost);
	bits = make_pre(&pre[0]);
	if (!fast) {
		unsigned again;

		for (unsigned i = 0; i < PRE_SYMS; i++)
			cost[i] = pre[0].lens[i] != 0 ? pre[0].lens[i] :
			    UNUSED_COST;
		make_items(&pre[1], lens, n, cost);
		again = make_pre(&pre[1]);
		if (again < bits) {
			bits = again;
			best = &pre[1];
		}
	}
	while (best->lens[codes_pre_order[npre - 1]] == 0)
		npre--;
	plan->npre = npre;
	plan->nitems = best->nitems;
	memcpy(plan->items, best->items, sizeof(plan->items));
	memcpy(plan->pre_lens, best->lens, sizeof(plan->pre_lens));
	return 3 + 5 + 5 + 4 + npre * 3 + bits;
}

static uint64_t
sum_bits(const uint32_t *freq, const uint8_t *lens)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < DEFLATE_SYMS; i++)
		bits += (uint64_t)freq[i] * lens[i];
	return bits;
}

static void
make_plan(struct code_plan *plan, struct deflate_piece *p, bool fast)
{
	uint8_t fixed_lens[DEFLATE_SYMS], *dist = plan->lens + LITLEN_SYMS;
	uint64_t fixed;
	unsigned used = 0;

	p->freq[END_OF_BLOCK] = 1;
	huffman_lengths(plan->lens, p->freq, LITLEN_SYMS, LIT_MOST);
	huffman_lengths(dist, p->freq + LITLEN_SYMS, DIST_SYMS, CODE_MAX);
	/*
	 * at least two codewords for distances: the format allows fewer, but
	 * some decoders reject that
	 */
	for (unsigned i = 0; i < DIST_SYMS; i++)
		used += dist[i] != 0;
	for (unsigned i = 0; used < 2; i++) {
		used += dist[i] == 0;
		dist[i] = 1;
	}
	plan->bits = plan_header(plan, fast) + sum_bits(p->freq, plan->lens) +
	    p->extra;
	codes_fixed_lens(fixed_lens);
	fixed = 3 + sum_bits(p->freq, fixed_lens) + p->extra;
	plan->fixed = fixed <= plan->bits;
	if (plan->fixed) {
		plan->bits = fixed;
		memcpy(plan->lens, fixed_lens, sizeof(fixed_lens));
	}
}

/* Emitting a block with Huffman codes */

static inline void
put_bits(struct deflate_writer *w, uint64_t v, unsigned n)
{
	w->bits |= v << w->held;
	w->held += n;
}

/* Writes up to eight bytes; up to HELD bits remain pending. */
static inline void
flush_bits(struct deflate_writer *w)
{
	store_le64(w->next, w->bits);
	w->next += w->held >> 3;
	w->bits >>= w->held & 56;
	w->held &= 7;
}

/* The codewords of a block; the length of each is stored above its bits. */
struct words {
	uint32_t lit[256];	/* << 24 */
	uint32_t length[259];
	uint64_t dist[DIST_SYMS];	/* distance << 32, total bits << 24,
					   codeword bits << 16 */
	uint32_t end;
};

static void
make_words(struct words *w, const uint8_t *lens)
{
	uint16_t code[DEFLATE_SYMS];
	unsigned len = 3, base = 1;

	codes_words(code, lens, LITLEN_SYMS);
	codes_words(code + LITLEN_SYMS, lens + LITLEN_SYMS, DIST_SYMS);
	for (unsigned i = 0; i < 256; i++)
		w->lit[i] = code[i] | (uint32_t)lens[i] << 24;
	w->end = code[END_OF_BLOCK] | (uint32_t)lens[END_OF_BLOCK] << 24;
	for (unsigned n = 0; n < 29; n++) {
		unsigned extra = codes_length_extra(n), sym = 257 + n;

		/* length 258 has its own symbol */
		len = n == 28 ? 258 : len;
		for (unsigned i = 0; i < 1U << extra; i++)
			w->length[len++] = code[sym] | i << lens[sym] |
			    (lens[sym] + extra) << 24;
	}
	for (unsigned n = 0; n < 30; n++) {
		unsigned extra = codes_distance_extra(n);
		unsigned l = lens[LITLEN_SYMS + n];

		w->dist[n] = code[LITLEN_SYMS + n] | l << 16 |
		    (l + extra) << 24 | (uint64_t)base << 32;
		base += 1U << extra;
	}
}

EACH void
put_word(struct deflate_writer *w, uint32_t word)
{
	put_bits(w, word & 0xffffff, word >> 24);
}

/*
 * Writes n literals except for the last n % 4.  Returns the position of the
 * next literal.
 */
EACH const uint8_t *
put_literals(struct deflate_writer *w, const struct words *words,
    const uint8_t *in, uint32_t n)
{
	for (; n >= 4; n -= 4, in += 4) {
		put_word(w, words->lit[in[0]]);
		put_word(w, words->lit[in[1]]);
		put_word(w, words->lit[in[2]]);
		put_word(w, words->lit[in[3]]);
		flush_bits(w);
	}
	return in;
}

/*
 * Writes the first n of three literals.  The others add no bits, which is
 * cheaper than a mispredicted branch.
 */
EACH void
put_few(struct deflate_writer *w, const struct words *words,
    const uint8_t *in, uint32_t n)
{
	put_word(w, words->lit[in[0]] & -(uint32_t)(n > 0));
	put_word(w, words->lit[in[1]] & -(uint32_t)(n > 1));
	put_word(w, words->lit[in[2]] & -(uint32_t)(n > 2));
	flush_bits(w);
}

/* Writes the last n literals, after which the input may end. */
EACH const uint8_t *
put_last(struct deflate_writer *w, const struct words *words,
    const uint8_t *in, uint32_t n)
{
	for (; n > 0; n--)
		put_word(w, words->lit[*in++]);
	flush_bits(w);
	return in;
}

EACH void
put_match(struct deflate_writer *w, const struct words *words,
    const struct deflate_seq *s)
{
	uint64_t d = words->dist[distance_sym(s->distance)];
	unsigned bits = d >> 16 & 0xff;

	put_word(w, words->length[s->length]);
	put_bits(w, (d & 0xffff) |
	    (uint64_t)(s->distance - (uint32_t)(d >> 32)) << bits,
	    d >> 24 & 0xff);
	flush_bits(w);
}

static void
put_codes(struct deflate_writer *w, const struct code_plan *plan)
{
	uint16_t code[PRE_SYMS];

	put_bits(w, plan->fixed ? 1 << 1 : 2 << 1, 3);
	if (plan->fixed)
		return;
	put_bits(w, plan->nlit - 257, 5);
	put_bits(w, plan->ndist - 1, 5);
	put_bits(w, plan->npre - 4, 4);
	flush_bits(w);
	for (unsigned i = 0; i < plan->npre; i++) {
		put_bits(w, plan->pre_lens[codes_pre_order[i]], 3);
		flush_bits(w);
	}
	codes_words(code, plan->pre_lens, PRE_SYMS);
	for (unsigned i = 0; i < plan->nitems; i++) {
		unsigned sym = plan->items[i] & 0xff;

		put_bits(w, code[sym], plan->pre_lens[sym]);
		put_bits(w, plan->items[i] >> 8, pre_extra[sym]);
		flush_bits(w);
	}
}

/* Writes the tokens between two cursors, and the end of the block. */
EACH void
put_tokens(struct deflate_writer *out, const struct words *words,
    const struct deflate_cursor *from, const struct deflate_cursor *to)
{
	const uint8_t *in = from->in;
	uint32_t skip = from->skip, left;
	struct deflate_writer w = *out;

	for (const struct deflate_seq *s = from->seq; s != to->seq; s++) {
		left = s->literals - skip;
		in = put_literals(&w, words, in, left);
		skip = 0;
		/* The bytes of the match, at least three, are also readable. */
		if (s->length != 0) {
			put_few(&w, words, in, left % 4);
			put_match(&w, words, s);
			in += left % 4 + s->length;
			continue;
		}
		in = put_last(&w, words, in, left % 4);
	}
	left = to->skip - skip;
	in = put_literals(&w, words, in, left);
	put_last(&w, words, in, left % 4);
	put_word(&w, words->end);
	flush_bits(&w);
	*out = w;
}

static void
put_plain(struct deflate_writer *out, const struct words *words,
    const struct deflate_cursor *from, const struct deflate_cursor *to)
{
	put_tokens(out, words, from, to);
}

WITH_BMI2 static void
put_bmi2(struct deflate_writer *out, const struct words *words,
    const struct deflate_cursor *from, const struct deflate_cursor *to)
{
	put_tokens(out, words, from, to);
}

/* The sequence of blocks */

enum {
	STORED_MOST = 65535,	/* maximum bytes in a stored block */
	/* block header, up to seven bits of padding, two lengths */
	STORED_BITS = 3 + 7 + 32
};

static const uint64_t no_header = UINT64_MAX;

/* Returns whether there is room for the given number of bits. */
static bool
fits(const struct deflate_blocks *b, uint64_t bits)
{
	return (bits + b->w.held + 7) / 8 <= (size_t)(b->end - b->w.next);
}

static uint64_t
bits_so_far(const struct deflate_blocks *b)
{
	return (uint64_t)(b->w.next - b->out) * 8 + b->w.held;
}

size_t
deflate_blocks_bound(size_t len)
{
	return len + (len / STORED_MOST + 1) * 5 + 16 + DEFLATE_BLOCKS_SLACK;
}

void
deflate_blocks_begin(struct deflate_blocks *b, uint8_t *out, size_t room)
{
	b->out = b->w.next = out;
	b->end = out + (room < DEFLATE_BLOCKS_SLACK ? 0 :
	    room - DEFLATE_BLOCKS_SLACK);
	b->w.bits = 0;
	b->w.held = 0;
	b->header = no_header;
	b->nstored = 0;
	for (unsigned n = 0, len = 3; n < 29; n++)
		for (unsigned i = 0; i < 1U << codes_length_extra(n); i++)
			if (len < 259)
				b->length_sym[len++] = (uint8_t)n;
	b->length_sym[258] = 28;
}

/* Writes a stored block's header and both lengths, if the whole block fits. */
static int
put_stored(struct deflate_blocks *b, unsigned n)
{
	uint64_t head = ((b->w.held + 3 + 7) & ~7U) - b->w.held + 32;

	if (!fits(b, head + (uint64_t)n * 8))
		return -ENOBUFS;
	b->header = bits_so_far(b);
	put_bits(&b->w, 0, 3);
	b->w.held = (b->w.held + 7) & ~7U;
	flush_bits(&b->w);
	put_bits(&b->w, n | (uint64_t)(n ^ 0xffff) << 16, 32);
	flush_bits(&b->w);
	return 0;
}

/* Writes the waiting bytes, merging adjacent stored blocks into full ones. */
static int
write_stored(struct deflate_blocks *b)
{
	while (b->nstored > 0) {
		size_t n = b->nstored < STORED_MOST ? b->nstored : STORED_MOST;

		int rc = put_stored(b, (unsigned)n);

		if (rc != 0)
			return rc;
		memcpy(b->w.next, b->stored, n);
		b->w.next += n;
		b->stored += n;
		b->nstored -= n;
	}
	return 0;
}

/*
 * Writes a block with Huffman codes only if that saves at least the maximum
 * cost of one more stored block.  The total therefore never exceeds the size of
 * stored blocks alone.
 */
static int
add_block(struct deflate_blocks *b, struct deflate_piece *p, bool alone)
{
	struct code_plan plan;
	struct words words;
	int rc;

	make_plan(&plan, p, b->search != DEFLATE_THOROUGH);
	if (plan.bits + (alone ? 0 : 2 * STORED_BITS) >=
	    p->bytes * 8 + STORED_BITS) {
		if (b->nstored == 0)
			b->stored = p->at.in;
		b->nstored += p->bytes;
		return 0;
	}
	rc = write_stored(b);
	if (rc != 0)
		return rc;
	if (!fits(b, plan.bits))
		return -ENOBUFS;
	b->header = bits_so_far(b);
	make_words(&words, plan.lens);
	put_codes(&b->w, &plan);
	(have_bmi2() ? put_bmi2 : put_plain)(&b->w, &words, &p->at, &p[1].at);
	return 0;
}

int
deflate_blocks_add(struct deflate_blocks *b, const uint8_t *in,
    const struct deflate_seq *seqs, size_t n)
{
	static const uint32_t tokens_of[] = {
		[DEFLATE_THOROUGH] = TOKENS, [DEFLATE_QUICK] = QUICK_TOKENS,
		[DEFLATE_FASTEST] = FASTEST_TOKENS
	};
	const struct deflate_seq *end = seqs + n;
	struct deflate_cursor at = { seqs, in, 0 };
	struct deflate_piece *p = b->pieces;

	for (;;) {
		unsigned count = 0;
		bool alone;

		while (count < DEFLATE_PIECES && fill_piece(&p[count], &at,
		    end, tokens_of[b->search], b->length_sym))
			count++;
		if (count == 0)
			return write_stored(b);
		p[count].at = at;
		count = join_pieces(p, count);
		if (b->search == DEFLATE_THOROUGH)
			for (unsigned i = 0; i + 1 < count; i++)
				move_border(&p[i], end, b->length_sym);
		alone = count == 1 && p[0].at.seq == seqs && at.seq == end;
		for (unsigned i = 0; i < count; i++) {
			int rc = add_block(b, &p[i], alone);

			if (rc != 0)
				return rc;
		}
	}
}

ssize_t
deflate_blocks_end(struct deflate_blocks *b, bool final)
{
	uint8_t *mark;

	if (!final) {
		int rc = put_stored(b, 0);

		return rc != 0 ? rc : b->w.next - b->out;
	}
	if (!fits(b, b->header == no_header ? 10 : 0))
		return -ENOBUFS;
	if (b->header == no_header) {
		b->header = b->w.held;
		put_bits(&b->w, 1 << 1, 10);
	}
	b->w.held = (b->w.held + 7) & ~7U;
	flush_bits(&b->w);
	mark = b->out + b->header / 8;
	*mark |= (uint8_t)(1U << b->header % 8);
	return b->w.next - b->out;
}

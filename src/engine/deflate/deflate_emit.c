/*
 * deflate_emit.c - writing Huffman-coded deflate blocks (RFC 1951, 3.2.5)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_blocks.h"

#include "base/bmi2.h"
#include "base/bytes.h"
#include "engine/huffman.h"

enum {
	LIT_MOST = 14,		/* bits of a literal's or length's code */
	REPEAT = 16,		/* the previous length, 3 to 6 more times */
	ZEROS = 17,		/* 3 to 10 zeros */
	MANY_ZEROS = 18,	/* 11 to 138 zeros */
	UNUSED_COST = 7		/* cost of a code that may have to be added */
};

/* The bits between two flushes; a full word could not be shifted out. */
_Static_assert(DEFLATE_HELD + 4 * LIT_MOST < 64, "four literals");
_Static_assert(DEFLATE_HELD + LIT_MOST + LENGTH_EXTRA + CODE_MAX +
    DISTANCE_EXTRA < 64, "a match");
_Static_assert(LIT_MOST + LENGTH_EXTRA <= 24, "words.length has 24 bits");

static const uint8_t pre_extra[PRE_SYMS] = {
	[REPEAT] = 2, [ZEROS] = 3, [MANY_ZEROS] = 7
};

/* The precode, and the statistics for it. */
struct pre {
	uint16_t items[DEFLATE_SYMS];
	unsigned nitems;
	uint32_t freq[PRE_SYMS];
	uint8_t lens[PRE_SYMS];
};

static void
add_item(struct pre *pre, unsigned sym, unsigned extra)
{
	pre->items[pre->nitems++] = (uint16_t)(sym | extra << 8);
	pre->freq[sym]++;
}

/*
 * Returns how much of a run the next item covers, so that no remainder of one
 * or two is left.
 */
static unsigned
part_of(unsigned run, unsigned most)
{
	unsigned n = run < most ? run : most;

	return run - n - 1 < 2 && n > 5 ? n - 2 : n;
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
			add_item(pre, v, 0);
			left--;
		}
		while (left >= 3) {
			unsigned k = part_of(left, v != 0 ? 6 : 138);
			unsigned sym = v != 0 ? REPEAT : k < 11 ? ZEROS :
			    MANY_ZEROS;

			if (cost[sym] + pre_extra[sym] >= k * cost[v])
				break;
			add_item(pre, sym, k - (sym == MANY_ZEROS ? 11 : 3));
			left -= k;
		}
		while (left-- > 0)
			add_item(pre, v, 0);
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
plan_header(struct deflate_plan *plan, bool fast)
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

/*
 * Computes the distance code, with at least two codewords: the format allows
 * fewer, but some decoders reject that.
 */
static void
distance_lens(uint8_t *lens, const uint32_t *freq)
{
	unsigned used = 0;

	huffman_lengths(lens, freq, DIST_SYMS, CODE_MAX);
	for (unsigned i = 0; i < DIST_SYMS; i++)
		used += lens[i] != 0;
	for (unsigned i = 0; used < 2; i++) {
		used += lens[i] == 0;
		lens[i] = 1;
	}
}

static uint64_t
sum_bits(const uint32_t *freq, const uint8_t *lens)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < DEFLATE_SYMS; i++)
		bits += (uint64_t)freq[i] * lens[i];
	return bits;
}

void
deflate_plan_make(struct deflate_plan *plan, struct deflate_piece *p,
    bool fast)
{
	uint8_t fixed_lens[DEFLATE_SYMS];
	uint64_t fixed;

	p->freq[END_OF_BLOCK] = 1;
	huffman_lengths(plan->lens, p->freq, LITLEN_SYMS, LIT_MOST);
	distance_lens(plan->lens + LITLEN_SYMS, p->freq + LITLEN_SYMS);
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
	deflate_put(w, word & 0xffffff, word >> 24);
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
		deflate_flush(w);
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
	deflate_flush(w);
}

/* Writes the last n literals, after which the input may end. */
EACH const uint8_t *
put_last(struct deflate_writer *w, const struct words *words,
    const uint8_t *in, uint32_t n)
{
	for (; n > 0; n--)
		put_word(w, words->lit[*in++]);
	deflate_flush(w);
	return in;
}

EACH void
put_match(struct deflate_writer *w, const struct words *words,
    const struct deflate_seq *s)
{
	uint64_t d = words->dist[deflate_distance_sym(s->distance)];
	unsigned bits = d >> 16 & 0xff;

	put_word(w, words->length[s->length]);
	deflate_put(w, (d & 0xffff) |
	    (uint64_t)(s->distance - (uint32_t)(d >> 32)) << bits,
	    d >> 24 & 0xff);
	deflate_flush(w);
}

static void
put_header(struct deflate_writer *w, const struct deflate_plan *plan)
{
	uint16_t code[PRE_SYMS];

	deflate_put(w, plan->fixed ? 1 << 1 : 2 << 1, 3);
	if (plan->fixed)
		return;
	deflate_put(w, plan->nlit - 257, 5);
	deflate_put(w, plan->ndist - 1, 5);
	deflate_put(w, plan->npre - 4, 4);
	deflate_flush(w);
	for (unsigned i = 0; i < plan->npre; i++) {
		deflate_put(w, plan->pre_lens[codes_pre_order[i]], 3);
		deflate_flush(w);
	}
	codes_words(code, plan->pre_lens, PRE_SYMS);
	for (unsigned i = 0; i < plan->nitems; i++) {
		unsigned sym = plan->items[i] & 0xff;

		deflate_put(w, code[sym], plan->pre_lens[sym]);
		deflate_put(w, plan->items[i] >> 8, pre_extra[sym]);
		deflate_flush(w);
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
	deflate_flush(&w);
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

void
deflate_emit(struct deflate_writer *out, const struct deflate_plan *plan,
    const struct deflate_cursor *from, const struct deflate_cursor *to)
{
	struct words words;

	make_words(&words, plan->lens);
	put_header(out, plan);
	(have_bmi2() ? put_bmi2 : put_plain)(out, &words, from, to);
}

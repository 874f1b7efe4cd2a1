/*
 * deflate_split.c - choosing where to begin a new deflate block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The tokens are cut into pieces of equal token count, each with its histogram.
 * Then neighbours are joined, starting with the pair that saves most: one
 * header is saved, but a common code is slightly worse for both.  For this, the
 * size of a block is only estimated, from the entropy of its symbols and from
 * how often the resulting lengths change.  Finally, the remaining boundaries
 * are moved by a fraction of a piece.
 */
#include "engine/deflate/deflate_blocks.h"

enum {
	TOKENS = 1024,		/* per piece */
	QUICK_TOKENS = 2048,
	FASTEST_TOKENS = 4096,
	STEP = 128,		/* tokens per move of a boundary */
	FRACTION = 16,		/* costs are in units of 1 / FRACTION bit */
	STORED = 42		/* overhead of a stored block, in bits */
};

/* Counts up to `left` literals from the run at *at.  Returns their number. */
static uint32_t
count_literals(struct deflate_piece *p, struct deflate_cursor *at,
    uint32_t left)
{
	uint32_t n = at->seq->literals - at->skip;
	const uint8_t *in = at->in;

	n = n < left ? n : left;
	for (uint32_t i = 0; i < n; i++)
		p->freq[in[i]]++;
	at->in += n;
	at->skip += n;
	return n;
}

static inline void
count_match(struct deflate_piece *p, const struct deflate_seq *s,
    const uint8_t *length_sym)
{
	p->freq[257 + length_sym[s->length]]++;
	p->freq[LITLEN_SYMS + deflate_distance_sym(s->distance)]++;
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

		left -= count_literals(p, at, left);
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
static inline float
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
static uint32_t
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
static uint32_t
pair_cost(const struct deflate_piece *a, const struct deflate_piece *b)
{
	uint64_t stored = (a->bytes + b->bytes) * 8 + STORED;
	uint64_t bits = code_cost(a->freq, b->freq, LITLEN_SYMS) +
	    code_cost(a->freq + LITLEN_SYMS, b->freq + LITLEN_SYMS,
	    DIST_SYMS) + (a->extra + b->extra + 60) * FRACTION;

	stored *= FRACTION;
	return (uint32_t)(stored < bits ? stored : bits);
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

static void
join(struct row *r, struct deflate_piece *p, unsigned i)
{
	unsigned k = r->next[i];

	for (unsigned s = 0; s < DEFLATE_SYMS; s++)
		p[i].freq[s] += p[k].freq[s];
	p[i].bytes += p[k].bytes;
	p[i].extra += p[k].extra;
	p[i].last = p[k].last;
	r->cost[i] += r->cost[k] - (uint32_t)r->gain[i];
	r->gain[k] = INT32_MIN;
	r->next[i] = r->next[k];
	if (r->next[i] < r->n)
		r->prev[r->next[i]] = i;
	set_gain(r, p, i);
	if (i > 0)
		set_gain(r, p, r->prev[i]);
}

static unsigned
best_of(const struct row *r)
{
	unsigned best = 0;

	for (unsigned i = 1; i < r->n; i++)
		best = r->gain[i] > r->gain[best] ? i : best;
	return best;
}

static const struct deflate_piece none;

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
		r.cost[i] = pair_cost(&p[i], &none);
	}
	for (unsigned i = 0; i < n; i++)
		set_gain(&r, p, i);
	for (;;) {
		unsigned best = best_of(&r);

		if (r.gain[best] <= 0)
			break;
		join(&r, p, best);
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
	uint32_t least = pair_cost(&p[0], &none) + pair_cost(&p[1], &none);
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
		cost = pair_cost(&try[0], &none) + pair_cost(&try[1], &none);
		if (cost < least) {
			least = cost;
			try[1].at = at;
			p[0] = try[0];
			p[1] = try[1];
		}
	}
}

unsigned
deflate_split(struct deflate_blocks *b, struct deflate_cursor *at,
    const struct deflate_seq *end)
{
	static const uint32_t tokens_of[] = {
		[DEFLATE_THOROUGH] = TOKENS, [DEFLATE_QUICK] = QUICK_TOKENS,
		[DEFLATE_FASTEST] = FASTEST_TOKENS
	};
	uint32_t tokens = tokens_of[b->search];
	unsigned n = 0;

	while (n < DEFLATE_PIECES && fill_piece(&b->pieces[n], at, end,
	    tokens, b->length_sym))
		n++;
	b->pieces[n].at = *at;
	if (n == 0)
		return 0;
	n = join_pieces(b->pieces, n);
	for (unsigned i = 0; b->search == DEFLATE_THOROUGH && i + 1 < n; i++)
		move_border(&b->pieces[i], end, b->length_sym);
	return n;
}

/*
 * unlzma_symbols.c - decoding the symbols of LZMA
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What a bit will be cannot be predicted well, or the encoder would have spent
 * less on it.  Where both values are followed by the same code, as within a
 * literal, it is therefore decoded without a branch; and while it is, the
 * probabilities for both of its values are loaded.  That one byte of input is
 * needed can be predicted better: it is rare.
 *
 * Source: Igor Pavlov's LZMA specification (2015).
 */
#include "unlzma_symbols.h"

#include "base/cpu.h"
#include "base/bytes.h"

#include <stdbool.h>
#include <string.h>

enum {
	BITS = 11,		/* of a probability */
	RATE = 5,		/* how fast they adapt */
	/* added before a shift by RATE, moves towards 2048 instead of 0 */
	TOWARDS_ONE = (1 << RATE) - 1 - (1 << BITS)
};
#define TOP ((uint32_t)1 << 24)

#define RARELY(x) __builtin_expect((x), 0)

/*
 * One bit of a tree.  m: the number of the node, which becomes that of the
 * child; p: its probability, which is adapted; zero: that of the child for a
 * zero, which becomes that of the child for the bit; one: that of the other.
 */
#if defined(__x86_64__) && defined(__GNUC__)

/*
 * What begins a bit; "ae" (the carry flag is clear) then means that it is a one.
 * The moves that follow leave the flags alone.
 */
#define ASM_BIT								\
	"movl %[range], %[other]\n\t"					\
	"shrl %[bits], %[range]\n\t"					\
	"imull %[p], %[range]\n\t"					\
	"movl %[code], %[t]\n\t"					\
	"subl %[range], %[other]\n\t"					\
	"subl %[range], %[code]\n\t"					\
	"cmovael %[other], %[range]\n\t"				\
	"cmovbl %[t], %[code]\n\t"					\
	"leal %c[towards](%q[p]), %[t]\n\t"				\
	"cmovael %[p], %[t]\n\t"
/* and what ends it */
#define ASM_ADAPT							\
	"sarl %[rate], %[t]\n\t"					\
	"subl %[t], %[p]"

EACH void
tree_bit(uint32_t *range, uint32_t *code, size_t *m, uint32_t *p,
    uint32_t *zero, uint32_t one)
{
	uint32_t other, t;

	__asm__(
	    ASM_BIT
	    "cmovael %[one], %[zero]\n\t"
	    "leaq (%[m],%[m]), %[m]\n\t"
	    "sbbq $-1, %[m]\n\t"
	    ASM_ADAPT
	    : [range] "+r" (*range), [code] "+r" (*code), [m] "+r" (*m),
	      [p] "+r" (*p), [zero] "+r" (*zero), [other] "=&r" (other),
	      [t] "=&r" (t)
	    : [one] "r" (one), [bits] "i" (BITS), [rate] "i" (RATE),
	      [towards] "i" (TOWARDS_ONE)
	    : "cc");
}

/* The last one, which has no children. */
EACH void
last_bit(uint32_t *range, uint32_t *code, size_t *m, uint32_t *p)
{
	uint32_t other, t;

	__asm__(
	    ASM_BIT
	    "leaq (%[m],%[m]), %[m]\n\t"
	    "sbbq $-1, %[m]\n\t"
	    ASM_ADAPT
	    : [range] "+r" (*range), [code] "+r" (*code), [m] "+r" (*m),
	      [p] "+r" (*p), [other] "=&r" (other), [t] "=&r" (t)
	    : [bits] "i" (BITS), [rate] "i" (RATE), [towards] "i" (TOWARDS_ONE)
	    : "cc");
}

/*
 * The same where more depends on the bit: *node and *alike become next_node and
 * next_alike for a one.
 */
EACH void
matched_bit(uint32_t *range, uint32_t *code, uint32_t *p, uint32_t *zero,
    uint32_t one, size_t *node, size_t next_node, size_t *alike,
    size_t next_alike)
{
	uint32_t other, t;

	__asm__(
	    ASM_BIT
	    "cmovael %[one], %[zero]\n\t"
	    "cmovaeq %[next_node], %[node]\n\t"
	    "cmovaeq %[next_alike], %[alike]\n\t"
	    ASM_ADAPT
	    : [range] "+r" (*range), [code] "+r" (*code), [p] "+r" (*p),
	      [zero] "+r" (*zero), [node] "+r" (*node), [alike] "+r" (*alike),
	      [other] "=&r" (other), [t] "=&r" (t)
	    : [one] "r" (one), [next_node] "r" (next_node),
	      [next_alike] "r" (next_alike), [bits] "i" (BITS),
	      [rate] "i" (RATE), [towards] "i" (TOWARDS_ONE)
	    : "cc");
}

/* One bit with equal chances, which is appended to *bits. */
EACH void
direct_bit(uint32_t *range, uint32_t *code, uint32_t *bits)
{
	uint32_t t;

	__asm__(
	    "shrl $1, %[range]\n\t"
	    "movl %[code], %[t]\n\t"
	    "subl %[range], %[code]\n\t"
	    "cmovbl %[t], %[code]\n\t"
	    "leal (%q[bits],%q[bits]), %[bits]\n\t"
	    "sbbl $-1, %[bits]"
	    : [range] "+r" (*range), [code] "+r" (*code), [bits] "+r" (*bits),
	      [t] "=&r" (t)
	    :
	    : "cc");
}

#else

EACH void
direct_bit(uint32_t *range, uint32_t *code, uint32_t *bits)
{
	uint32_t none;

	*range >>= 1;
	none = 0 - (uint32_t)(*code < *range);
	*code -= *range & ~none;
	*bits = 2 * *bits + 1 + none;
}

EACH void
tree_bit(uint32_t *range, uint32_t *code, size_t *m, uint32_t *p,
    uint32_t *zero, uint32_t one)
{
	uint32_t bound = (*range >> BITS) * *p;
	uint32_t bit = *code >= bound, all = 0 - bit;

	*range = bound + ((*range - 2 * bound) & all);
	*code -= bound & all;
	*m = 2 * *m + bit;
	*p = bit ? *p - (*p >> RATE) :
	    *p + (((1 << BITS) - *p) >> RATE);
	*zero = bit ? one : *zero;
}

EACH void
last_bit(uint32_t *range, uint32_t *code, size_t *m, uint32_t *p)
{
	uint32_t none = 0;

	tree_bit(range, code, m, p, &none, 0);
}

EACH void
matched_bit(uint32_t *range, uint32_t *code, uint32_t *p, uint32_t *zero,
    uint32_t one, size_t *node, size_t next_node, size_t *alike,
    size_t next_alike)
{
	size_t m = 0;

	tree_bit(range, code, &m, p, zero, one);
	*node = m ? next_node : *node;
	*alike = m ? next_alike : *alike;
}

#endif

EACH void
copy_16(uint8_t *to, const uint8_t *from)
{
	memcpy(to, from, 16);
}

/*
 * Copies a match; writes up to UNLZMA_COPIED bytes more than len.  A short
 * pattern is repeated until 8 bytes of it can be copied at a time.
 */
EACH void
copy_match(uint8_t *out, const uint8_t *from, size_t distance, size_t len)
{
	uint8_t *end = out + len;

	if (distance >= 16) {
		do {
			copy_16(out, from);
			copy_16(out + 16, from + 16);
			out += 32;
			from += 32;
		} while (RARELY(out < end));
		return;
	}
	if (distance < 8) {
		/* the largest multiples of the distance up to 8 */
		static const uint8_t periods[8] = { 0, 8, 8, 6, 8, 5, 6, 7 };
		size_t step = periods[distance];
		uint64_t word;

		for (size_t i = 0; i < 8; i++)
			out[i] = from[i];
		word = load_le64(out);
		for (out += step; out < end; out += step)
			store_le64(out, word);
		return;
	}
	do {
		memcpy(out, from, 8);
		out += 8;
		from += 8;
	} while (out < end);
}

/*
 * Has the bytes of a match loaded when all but the last 4 bits of its distance
 * are known: they are often not in the cache, and the next symbol needs the last
 * of them.  An invalid distance does no harm.
 */
EACH void
prefetch_match(const uint8_t *begin, const uint8_t *out, size_t distance,
    size_t ring)
{
	uintptr_t from = (uintptr_t)out - distance;

	if (RARELY(distance >= (size_t)(out - begin)))
		from += ring;
	__builtin_prefetch((const void *)(from - 16));
	__builtin_prefetch((const void *)(from + 16));
}

/* The variables of decode() that the macros below use by name. */
#define NEED_BYTE() do {						\
	if (RARELY(range < TOP)) {					\
		if (careful && in == in_end)				\
			goto ended;					\
		range <<= 8;						\
		code = code << 8 | *in++;				\
	}								\
} while (0)

/* Whether the next bit is a zero: begins a statement `if`; see ZERO and ONE. */
#define IS_ZERO(prob)							\
	(at = &(prob), now = *at, bound = (range >> BITS) * now,	\
	code < bound)
#define ZERO() do {							\
	range = bound;							\
	*at = (uint16_t)(now + (((1 << BITS) - now) >> RATE));		\
} while (0)
#define ONE() do {							\
	range -= bound;							\
	code -= bound;							\
	*at = (uint16_t)(now - (now >> RATE));				\
} while (0)

/* One bit of a tree that begins with TREE_BEGIN, and the last one. */
#define TREE_BEGIN(t) do {						\
	tree = (t);							\
	m = 1;								\
	now = tree[1];							\
} while (0)
#define TREE_BIT() do {							\
	uint32_t zero = tree[2 * m], one = tree[2 * m + 1];		\
	size_t node = m;						\
									\
	NEED_BYTE();							\
	tree_bit(&range, &code, &m, &now, &zero, one);			\
	tree[node] = (uint16_t)now;					\
	now = zero;							\
} while (0)
#define TREE_LAST() do {						\
	size_t node = m;						\
									\
	NEED_BYTE();							\
	last_bit(&range, &code, &m, &now);				\
	tree[node] = (uint16_t)now;					\
} while (0)

/*
 * The same for a literal after a match, of which the byte `other` would have been
 * next.  alike: 0x100 as long as the bits are the same, or 0; theirs: `other`'s
 * bit at 0x100, if they are.
 */
#define MATCHED_BEGIN(t, byte) do {					\
	tree = (t);							\
	other = (size_t)(byte) << 1;					\
	alike = 0x100;							\
	theirs = other & alike;						\
	m = alike + theirs + 1;						\
	now = tree[m];							\
} while (0)
#define MATCHED_BIT() do {						\
	size_t node = m, child = 2 * m & 0x1fe;				\
	size_t theirs_1 = theirs, m_1;					\
	uint32_t zero, one;						\
									\
	other <<= 1;							\
	alike -= theirs;						\
	m = alike + (other & alike) + child;				\
	m_1 = theirs_1 + (other & theirs_1) + child + 1;		\
	zero = tree[m];							\
	one = tree[m_1];						\
	NEED_BYTE();							\
	matched_bit(&range, &code, &now, &zero, one, &m, m_1, &alike,	\
	    theirs_1);							\
	tree[node] = (uint16_t)now;					\
	now = zero;							\
	theirs = other & alike;						\
} while (0)

static const uint8_t after_literal[UNLZMA_STATES] = { 0, 0, 0, 0, 1, 2, 3, 4, 5,
	6, 4, 5 };

/* The bits of a number below 32 in reverse order, as 5 bits. */
static const uint8_t reversed[32] = { 0, 16, 8, 24, 4, 20, 12, 28, 2, 18, 10,
	26, 6, 22, 14, 30, 1, 17, 9, 25, 5, 21, 13, 29, 3, 19, 11, 27, 7, 23,
	15, 31 };

/* careful: nothing is read at in_end or written at out_end. */
EACH enum unlzma_why
decode(struct unlzma_place *s, const uint8_t *in_end, const uint8_t *out_stop,
    const uint8_t *out_end, bool careful)
{
	struct unlzma_probabilities *p = &s->p;
	const uint8_t *in = s->in;
	uint8_t *out = s->out;
	uint8_t *const begin = s->begin;
	uint32_t range = s->range, code = s->code;
	uint32_t rep0 = s->reps[0], rep1 = s->reps[1], rep2 = s->reps[2];
	uint32_t rep3 = s->reps[3];
	unsigned state = s->state, last = s->last;
	const unsigned lc = s->lc, lp_mask = (1u << s->lp) - 1;
	const unsigned pb_mask = (1u << s->pb) - 1;
	enum unlzma_why why = UNLZMA_LIMIT;
	uint32_t bound, now;
	uint16_t *tree, *at;
	size_t m;

	while (out < out_stop && (careful || in < in_end)) {
		unsigned position = (unsigned)(out - begin), slot;
		unsigned posed = position & pb_mask;
		struct unlzma_lengths *lengths;
		size_t len, back;
		const uint8_t *from;
		bool across;

		NEED_BYTE();
		if (IS_ZERO(p->is_match[state][posed])) {
			ZERO();
			tree = p->literal[((position & lp_mask) << lc) +
			    (last >> (8 - lc))];
			if (state < 7) {
				TREE_BEGIN(tree);
				TREE_BIT();
				TREE_BIT();
				TREE_BIT();
				TREE_BIT();
				TREE_BIT();
				TREE_BIT();
				TREE_BIT();
				TREE_LAST();
			} else {
				size_t other, theirs, alike;

				back = (size_t)rep0 + 1;
				if (RARELY(rep0 >= (size_t)(out - begin)))
					back -= s->ring;
				MATCHED_BEGIN(tree, out[-(ptrdiff_t)back]);
				MATCHED_BIT();
				MATCHED_BIT();
				MATCHED_BIT();
				MATCHED_BIT();
				MATCHED_BIT();
				MATCHED_BIT();
				MATCHED_BIT();
				TREE_LAST();
			}
			state = after_literal[state];
			last = m & 0xff;
			*out++ = (uint8_t)m;
			continue;
		}
		ONE();
		NEED_BYTE();
		if (IS_ZERO(p->is_rep[state])) {
			ZERO();
			rep3 = rep2;
			rep2 = rep1;
			rep1 = rep0;
			state = state < 7 ? 7 : 10;
			lengths = &p->match;
		} else {
			ONE();
			NEED_BYTE();
			if (IS_ZERO(p->is_rep0[state])) {
				ZERO();
				NEED_BYTE();
				if (IS_ZERO(p->is_long[state][posed])) {
					ZERO();
					state = state < 7 ? 9 : 11;
					lengths = NULL;
				} else {
					ONE();
					state = state < 7 ? 8 : 11;
					lengths = &p->rep;
				}
			} else {
				uint32_t distance;

				ONE();
				NEED_BYTE();
				if (IS_ZERO(p->is_rep1[state])) {
					ZERO();
					distance = rep1;
				} else {
					ONE();
					NEED_BYTE();
					if (IS_ZERO(p->is_rep2[state])) {
						ZERO();
						distance = rep2;
					} else {
						ONE();
						distance = rep3;
						rep3 = rep2;
					}
					rep2 = rep1;
				}
				rep1 = rep0;
				rep0 = distance;
				state = state < 7 ? 8 : 11;
				lengths = &p->rep;
			}
		}

		len = 1;
		if (lengths != NULL) {
			NEED_BYTE();
			if (IS_ZERO(lengths->choice)) {
				ZERO();
				TREE_BEGIN(lengths->low[posed]);
				len = 2 - 8;
			} else {
				ONE();
				NEED_BYTE();
				if (IS_ZERO(lengths->choice_2)) {
					ZERO();
					TREE_BEGIN(lengths->mid[posed]);
					len = 2 + 8 - 8;
				} else {
					ONE();
					TREE_BEGIN(lengths->high);
					TREE_BIT();
					TREE_BIT();
					TREE_BIT();
					TREE_BIT();
					TREE_BIT();
					len = 2 + 16 - 256;
				}
			}
			TREE_BIT();
			TREE_BIT();
			TREE_LAST();
			len += m;
		}

		if (lengths == &p->match) {
			TREE_BEGIN(p->slot[len < 6 ? len - 2 : 3]);
			TREE_BIT();
			TREE_BIT();
			TREE_BIT();
			TREE_BIT();
			TREE_BIT();
			TREE_LAST();
			slot = (unsigned)m - 64;
			rep0 = slot;
			if (slot >= 4) {
				unsigned more = (slot >> 1) - 1;

				rep0 = 2 | (slot & 1);
				if (slot < 14) {
					rep0 <<= more;
					TREE_BEGIN(p->special + rep0);
					for (unsigned i = 1; i < more; i++)
						TREE_BIT();
					TREE_LAST();
					m -= (size_t)1 << more;
					rep0 += reversed[m] >> (5 - more);
				} else {
					for (more -= 4; more > 0; more--) {
						NEED_BYTE();
						direct_bit(&range, &code,
						    &rep0);
					}
					rep0 <<= 4;
					prefetch_match(begin, out, rep0,
					    s->ring);
					TREE_BEGIN(p->align);
					TREE_BIT();
					TREE_BIT();
					TREE_BIT();
					TREE_LAST();
					rep0 += reversed[m - 16] >> 1;
					if (RARELY(rep0 == UINT32_MAX)) {
						why = UNLZMA_MARKER;
						break;
					}
				}
			}
		}

		if (RARELY(rep0 >= s->window)) {
			why = UNLZMA_BAD;
			break;
		}
		back = (size_t)rep0 + 1;
		if (RARELY(rep0 >= (size_t)(out - begin))) {
			if (s->ring == 0) {
				why = UNLZMA_BAD;
				break;
			}
			/* what is before the first byte follows, in the ring */
			back -= s->ring;
		}
		from = out - (ptrdiff_t)back;
		if (careful && len > (size_t)(out_end - out)) {
			why = UNLZMA_BAD;
			break;
		}
		/* from the ring's end to its start */
		across = RARELY(from > out) &&
		    len > (size_t)(begin + s->ring - from);
		if (careful || RARELY(across)) {
			const uint8_t *around = across ? begin + s->ring : NULL;

			for (; len > 0; len--) {
				*out++ = *from++;
				if (from == around)
					from = begin;
			}
		} else {
			copy_match(out, from, back, len);
			out += len;
		}
		last = out[-1];
	}
	goto out;
ended:
	why = UNLZMA_SHORT;
out:
	s->in = in;
	s->out = out;
	s->range = range;
	s->code = code;
	s->reps[0] = rep0;
	s->reps[1] = rep1;
	s->reps[2] = rep2;
	s->reps[3] = rep3;
	s->state = (uint8_t)state;
	s->last = (uint8_t)last;
	return why;
}

enum unlzma_why
unlzma_fast(struct unlzma_place *s, const uint8_t *in_stop,
    const uint8_t *out_stop)
{
	return decode(s, in_stop, out_stop, NULL, false);
}

enum unlzma_why
unlzma_careful(struct unlzma_place *s, const uint8_t *in_end,
    const uint8_t *out_stop, const uint8_t *out_end)
{
	return decode(s, in_end, out_stop, out_end, true);
}

/*
 * deflate_find.c - where in a deflate stream a block begins
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Nothing marks a block's start, which may be at any bit.  But few bits look
 * like the header of a block with dynamic codes (RFC 1951, 3.2.7):
 *
 *	1	0: not the final block
 *	2	2: dynamic codes
 *	5, 5	at most 29: how many lengths, and distances, have codes
 *	4	how many lengths of the precode follow
 *	3 each	these lengths, of codes that use up the code space exactly
 *
 * The first three fields are compared at 48 places at once; one in seven or so
 * remains.  Of these, one in some hundred has a complete precode.  The rest is
 * left to the inflater: the lengths of both codes must be valid, too.
 *
 * A stored block has its length twice, the second time inverted, and is believed
 * if another stored or dynamic block follows.
 */
#include "engine/deflate/deflate_find.h"

#include "base/bytes.h"
#include "base/sys.h"

#include <errno.h>

enum {
	STRIDE = 6,		/* bytes looked at together */
	PLACES = 8 * STRIDE,
	COUNTS_AT = 3,		/* in a header: the numbers of codes, */
	PRECODES_AT = 13,	/* of the precode's lengths, */
	LENGTHS_AT = 17,	/* and these */
	PRECODE_LEAST = 4,
	GROUP = 12,		/* bits of four lengths */
	GROUPS = 5,
	FULL = 128,		/* the precode's code space */
	HEADER_MOST = 17 + 19 * 3
};

_Static_assert(PLACES - 1 + PRECODES_AT + 4 <= 64, "a load has the counts");

struct deflate_finder {
	/* the code space used by four lengths */
	uint16_t space[1 << GROUP];
};

int
deflate_finder_open(struct deflate_finder **out)
{
	struct deflate_finder *f = sys_calloc(1, sizeof(*f));

	if (f == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < 1 << GROUP; i++)
		for (unsigned j = 0; j < GROUP; j += 3)
			if ((i >> j & 7) != 0)
				f->space[i] = (uint16_t)(f->space[i] +
				    (FULL >> (i >> j & 7)));
	*out = f;
	return 0;
}

void
deflate_finder_close(struct deflate_finder *f)
{
	sys_free(f);
}

/*
 * Returns the bits of w, which has 64 of the stream, at which a header may begin,
 * by its first three fields.
 */
static uint64_t
plausible(uint64_t w)
{
	uint64_t pairs = w & w >> 1, fours = pairs & pairs >> 2;
	/* 30 and 31 are the numbers whose upper four bits are ones */
	uint64_t many = fours >> (COUNTS_AT + 1) | fours >> (COUNTS_AT + 6);

	return ~w & ~(w >> 1) & w >> 2 & ~many &
	    ((UINT64_C(1) << PLACES) - 1);
}

/* Returns whether the precode at a bit is complete; n lengths are given. */
static bool
precode_complete(const struct deflate_finder *f, const uint8_t *in,
    uint64_t bit, unsigned n)
{
	uint64_t v = load_le64(in + bit / 8) >> bit % 8;
	unsigned sum = 0;

	/* without branches, which would be mispredicted */
	v &= (UINT64_C(1) << 3 * n) - 1;
	for (unsigned i = 0; i < GROUPS; i++)
		sum += f->space[v >> i * GROUP & ((1 << GROUP) - 1)];
	return sum == FULL;
}

static bool
dynamic_at(const struct deflate_finder *f, struct inflater *inflater,
    const uint8_t *in, size_t len, uint64_t bit, unsigned n)
{
	return precode_complete(f, in, bit + LENGTHS_AT, n) &&
	    inflater_begins(inflater, in, len, bit);
}

/* Returns whether a stored block's lengths are at p. */
static bool
stored_at(const uint8_t *p)
{
	uint32_t v = load_le32(p);

	return ((v ^ v >> 16) & 0xffff) == 0xffff;
}

/*
 * Returns whether a stored block's lengths may be at one of the first six bytes
 * of w; `after` has the data two bytes later.
 */
static bool
may_store(uint64_t w, uint64_t after)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	/* two bytes that are inverted make two zeros, which borrow */
	uint64_t same = ~(w ^ after), zeros = (same - ones) & ~same & ones << 7;

	return (zeros & zeros >> 8) != 0;
}

/*
 * Returns whether a stored block whose lengths are at in[at] is followed by
 * another block.
 */
static bool
stored_followed(const struct deflate_finder *f, struct inflater *inflater,
    const uint8_t *in, size_t len, size_t at)
{
	size_t next = at + 4 + load_le16(in + at);
	uint64_t w;

	if (len < HEADER_MOST / 8 + 1 || next > len - HEADER_MOST / 8 - 1)
		return false;
	w = load_le64(in + next);
	if ((w & 6) == 0)
		return stored_at(in + next + 1);
	return (plausible(w) & 1) != 0 && dynamic_at(f, inflater, in, len,
	    8 * (uint64_t)next, PRECODE_LEAST + (w >> PRECODES_AT & 15));
}

/*
 * Returns the last bit at which a stored block may begin whose lengths are at one
 * of the STRIDE bytes from in[at]; UINT64_MAX: there is none.
 */
static uint64_t
find_stored(const struct deflate_finder *f, struct inflater *inflater,
    const uint8_t *in, size_t len, size_t at)
{
	if (!may_store(load_le64(in + at), load_le64(in + at + 2)))
		return UINT64_MAX;
	/* the header before its lengths ends with three zeros */
	for (size_t i = at == 0; i < STRIDE; i++)
		if (stored_at(in + at + i) && in[at + i - 1] < 32 &&
		    stored_followed(f, inflater, in, len, at + i))
			return 8 * (uint64_t)(at + i) - 3;
	return UINT64_MAX;
}

bool
deflate_find(const struct deflate_finder *f, struct inflater *inflater,
    const uint8_t *in, size_t len, uint64_t from, uint64_t to,
    bool only_stored, struct deflate_found *found)
{
	size_t at = from / 8, end = to / 8 < len ? to / 8 : len;
	unsigned skip = from % 8;

	for (; at < end; at += STRIDE, skip = 0) {
		uint64_t w = load_le64(in + at);
		uint64_t stored = find_stored(f, inflater, in, len, at);
		uint64_t maybe = only_stored ? 0 :
		    plausible(w) >> skip << skip;

		for (; maybe != 0; maybe &= maybe - 1) {
			unsigned i = (unsigned)__builtin_ctzll(maybe);

			if (8 * at + i < stored && dynamic_at(f, inflater, in,
			    len, 8 * at + i, PRECODE_LEAST +
			    (w >> (i + PRECODES_AT) & 15))) {
				*found = (struct deflate_found){ 8 * at + i,
				    false };
				return found->bit < to;
			}
		}
		if (stored != UINT64_MAX && stored >= from) {
			*found = (struct deflate_found){ stored, true };
			return stored < to;
		}
	}
	return false;
}

/*
 * lzma_fast.c - a parse that looks one byte ahead
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Of what begins at a position, the longest is taken, unless something shorter is
 * cheaper by its distance, or something better begins at the next byte.  What is
 * better is judged by lengths and distances, as in liblzma's fast mode.
 */
#include "lzma_model.h"

enum {
	TWO_MOST = 1 << 7,	/* beyond, a match of two costs as much as bytes */
	/* a repeated distance is worth one byte, or more if the other is far */
	FAR = 1 << 9,
	VERY_FAR = 1 << 15,
	MUCH_LOG = 7		/* distances this much nearer are worth a byte */
};

/* Whether the distance a is so much smaller that a byte less is better. */
static inline bool
much_nearer(uint32_t a, uint32_t b)
{
	return a < b >> MUCH_LOG;
}

/* Whether what begins at the next byte is better than m. */
static inline bool
better_next(struct lzma_parser *z, uint32_t pos, const struct find_pair *m)
{
	uint32_t count;
	const struct find_pair *n = chain_at(&z->chain, pos + 1, &count);
	unsigned rep;

	if (count > 0) {
		n += count - 1;
		if ((n->len >= m->len && n->dist < m->dist) ||
		    (n->len == m->len + 1 && !much_nearer(m->dist, n->dist)) ||
		    n->len > m->len + 1 ||
		    (n->len + 1 >= m->len && m->len >= 3 &&
		    much_nearer(n->dist, m->dist)))
			return true;
	}
	return lzma_best_rep(z, pos + 1, &rep) >= (m->len < 3 ? 2U : m->len - 1U);
}

/* Whether a repeated distance is worth more than m, which may be longer. */
static inline bool
rep_wins(uint32_t rep_len, const struct find_pair *m)
{
	return rep_len >= 2 && (rep_len + 1 >= m->len ||
	    (rep_len + 2 >= m->len && m->dist >= FAR) ||
	    (rep_len + 3 >= m->len && m->dist >= VERY_FAR));
}

void
lzma_parse_fast(struct lzma_parser *z, uint32_t pos)
{
	uint32_t count, rep_len;
	const struct find_pair *pair = chain_at(&z->chain, pos, &count);
	struct find_pair m = { 0, 0, 0 };
	unsigned rep = 0;

	rep_len = lzma_best_rep(z, pos, &rep);
	if (count > 0)
		m = pair[count - 1];
	for (; m.len < z->nice && count > 1 &&
	    m.len == pair[count - 2].len + 1 &&
	    much_nearer(pair[count - 2].dist, m.dist); count--)
		m = pair[count - 2];

	z->symbols = 1;
	if (rep_len >= z->nice || rep_wins(rep_len, &m))
		z->symbol[0] = (struct lzma_symbol){ rep, rep_len };
	else if (m.len < 2 || (m.len == 2 && m.dist >= TWO_MOST) ||
	    (m.len < z->nice && better_next(z, pos, &m)))
		z->symbol[0] = (struct lzma_symbol){ SYMBOL_LITERAL, 1 };
	else
		z->symbol[0] = (struct lzma_symbol){ m.dist + REPS, m.len };
}

/*
 * zstd_block.c - the sections of a compressed block, and its sequences
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_block.h"

#include "base/bytes.h"

#include <errno.h>

enum { LITERALS_RAW, LITERALS_RLE, LITERALS_COMPRESSED, LITERALS_TREELESS };

static uint64_t
load_at(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

struct zstd_block_head
zstd_block_head(const uint8_t *p)
{
	uint32_t v = (uint32_t)load_at(p, ZSTD_BLOCK_HEAD);
	struct zstd_block_head h = { v & 1, (int)(v >> 1 & 3), v >> 3, 0 };

	h.stored = h.type == ZSTD_RLE ? 1 : h.size;
	return h;
}

/* Returns the length of the literals section, or 0 if it is incomplete. */
static size_t
literals_len(struct zstd_tables *t, const uint8_t *p, size_t len)
{
	static const uint8_t plain_head[] = { 1, 2, 1, 3 };
	static const uint8_t packed_head[] = { 3, 3, 4, 5 };
	static const uint8_t size_bits[] = { 10, 10, 14, 18 };
	unsigned type = p[0] & 3, form = p[0] >> 2 & 3;
	bool plain = type == LITERALS_RAW || type == LITERALS_RLE;
	size_t head = plain ? plain_head[form] : packed_head[form];
	uint64_t v;

	if (len < head)
		return 0;
	v = load_at(p, head);
	if (type == LITERALS_RLE)
		return head + 1;
	if (type == LITERALS_RAW)
		return head + (size_t)(v >> (form & 1 ? 4 : 3));
	if (type == LITERALS_TREELESS && !t->literals)
		return 0;
	t->literals = true;
	return head + (size_t)(v >> (4 + size_bits[form]) &
	    ((1U << size_bits[form]) - 1));
}

/*
 * Reads the number of sequences at *at, and advances *at.  Returns 0 or
 * -EBADMSG.
 */
static int
take_count(const uint8_t *p, size_t len, size_t *at, uint32_t *count)
{
	size_t left = len - *at;

	if (left < 1)
		return -EBADMSG;
	p += *at;
	*count = p[0];
	if (p[0] < 128) {
		*at += 1;
		return 0;
	}
	if (left < 3)
		return -EBADMSG;
	*count = p[0] < 255 ? (p[0] - 128U) << 8 | p[1] :
	    (p[1] | (uint32_t)p[2] << 8) + 0x7f00;
	*at += p[0] < 255 ? 2 : 3;
	/* a count of 0 is encoded differently */
	return *count == 0 ? -EBADMSG : 0;
}

static ssize_t
take_table(struct zstd_tables *t, enum zstd_code c, unsigned mode,
    const uint8_t *p, size_t len)
{
	int rc;

	if (mode == ZSTD_MODE_REPEAT)
		return t->set[c] ? 0 : -EBADMSG;
	t->set[c] = true;
	if (mode == ZSTD_MODE_DESCRIBED)
		return zstd_fse_read(&t->fse[c], c, p, len);
	if (mode == ZSTD_MODE_PREDEFINED) {
		zstd_fse_predefined(&t->fse[c], c);
		return 0;
	}
	rc = len < 1 ? -EBADMSG : zstd_fse_single(&t->fse[c], c, p[0]);
	return rc < 0 ? rc : 1;
}

int
zstd_sections(struct zstd_tables *t, const uint8_t *p, size_t len,
    struct zstd_sections *s)
{
	size_t at = len == 0 ? 0 : literals_len(t, p, len);

	if (at == 0 || at >= len || take_count(p, len, &at, &s->count) != 0)
		return -EBADMSG;
	if (s->count == 0)
		return at == len ? 0 : -EBADMSG;
	s->modes = at;
	if (at == len || p[at++] & 3)
		return -EBADMSG;
	for (enum zstd_code c = 0; c < ZSTD_CODES; c++) {
		ssize_t n = take_table(t, c, zstd_mode(p[s->modes], c),
		    p + at, len - at);

		if (n < 0)
			return (int)n;
		s->table[c] = at;
		s->table_len[c] = (size_t)n;
		at += (size_t)n;
	}
	s->stream = at;
	return at < len ? 0 : -EBADMSG;
}

/*
 * Reads the n bits (at most 32) before the position, and moves it.  Returns 0
 * or -EBADMSG.
 */
static int
take_bits(struct zstd_reader *r, unsigned n, uint32_t *v)
{
	size_t first, last;

	if (n > r->bit)
		return -EBADMSG;
	if (n == 0) {
		*v = 0;
		return 0;
	}
	last = (r->bit - 1) / 8;
	r->bit -= n;
	first = r->bit / 8;
	*v = (uint32_t)(load_at(r->p + first, last + 1 - first) >>
	    r->bit % 8 & (((uint64_t)1 << n) - 1));
	return 0;
}

int
zstd_reader_open(struct zstd_reader *r, const struct zstd_tables *t,
    const uint8_t *p, size_t len, const struct zstd_sections *s)
{
	int rc = 0;

	/* the highest bit set marks the end */
	if (p[len - 1] == 0)
		return -EBADMSG;
	r->tables = t;
	r->p = p + s->stream;
	r->bit = 8 * (len - s->stream) - 1 -
	    ((unsigned)__builtin_clz(p[len - 1]) - 24);
	r->left = s->count;
	for (enum zstd_code c = 0; rc == 0 && c < ZSTD_CODES; c++)
		rc = take_bits(r, t->fse[c].log, &r->state[c]);
	return rc;
}

/*
 * The values of a sequence are stored in one order, the next states in another.
 */
int
zstd_reader_next(struct zstd_reader *r, struct zstd_sequence *q)
{
	static const enum zstd_code values[] = { ZSTD_OF, ZSTD_ML, ZSTD_LL };
	static const enum zstd_code states[] = { ZSTD_LL, ZSTD_ML, ZSTD_OF };
	int rc = 0;

	for (int i = 0; rc == 0 && i < ZSTD_CODES; i++) {
		enum zstd_code c = values[i];

		q->symbol[c] = r->tables->fse[c].states[r->state[c]].symbol;
		rc = take_bits(r, zstd_extra_bits(c, q->symbol[c]),
		    &q->extra[c]);
	}
	r->left--;
	for (int i = 0; rc == 0 && r->left > 0 && i < ZSTD_CODES; i++) {
		enum zstd_code c = states[i];
		const struct zstd_state *x =
		    &r->tables->fse[c].states[r->state[c]];
		uint32_t v = 0;

		rc = take_bits(r, x->bits, &v);
		r->state[c] = x->base + v;
	}
	return rc;
}

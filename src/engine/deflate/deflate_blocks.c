/*
 * deflate_blocks.c - the sequence of deflate blocks (RFC 1951, 3.2.3)
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_blocks.h"

#include <errno.h>

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
	deflate_put(&b->w, 0, 3);
	b->w.held = (b->w.held + 7) & ~7U;
	deflate_flush(&b->w);
	deflate_put(&b->w, n | (uint64_t)(n ^ 0xffff) << 16, 32);
	deflate_flush(&b->w);
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
	struct deflate_plan plan;
	int rc;

	deflate_plan_make(&plan, p, b->search != DEFLATE_THOROUGH);
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
	deflate_emit(&b->w, &plan, &p->at, &p[1].at);
	return 0;
}

int
deflate_blocks_add(struct deflate_blocks *b, const uint8_t *in,
    const struct deflate_seq *seqs, size_t n)
{
	struct deflate_cursor at = { seqs, in, 0 };
	unsigned blocks;

	while ((blocks = deflate_split(b, &at, seqs + n)) > 0) {
		bool alone = blocks == 1 && b->pieces[0].at.seq == seqs &&
		    at.seq == seqs + n;

		for (unsigned i = 0; i < blocks; i++) {
			int rc = add_block(b, &b->pieces[i], alone);

			if (rc != 0)
				return rc;
		}
	}
	return write_stored(b);
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
		deflate_put(&b->w, 1 << 1, 10);
	}
	b->w.held = (b->w.held + 7) & ~7U;
	deflate_flush(&b->w);
	mark = b->out + b->header / 8;
	*mark |= (uint8_t)(1U << b->header % 8);
	return b->w.next - b->out;
}

/*
 * zstd_job.c - the independent jobs that make up a frame
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A job is made from a frame.  At its start, the repeat offsets are 1, 4 and 8,
 * and libzstd uses them where they fit.  In a job, a sequence that does so gets
 * an explicit offset, and so do the following sequences, until the last three
 * offsets are the same in both encodings, which takes a few sequences.
 *
 * Sequences are written from the last to the first, and read in the opposite
 * order.  Therefore all bits of the unchanged sequences can stay in place, and
 * the changed sequences are rewritten after them.  If the block's table has no
 * code for an explicit value, the predefined table is used for the block, and
 * for later blocks that repeat its table.
 */
#include "zstd_job.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "zstd_block.h"
#include "zstd_scan.h"

#include <errno.h>
#include <string.h>

/* The job sizes, in MiB, that are encoded by two or more marks. */
static const uint16_t told[] = { 4, 8, 16, 24, 32, 48, 128, 256, 512 };

enum { TOLD = sizeof(told) / sizeof(told[0]), TOLD_MARKS = 2 };

unsigned
zstd_job_marks(uint64_t len)
{
	for (unsigned i = 0; i < TOLD; i++)
		if ((uint64_t)told[i] << 20 == len)
			return i + TOLD_MARKS;
	return 1;
}

uint64_t
zstd_job_len(unsigned marks)
{
	return marks < TOLD_MARKS || marks - TOLD_MARKS >= TOLD ? 0 :
	    (uint64_t)told[marks - TOLD_MARKS] << 20;
}

void
zstd_job_head(uint8_t head[ZSTD_JOB_HEAD], uint8_t window)
{
	store_le32(head, ZSTD_FRAME_MAGIC);
	head[4] = 0;
	head[5] = window;
}

/* Returns the block after p if it is complete, or NULL at the end. */
static const uint8_t *
next_block(const uint8_t *p, const uint8_t *end, struct zstd_block_head *h)
{
	if (end - p < ZSTD_BLOCK_HEAD)
		return NULL;
	*h = zstd_block_head(p);
	return h->stored <= (size_t)(end - p) - ZSTD_BLOCK_HEAD ? p : NULL;
}

uint8_t *
zstd_last_block(uint8_t *p, size_t len)
{
	const uint8_t *q = p, *end = p + len;
	struct zstd_block_head h;

	while ((q = next_block(q, end, &h)) != NULL) {
		if (h.last)
			return p + (q - p);
		q += ZSTD_BLOCK_HEAD + h.stored;
	}
	return NULL;
}

/* Reads a block's sequences until all offsets are the job's own. */
static bool
own_offsets(struct zstd_offsets *o, const struct zstd_tables *t,
    const uint8_t *p, size_t len, const struct zstd_sections *s)
{
	struct zstd_reader r;

	if (zstd_offsets_known(o))
		return true;
	if (zstd_reader_open(&r, t, p, len, s) != 0)
		return false;
	while (r.left > 0 && !zstd_offsets_known(o)) {
		struct zstd_sequence q;

		if (zstd_reader_next(&r, &q) != 0 || zstd_offsets_use(o,
		    zstd_offset_value(&q), q.symbol[ZSTD_LL] != 0) == 0)
			return false;
	}
	return true;
}

bool
zstd_job_alone(const uint8_t *p, size_t len)
{
	const uint8_t *end = p + len;
	struct zstd_offsets offsets = { { 0 } };
	struct zstd_tables t;
	struct zstd_block_head h;

	t.literals = t.set[0] = t.set[1] = t.set[2] = false;
	while ((p = next_block(p, end, &h)) != NULL) {
		struct zstd_sections s;

		p += ZSTD_BLOCK_HEAD;
		if (h.type == ZSTD_RESERVED)
			return false;
		if (h.type == ZSTD_COMPRESSED &&
		    (zstd_sections(&t, p, h.stored, &s) != 0 ||
		    (s.count > 0 && !own_offsets(&offsets, &t, p, h.stored,
		    &s))))
			return false;
		/* sequences always set all three tables */
		if (h.last || (t.literals && zstd_offsets_known(&offsets)))
			return true;
		p += h.stored;
	}
	return false;
}

/* Making a job */

struct settle {
	struct buf *b;
	size_t from, to;	/* in b: next block to read, and end of data
				 * written */
	size_t most;
	struct zstd_tables tables;
	struct zstd_fse predefined;	/* predefined table for offsets */
	struct zstd_offsets were, are;	/* offsets in libzstd's encoding, and
					 * in ours */
	bool replaced;		/* the last offset table was replaced */
};

/* A block, and its new form. */
struct change {
	const uint8_t *p;
	size_t len;
	struct zstd_sections s;
	struct zstd_reader reader;
	struct zstd_sequence *q;	/* the first sequences, in their new
					 * form */
	uint32_t count;
	bool plain_table;		/* use the predefined table */
};

static bool
same(const struct settle *s)
{
	return memcmp(&s->were, &s->are, sizeof(s->were)) == 0;
}

/*
 * Reads sequences until no further changes are needed, or to the last one, and
 * gives each the offset value that it needs.
 */
static int
take_sequences(struct settle *s, struct change *c, bool all, bool *changed)
{
	struct zstd_sequence one;

	while (c->reader.left > 0 && (all || !same(s))) {
		struct zstd_sequence *q = c->q == NULL ? &one :
		    &c->q[c->count++];
		int rc = zstd_reader_next(&c->reader, q), log;
		struct zstd_offsets are = s->are;
		uint32_t old, value, offset;
		bool literals;

		if (rc != 0)
			return rc;
		old = value = zstd_offset_value(q);
		literals = q->symbol[ZSTD_LL] != 0;
		offset = zstd_offsets_use(&s->were, old, literals);
		if (zstd_offsets_use(&are, old, literals) != offset) {
			are = s->are;
			value = offset + ZSTD_OFFSETS;
			zstd_offsets_use(&are, value, literals);
		}
		s->are = are;
		if (value == old)
			continue;
		log = 31 - __builtin_clz(value);
		q->symbol[ZSTD_OF] = (uint8_t)log;
		q->extra[ZSTD_OF] = value - (1U << log);
		*changed = true;
	}
	return 0;
}

/* A bit writer, lowest bit first. */
struct writer {
	uint8_t *p;
	size_t cap, len;
	uint64_t bits;
	unsigned count;
};

static void
put_value(struct writer *w, uint32_t v, unsigned n)
{
	w->bits |= (uint64_t)v << w->count;
	for (w->count += n; w->count >= 8; w->count -= 8) {
		if (w->len < w->cap)
			w->p[w->len] = (uint8_t)w->bits;
		w->len++;
		w->bits >>= 8;
	}
}

/* Writes the sequence before the one that begins in the states `next`. */
static int
put_sequence(struct writer *w, const struct zstd_fse *const fse[ZSTD_CODES],
    const struct zstd_sequence *q, int next[ZSTD_CODES])
{
	static const enum zstd_code states[] = { ZSTD_OF, ZSTD_ML, ZSTD_LL };
	static const enum zstd_code values[] = { ZSTD_LL, ZSTD_ML, ZSTD_OF };

	for (int i = 0; i < ZSTD_CODES; i++) {
		enum zstd_code c = states[i];
		int x = zstd_fse_before(fse[c], q->symbol[c], next[c]);

		if (x < 0)
			return -ENOENT;
		if (next[c] >= 0)
			put_value(w,
			    (uint32_t)(next[c] - fse[c]->states[x].base),
			    fse[c]->states[x].bits);
		next[c] = x;
	}
	for (int i = 0; i < ZSTD_CODES; i++) {
		enum zstd_code c = values[i];

		put_value(w, q->extra[c], zstd_extra_bits(c, q->symbol[c]));
	}
	return 0;
}

/*
 * Writes the bits of a block's sequences.  Returns -ENOENT if a table lacks a
 * code that one of them needs.
 */
static int
put_stream(const struct settle *s, const struct change *c, struct writer *w)
{
	static const enum zstd_code first[] = { ZSTD_ML, ZSTD_OF, ZSTD_LL };
	const struct zstd_fse *fse[] = { &s->tables.fse[ZSTD_LL],
	    c->plain_table ? &s->predefined : &s->tables.fse[ZSTD_OF],
	    &s->tables.fse[ZSTD_ML] };
	int next[ZSTD_CODES] = { -1, -1, -1 }, rc = 0;
	size_t whole = c->reader.bit / 8;
	unsigned part = c->reader.bit % 8;

	if (c->reader.left == 0 && c->reader.bit != 0)
		return -EBADMSG;
	for (int i = 0; c->reader.left > 0 && i < ZSTD_CODES; i++)
		next[i] = (int)c->reader.state[i];
	if (w->cap - w->len < whole)
		return -ENOBUFS;
	memcpy(w->p + w->len, c->reader.p, whole);
	w->len += whole;
	if (part > 0)
		put_value(w, c->reader.p[whole] & ((1U << part) - 1), part);
	for (uint32_t i = c->count; rc == 0 && i-- > 0;)
		rc = put_sequence(w, fse, &c->q[i], next);
	for (int i = 0; rc == 0 && i < ZSTD_CODES; i++)
		put_value(w, (uint32_t)next[first[i]], fse[first[i]]->log);
	put_value(w, 1, 1);
	put_value(w, 0, (8 - w->count) % 8);
	return rc;
}

static void
put_bytes(struct writer *w, const uint8_t *p, size_t len)
{
	if (w->len <= w->cap && len <= w->cap - w->len)
		memcpy(w->p + w->len, p, len);
	w->len += len;
}

/* Writes the new block to the space before the data still to be read. */
static int
put_settled(struct settle *s, const struct change *c, bool last)
{
	struct writer w = { .p = s->b->data + s->to + ZSTD_BLOCK_HEAD };
	uint8_t modes = c->p[c->s.modes];
	int rc;

	if (s->from - s->to <= ZSTD_BLOCK_HEAD)
		return -ENOBUFS;
	w.cap = s->from - s->to - ZSTD_BLOCK_HEAD;
	if (w.cap >= s->most)
		w.cap = s->most - 1;
	if (c->plain_table)
		modes &= (uint8_t)~(3U << (6 - 2 * ZSTD_OF));
	put_bytes(&w, c->p, c->s.modes);
	put_bytes(&w, &modes, 1);
	for (enum zstd_code i = 0; i < ZSTD_CODES; i++)
		if (i != ZSTD_OF || !c->plain_table)
			put_bytes(&w, c->p + c->s.table[i],
			    c->s.table_len[i]);
	rc = w.len > w.cap ? -ENOBUFS : put_stream(s, c, &w);
	if (rc != 0 || w.len > w.cap)
		return rc != 0 ? rc : -ENOBUFS;
	zstd_block_head_store(s->b->data + s->to, last, ZSTD_COMPRESSED, w.len);
	s->to += ZSTD_BLOCK_HEAD + w.len;
	return 0;
}

/*
 * Determines whether and how a block with sequences changes, and writes it if
 * it does: first with its own table, then with another.
 */
static int
settle_sequences(struct settle *s, size_t len, bool last, bool *changed)
{
	struct change c = { .p = s->b->data + s->from + ZSTD_BLOCK_HEAD,
	    .len = len };
	struct zstd_offsets were = s->were, are = s->are;
	size_t rest = s->b->len - s->from;
	int rc = zstd_sections(&s->tables, c.p, len, &c.s);

	if (rc != 0 || c.s.count == 0)
		return rc;
	if (zstd_mode(c.p[c.s.modes], ZSTD_OF) != ZSTD_MODE_REPEAT)
		s->replaced = false;
	c.plain_table = *changed = s->replaced;
	rc = zstd_reader_open(&c.reader, &s->tables, c.p, len, &c.s);
	if (rc == 0 && !*changed)
		rc = take_sequences(s, &c, false, changed);
	if (rc != 0 || !*changed)
		return rc;
	c.q = sys_malloc(c.s.count * sizeof(*c.q));
	if (c.q == NULL)
		return -ENOMEM;
	/* the blocks still to be read move to the end, to make room */
	if (s->from == s->to && s->b->len != s->b->cap) {
		memmove(s->b->data + s->b->cap - rest, s->b->data + s->from,
		    rest);
		s->from = s->b->cap - rest;
		s->b->len = s->b->cap;
	}
	c.p = s->b->data + s->from + ZSTD_BLOCK_HEAD;
	s->were = were;
	s->are = are;
	rc = zstd_reader_open(&c.reader, &s->tables, c.p, len, &c.s);
	if (rc == 0)
		rc = take_sequences(s, &c, c.plain_table, changed);
	if (rc == 0)
		rc = c.plain_table ? -ENOENT : put_settled(s, &c, last);
	if (rc == -ENOENT) {
		rc = take_sequences(s, &c, true, changed);
		c.plain_table = true;
		if (rc == 0)
			rc = put_settled(s, &c, last);
		s->replaced = rc == 0;
	}
	sys_free(c.q);
	return rc;
}

int
zstd_job_settle(struct buf *b, size_t from, size_t most)
{
	struct settle s = { .b = b, .from = from, .to = from, .most = most,
	    .were = { { 1, 4, 8 } } };

	zstd_fse_predefined(&s.predefined, ZSTD_OF);
	while ((!same(&s) || s.replaced) && s.from < b->len) {
		struct zstd_block_head h;
		bool changed = false;
		size_t whole;

		if (b->len - s.from < ZSTD_BLOCK_HEAD)
			return -EBADMSG;
		h = zstd_block_head(b->data + s.from);
		if (h.stored > b->len - s.from - ZSTD_BLOCK_HEAD)
			return -EBADMSG;
		whole = ZSTD_BLOCK_HEAD + h.stored;
		if (h.type == ZSTD_COMPRESSED) {
			int rc = settle_sequences(&s, h.stored, h.last,
			    &changed);

			if (rc != 0)
				return rc;
		}
		if (!changed) {
			memmove(b->data + s.to, b->data + s.from, whole);
			s.to += whole;
		}
		s.from += whole;
	}
	if (s.from != s.to)
		memmove(b->data + s.to, b->data + s.from, b->len - s.from);
	b->len -= s.from - s.to;
	return 0;
}

/*
 * bz2_decode.c - decoding a bzip2 block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The decoded symbols represent positions in a move-to-front list of bytes, and
 * runs of its first byte.  Decoding them yields the last column of the sorted
 * rotations, from which the block is reconstructed.
 */
#include "bz2_decode.h"

#include "base/sys.h"

#include <errno.h>

enum {
	RUN_LIMIT = 1 << 21,	/* bzip2 rejects longer runs */
	SLACK = 64,		/* number of bytes that may be written past the
				 * last column */
	FRONT = 8		/* part of the move-to-front list kept in a
				 * register */
};

static void
bits_start(struct bz2_in *b, const uint8_t *in, size_t len, uint64_t bit)
{
	b->in = in;
	b->len = len;
	b->pos = (size_t)(bit >> 3);
	b->acc = 0;
	b->count = 0;
	bz2_refill(b);
	bz2_skip(b, bit & 7);
}

/*
 * Reads the list of byte values in use, in ascending order.  Returns their
 * number.
 */
static int
read_map(struct bz2_in *b, uint8_t map[256])
{
	uint32_t rows = bz2_get(b, 16);
	int n = 0;

	for (int i = 0; i < 16; i++) {
		uint32_t row;

		if ((rows >> (15 - i) & 1) == 0)
			continue;
		row = bz2_get(b, 16);
		for (int k = 0; k < 16; k++)
			if ((row >> (15 - k) & 1) != 0)
				map[n++] = (uint8_t)(i * 16 + k);
	}
	return n;
}

/*
 * Looks up a code longer than BZ2_FAST_BITS.  Returns symbol << BZ2_LEN_BITS |
 * length, or 0.
 */
static unsigned
long_code(const struct bz2_table *t, uint64_t acc)
{
	uint32_t v = (uint32_t)(acc >> (64 - BZ2_CODE_MAX));

	for (int len = BZ2_FAST_BITS + 1; len <= BZ2_CODE_MAX; len++)
		if (v < t->end[len]) {
			int32_t code = (int32_t)(v >> (BZ2_CODE_MAX - len));

			return (unsigned)t->order[code + t->first[len]] <<
			    BZ2_LEN_BITS | (unsigned)len;
		}
	return 0;
}

/*
 * Decodes up to BZ2_GROUP symbols with one table, but none after the end of the
 * block.  Returns the number of symbols decoded, including the end symbol, or
 * -EBADMSG.
 */
static int
read_group(struct bz2_in *b, const struct bz2_table *t, unsigned end,
    uint16_t *symbols)
{
	for (int i = 0; i < BZ2_GROUP; i++) {
		unsigned entry;

		bz2_refill(b);
		entry = t->fast[b->acc >> (64 - BZ2_FAST_BITS)];
		if (entry == 0) {
			entry = long_code(t, b->acc);
			if (entry == 0)
				return -EBADMSG;
		}
		bz2_skip(b, entry & ((1 << BZ2_LEN_BITS) - 1));
		symbols[i] = (uint16_t)(entry >> BZ2_LEN_BITS);
		if (symbols[i] == end)
			return i + 1;
	}
	return BZ2_GROUP;
}

/*
 * The move-to-front list.  The first eight bytes are in a word, lowest byte
 * first.
 */
struct mtf {
	uint64_t front;
	uint8_t rest[256];	/* the list from FRONT onward */
	size_t len, limit;	/* length and limit of the column */
	uint32_t run, weight;	/* the run being read, in bijective base 2 */
};

static void
mtf_start(struct mtf *m, const uint8_t map[256], size_t limit)
{
	memcpy(m->rest, map, sizeof(m->rest));
	m->front = 0;
	for (int i = 0; i < FRONT; i++)
		m->front |= (uint64_t)map[i] << (8 * i);
	m->len = 0;
	m->limit = limit;
	m->run = 0;
	m->weight = 1;
}

/* Moves the byte at a position of 1 or more to the front. */
static inline void
mtf_move(struct mtf *m, unsigned at)
{
	uint64_t byte, below;

	if (at < FRONT) {
		below = (UINT64_C(1) << (8 * at)) - 1;
		byte = m->front >> (8 * at) & 0xff;
		m->front = (m->front & ~(below << 8 | 0xff)) |
		    (m->front & below) << 8 | byte;
		return;
	}
	byte = m->rest[at];
	memmove(m->rest + FRONT + 1, m->rest + FRONT, at - FRONT);
	m->rest[FRONT] = (uint8_t)(m->front >> 56);
	m->front = m->front << 8 | byte;
}

/* Writes the run terminated by another symbol. */
static inline int
end_run(struct bz2_decoder *d, struct mtf *m)
{
	uint8_t byte = (uint8_t)m->front;

	if (m->run > m->limit - m->len)
		return -EBADMSG;
	memset(d->text + m->len, byte, m->run);
	m->len += m->run;
	d->counts[byte] += m->run;
	m->run = 0;
	m->weight = 1;
	return 0;
}

static int
add_group(struct bz2_decoder *d, struct mtf *m, const uint16_t *symbols,
    int count)
{
	for (int i = 0; i < count; i++) {
		unsigned symbol = symbols[i];

		if (symbol < 2) {
			if (m->weight >= RUN_LIMIT)
				return -EBADMSG;
			m->run += m->weight << symbol;
			m->weight <<= 1;
			continue;
		}
		if (m->run > 0 && end_run(d, m) != 0)
			return -EBADMSG;
		if (m->len >= m->limit)
			return -EBADMSG;
		mtf_move(m, symbol - 1);
		d->text[m->len++] = (uint8_t)m->front;
		d->counts[m->front & 0xff]++;
	}
	return 0;
}

/*
 * Decodes the last column of the sorted rotations, and determines its length.
 */
static int
read_column(struct bz2_decoder *d, struct bz2_in *b, struct mtf *m,
    int selectors, unsigned end)
{
	uint16_t symbols[BZ2_GROUP];

	memset(d->counts, 0, sizeof(d->counts));
	for (int i = 0; i < selectors; i++) {
		const struct bz2_table *t = &d->tables[d->selectors[i]];
		int n = read_group(b, t, end, symbols);
		bool last;

		if (n < 0)
			return n;
		last = symbols[n - 1] == end;
		if (add_group(d, m, symbols, last ? n - 1 : n) != 0)
			return -EBADMSG;
		if (last)
			return m->run > 0 ? end_run(d, m) : 0;
		if (bz2_overrun(b))
			return -ENODATA;
	}
	return -EBADMSG;
}

static int
read_block(struct bz2_decoder *d, int level, struct bz2_in *b)
{
	size_t limit = (size_t)level * BZ2_BLOCK_UNIT, origin;
	uint8_t map[256] = { 0 };
	bool randomised;
	int used, selectors;
	struct mtf m;
	int rc;

	if (bz2_get(b, 24) != BZ2_MAGIC_BLOCK >> 24 ||
	    bz2_get(b, 24) != (BZ2_MAGIC_BLOCK & 0xffffff))
		return -EBADMSG;
	d->stored = bz2_get(b, 32);
	randomised = bz2_get(b, 1) == 1;
	origin = bz2_get(b, 24);
	used = read_map(b, map);
	if (used == 0)
		return -EBADMSG;
	selectors = bz2_read_codes(d, b, used + 2);
	if (selectors < 0)
		return selectors;
	mtf_start(&m, map, limit);
	rc = read_column(d, b, &m, selectors, (unsigned)used + 1);
	if (rc != 0)
		return rc;
	if (origin >= m.len)
		return -EBADMSG;
	if (bz2_overrun(b))
		return -ENODATA;
	bz2_unsort(d->text, m.len, origin, d->counts, d->scratch);
	if (randomised)
		bz2_derandomise(d->text, m.len);
	bz2_unrle_start(&d->unrle, d->text, m.len);
	return 0;
}

int
bz2_decode_block(struct bz2_decoder *d, int level, const uint8_t *in,
    size_t len, uint64_t *bit, uint32_t *crc)
{
	struct bz2_in b;
	int rc;

	bz2_unrle_start(&d->unrle, d->text, 0);
	d->crc = UINT32_MAX;
	d->stored = 0;
	if (level < BZ2_LEVEL_MIN || level > d->level)
		return -EINVAL;
	if (*bit >= (uint64_t)len * 8)
		return -ENODATA;
	bits_start(&b, in, len, *bit);
	rc = read_block(d, level, &b);
	if (rc != 0)
		return bz2_overrun(&b) ? -ENODATA : rc;
	*bit = bz2_position(&b);
	*crc = d->stored;
	return 0;
}

ssize_t
bz2_decode_read(struct bz2_decoder *d, uint8_t *out, size_t cap)
{
	ssize_t n = bz2_unrle_read(&d->unrle, out, cap);

	if (n > 0)
		d->crc = bz2_crc_update(&d->crc_tables, d->crc, out, (size_t)n);
	else if (n == 0 && ~d->crc != d->stored)
		return -EBADMSG;
	return n;
}

static size_t
text_bytes(int level)
{
	return (size_t)level * BZ2_BLOCK_UNIT + SLACK;
}

uint64_t
bz2_decoder_memory(int level)
{
	return sizeof(struct bz2_decoder) + text_bytes(level) +
	    bz2_unsort_bytes((size_t)level * BZ2_BLOCK_UNIT);
}

struct bz2_decoder *
bz2_decoder_new(int level)
{
	struct bz2_decoder *d;

	if (level < BZ2_LEVEL_MIN || level > BZ2_LEVEL_MAX)
		return NULL;
	d = sys_calloc(1, sizeof(*d));
	if (d == NULL)
		return NULL;
	d->level = level;
	d->text = sys_malloc(text_bytes(level));
	d->scratch = sys_malloc(
	    bz2_unsort_bytes((size_t)level * BZ2_BLOCK_UNIT));
	if (d->text == NULL || d->scratch == NULL) {
		bz2_decoder_free(d);
		return NULL;
	}
	bz2_crc_init(&d->crc_tables);
	return d;
}

void
bz2_decoder_free(struct bz2_decoder *d)
{
	if (d == NULL)
		return;
	sys_free(d->scratch);
	sys_free(d->text);
	sys_free(d);
}

/*
 * bz2_decode.c - a block of bzip2, from its bits to its bytes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Judged as bzip2 1.0.8 judges: a code may be incomplete, and only a pattern
 * that it lacks is wrong; it may have too many codes, and those out of reach
 * are never met; selectors beyond those of use are skipped; a run counts
 * when it ends.  The input is read as if zeros followed it, and what was
 * wrong with bits that are not there is the lack of input.
 */
#include "bz2_impl.h"

#include "sys.h"

#include <errno.h>

enum {
	FAST_BITS = 10,		/* codes up to here by one look-up */
	LEN_BITS = 5,		/* an entry is symbol << LEN_BITS | length */
	RUN_LIMIT = 1 << 21,	/* bzip2 takes no longer run apart */
	SLACK = 64,		/* the last column may be overshot so far */
	FRONT = 8		/* of the move-to-front list, in a register */
};

struct table {
	uint16_t fast[1 << FAST_BITS];	/* 0: a longer code, or none */
	/* codes of a length, left-aligned to BZ2_CODE_MAX, end before */
	uint32_t end[BZ2_CODE_MAX + 1];
	int32_t first[BZ2_CODE_MAX + 1]; /* add a code: its place in order */
	uint16_t order[BZ2_SYMBOLS_MAX];
};

/* Most significant bit first; the bits to come stand at the top of acc. */
struct bits {
	const uint8_t *in;
	size_t len, pos;
	uint64_t acc;
	unsigned count;
};

struct bz2_decoder {
	int level;
	struct bz2_unrle unrle;
	uint32_t crc, stored;
	uint32_t counts[256];
	uint8_t selectors[BZ2_SELECTORS_MAX];
	struct table tables[BZ2_TABLES_MAX];
	struct bz2_crc crc_tables;
	uint8_t *text;			/* the last column, then the block */
	void *scratch;
};

static inline void
refill(struct bits *b)
{
	if (b->len - b->pos >= 8 && b->pos < b->len) {
		b->acc |= load_be64(b->in + b->pos) >> b->count;
		b->pos += (63 - b->count) >> 3;
		b->count |= 56;
		return;
	}
	for (; b->count <= 56; b->count += 8, b->pos++)
		if (b->pos < b->len)
			b->acc |= (uint64_t)b->in[b->pos] << (56 - b->count);
}

static inline void
skip(struct bits *b, unsigned n)
{
	b->acc <<= n;
	b->count -= n;
}

/* n bits, 1..32, which count must have. */
static inline uint32_t
take(struct bits *b, unsigned n)
{
	uint32_t v = (uint32_t)(b->acc >> (64 - n));

	skip(b, n);
	return v;
}

static inline uint32_t
get(struct bits *b, unsigned n)
{
	refill(b);
	return take(b, n);
}

static uint64_t
bits_position(const struct bits *b)
{
	return (uint64_t)b->pos * 8 - b->count;
}

static bool
overrun(const struct bits *b)
{
	return bits_position(b) > (uint64_t)b->len * 8;
}

static void
bits_start(struct bits *b, const uint8_t *in, size_t len, uint64_t bit)
{
	b->in = in;
	b->len = len;
	b->pos = (size_t)(bit >> 3);
	b->acc = 0;
	b->count = 0;
	refill(b);
	skip(b, bit & 7);
}

/* The bytes in use, in order; how many. */
static int
read_map(struct bits *b, uint8_t map[256])
{
	uint32_t rows = get(b, 16);
	int n = 0;

	for (int i = 0; i < 16; i++) {
		uint32_t row;

		if ((rows >> (15 - i) & 1) == 0)
			continue;
		row = get(b, 16);
		for (int k = 0; k < 16; k++)
			if ((row >> (15 - k) & 1) != 0)
				map[n++] = (uint8_t)(i * 16 + k);
	}
	return n;
}

/* The selectors, which are places in a list moved to front; how many. */
static int
read_selectors(struct bz2_decoder *d, struct bits *b, int tables)
{
	uint8_t list[BZ2_TABLES_MAX] = { 0, 1, 2, 3, 4, 5 };
	int count = (int)get(b, 15);

	if (count == 0)
		return -EBADMSG;
	for (int i = 0; i < count; i++) {
		uint8_t first;
		int at = 0;

		refill(b);
		while (take(b, 1) == 1)
			if (++at >= tables)
				return -EBADMSG;
		first = list[at];
		memmove(list + 1, list, (size_t)at);
		list[0] = first;
		if (i < BZ2_SELECTORS_MAX)
			d->selectors[i] = first;
	}
	return count < BZ2_SELECTORS_MAX ? count : BZ2_SELECTORS_MAX;
}

static int
read_lengths(struct bits *b, uint8_t *lengths, int symbols)
{
	int length = (int)get(b, 5);

	for (int i = 0; i < symbols; i++) {
		for (;;) {
			if (length < 1 || length > BZ2_CODE_MAX)
				return -EBADMSG;
			if (get(b, 1) == 0)
				break;
			length += get(b, 1) == 0 ? 1 : -1;
		}
		lengths[i] = (uint8_t)length;
	}
	return 0;
}

/*
 * Codes are given in order of length, then of symbol, each after the one
 * before.  A sum of lengths that is too large makes codes that begin at or
 * after 2^length: they are left out.
 */
static void
make_table(struct table *t, const uint8_t *lengths, int symbols)
{
	uint32_t code = 0;
	int place = 0;

	memset(t->fast, 0, sizeof(t->fast));
	for (int len = 1; len <= BZ2_CODE_MAX; len++) {
		t->first[len] = place - (int32_t)code;
		for (int i = 0; i < symbols; i++) {
			uint16_t entry = (uint16_t)(i << LEN_BITS | len);
			uint32_t from, to;

			if (lengths[i] != len)
				continue;
			t->order[place++] = (uint16_t)i;
			from = code++;
			if (len > FAST_BITS || from >> len != 0)
				continue;
			to = (from + 1) << (FAST_BITS - len);
			for (from <<= FAST_BITS - len; from < to; from++)
				if (t->fast[from] == 0)
					t->fast[from] = entry;
		}
		t->end[len] = code << (BZ2_CODE_MAX - len);
		code <<= 1;
	}
}

/* A code longer than FAST_BITS: symbol << LEN_BITS | length, or 0. */
static unsigned
long_code(const struct table *t, uint64_t acc)
{
	uint32_t v = (uint32_t)(acc >> (64 - BZ2_CODE_MAX));

	for (int len = FAST_BITS + 1; len <= BZ2_CODE_MAX; len++)
		if (v < t->end[len]) {
			int32_t code = (int32_t)(v >> (BZ2_CODE_MAX - len));

			return (unsigned)t->order[code + t->first[len]] <<
			    LEN_BITS | (unsigned)len;
		}
	return 0;
}

/*
 * Up to BZ2_GROUP symbols of one table, until the end of the block; how
 * many, the end among them, or -EBADMSG.
 */
static int
read_group(struct bits *b, const struct table *t, unsigned end,
    uint16_t *symbols)
{
	for (int i = 0; i < BZ2_GROUP; i++) {
		unsigned entry;

		refill(b);
		entry = t->fast[b->acc >> (64 - FAST_BITS)];
		if (entry == 0) {
			entry = long_code(t, b->acc);
			if (entry == 0)
				return -EBADMSG;
		}
		skip(b, entry & ((1 << LEN_BITS) - 1));
		symbols[i] = (uint16_t)(entry >> LEN_BITS);
		if (symbols[i] == end)
			return i + 1;
	}
	return BZ2_GROUP;
}

/* The list of bytes: the first eight in a word, the first at the bottom. */
struct mtf {
	uint64_t front;
	uint8_t rest[256];	/* from FRONT on */
	size_t len, limit;	/* of the column */
	uint32_t run, weight;	/* of a run being read: bijective base 2 */
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

/* Moves the byte at a place, 1 or more, to the front. */
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

/* The run before another symbol. */
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

/* The last column of the sorted rotations, and its length. */
static int
read_column(struct bz2_decoder *d, struct bits *b, struct mtf *m,
    int selectors, unsigned end)
{
	uint16_t symbols[BZ2_GROUP];

	memset(d->counts, 0, sizeof(d->counts));
	for (int i = 0; i < selectors; i++) {
		const struct table *t = &d->tables[d->selectors[i]];
		int n = read_group(b, t, end, symbols);
		bool last;

		if (n < 0)
			return n;
		last = symbols[n - 1] == end;
		if (add_group(d, m, symbols, last ? n - 1 : n) != 0)
			return -EBADMSG;
		if (last)
			return m->run > 0 ? end_run(d, m) : 0;
		if (overrun(b))
			return -ENODATA;
	}
	return -EBADMSG;
}

static int
read_tables(struct bz2_decoder *d, struct bits *b, int count, int symbols)
{
	uint8_t lengths[BZ2_SYMBOLS_MAX];

	for (int i = 0; i < count; i++) {
		int rc = read_lengths(b, lengths, symbols);

		if (rc != 0)
			return rc;
		make_table(&d->tables[i], lengths, symbols);
	}
	return 0;
}

static int
read_block(struct bz2_decoder *d, int level, struct bits *b)
{
	size_t limit = (size_t)level * BZ2_BLOCK_UNIT, origin;
	uint8_t map[256] = { 0 };
	bool randomised;
	int used, tables, selectors, rc;
	struct mtf m;

	if (get(b, 24) != BZ2_MAGIC_BLOCK >> 24 ||
	    get(b, 24) != (BZ2_MAGIC_BLOCK & 0xffffff))
		return -EBADMSG;
	d->stored = get(b, 32);
	randomised = get(b, 1) == 1;
	origin = get(b, 24);
	used = read_map(b, map);
	tables = (int)get(b, 3);
	if (used == 0 || tables < BZ2_TABLES_MIN || tables > BZ2_TABLES_MAX)
		return -EBADMSG;
	selectors = read_selectors(d, b, tables);
	if (selectors < 0)
		return selectors;
	rc = read_tables(d, b, tables, used + 2);
	if (rc != 0)
		return rc;
	mtf_start(&m, map, limit);
	rc = read_column(d, b, &m, selectors, (unsigned)used + 1);
	if (rc != 0)
		return rc;
	if (origin >= m.len)
		return -EBADMSG;
	if (overrun(b))
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
	struct bits b;
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
		return overrun(&b) ? -ENODATA : rc;
	*bit = bits_position(&b);
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

/*
 * bz2_decode.c - decoding a bzip2 block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The decoded symbols represent positions in a move-to-front list of bytes, and
 * runs of its first byte.  Decoding them yields the last column of the sorted
 * rotations, from which the block is reconstructed.
 *
 * The same blocks are valid as for bzip2 1.0.8.  A code may be incomplete; it
 * is an error only if an unassigned codeword occurs.  It may also be
 * oversubscribed; the unreachable codes never occur.  Excess selectors are
 * skipped.  A run is counted only when it ends.  The input is read as if it
 * were followed by zeros, and an error within these zeros means that the input
 * is too short.
 */
#include "bz2_impl.h"

#include "base/sys.h"

#include <errno.h>

enum {
	FAST_BITS = 10,		/* codes up to this length need one lookup */
	ENTRY_BITS = 5,		/* length bits of an entry, below the symbol */
	RUN_LIMIT = 1 << 21,	/* bzip2 rejects longer runs */
	SLACK = 64,		/* number of bytes that may be written past the
				 * last column */
	FRONT = 8		/* part of the move-to-front list kept in a
				 * register */
};

_Static_assert(BZ2_CODE_MAX <= BZ2_REFILLED, "a symbol");
_Static_assert(BZ2_TABLES_MAX <= BZ2_REFILLED, "a selector, in unary");
_Static_assert(BZ2_CODE_MAX < 1 << ENTRY_BITS &&
    BZ2_SYMBOLS_MAX << ENTRY_BITS <= UINT16_MAX, "an entry has 16 bits");

struct code_table {
	uint16_t fast[1 << FAST_BITS];	/* 0: a longer or invalid
						 * code */
	/*
	 * upper bound of the codes of each length, left-aligned to BZ2_CODE_MAX
	 */
	uint32_t end[BZ2_CODE_MAX + 1];
	int32_t first[BZ2_CODE_MAX + 1]; /* add a code to get its index in
					  * sorted order */
	uint16_t order[BZ2_SYMBOLS_MAX];
};

struct bz2_decoder {
	int level;
	struct bz2_unrle unrle;
	uint32_t crc, stored;
	uint32_t counts[256];
	uint8_t selectors[BZ2_SELECTORS_MAX];
	struct code_table tables[BZ2_TABLES_MAX];
	struct bz2_crc crc_tables;
	uint8_t *text;			/* the last column, then the block */
	void *scratch;
};

/*
 * The input, most significant bit first; the next bits are the highest in acc.
 */
struct bit_reader {
	const uint8_t *in;
	size_t len, pos;
	uint64_t acc;
	unsigned count;
};

static inline void
refill(struct bit_reader *b)
{
	if (b->len - b->pos >= 8 && b->pos < b->len) {
		b->acc |= load_be64(b->in + b->pos) >> b->count;
		b->pos += (63 - b->count) >> 3;
		b->count |= BZ2_REFILLED;
		return;
	}
	for (; b->count <= BZ2_REFILLED; b->count += 8, b->pos++)
		if (b->pos < b->len)
			b->acc |= (uint64_t)b->in[b->pos] <<
			    (BZ2_REFILLED - b->count);
}

static inline void
skip_bits(struct bit_reader *b, unsigned n)
{
	b->acc <<= n;
	b->count -= n;
}

/* Takes n bits, 1..32; count must be at least n. */
static inline uint32_t
take_bits(struct bit_reader *b, unsigned n)
{
	uint32_t v = (uint32_t)(b->acc >> (64 - n));

	skip_bits(b, n);
	return v;
}

static inline uint32_t
get_bits(struct bit_reader *b, unsigned n)
{
	refill(b);
	return take_bits(b, n);
}

static inline uint64_t
bit_position(const struct bit_reader *b)
{
	return (uint64_t)b->pos * 8 - b->count;
}

static inline bool
overrun(const struct bit_reader *b)
{
	return bit_position(b) > (uint64_t)b->len * 8;
}

/*
 * Reads the selectors, which are positions in a move-to-front list.  Returns
 * their number.
 */
static int
read_selectors(struct bz2_decoder *d, struct bit_reader *b, int tables)
{
	uint8_t list[BZ2_TABLES_MAX] = { 0, 1, 2, 3, 4, 5 };
	int count = (int)get_bits(b, 15);

	if (count == 0)
		return -EBADMSG;
	for (int i = 0; i < count; i++) {
		uint8_t first;
		int at = 0;

		refill(b);
		while (take_bits(b, 1) == 1)
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

/*
 * Reads the lengths of a table's codes.  Codes are assigned by length, then by
 * symbol, each the successor of the previous one.  An oversubscribed set of
 * lengths leads to codes of 2^length or more, which are omitted.
 */
static int
read_table(struct code_table *t, struct bit_reader *b, int symbols)
{
	uint8_t lengths[BZ2_SYMBOLS_MAX];
	int length = (int)get_bits(b, 5), place = 0;
	uint32_t code = 0;

	for (int i = 0; i < symbols; i++) {
		for (;;) {
			if (length < 1 || length > BZ2_CODE_MAX)
				return -EBADMSG;
			if (get_bits(b, 1) == 0)
				break;
			length += get_bits(b, 1) == 0 ? 1 : -1;
		}
		lengths[i] = (uint8_t)length;
	}
	memset(t->fast, 0, sizeof(t->fast));
	for (int len = 1; len <= BZ2_CODE_MAX; len++) {
		t->first[len] = place - (int32_t)code;
		for (int i = 0; i < symbols; i++) {
			uint16_t entry = (uint16_t)(i << ENTRY_BITS | len);
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
	return 0;
}

/*
 * Looks up a code longer than FAST_BITS.  Returns symbol << ENTRY_BITS |
 * length, or 0.
 */
static unsigned
long_code(const struct code_table *t, uint64_t acc)
{
	uint32_t v = (uint32_t)(acc >> (64 - BZ2_CODE_MAX));

	for (int len = FAST_BITS + 1; len <= BZ2_CODE_MAX; len++)
		if (v < t->end[len]) {
			int32_t code = (int32_t)(v >> (BZ2_CODE_MAX - len));

			return (unsigned)t->order[code + t->first[len]] <<
			    ENTRY_BITS | (unsigned)len;
		}
	return 0;
}

/*
 * Decodes up to BZ2_GROUP symbols with one table, but none after the end of the
 * block.  Returns the number of symbols decoded, including the end symbol, or
 * -EBADMSG.
 */
static int
read_group(struct bit_reader *b, const struct code_table *t, unsigned end,
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
		skip_bits(b, entry & ((1 << ENTRY_BITS) - 1));
		symbols[i] = (uint16_t)(entry >> ENTRY_BITS);
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
read_column(struct bz2_decoder *d, struct bit_reader *b, struct mtf *m,
    int selectors, unsigned end)
{
	uint16_t symbols[BZ2_GROUP];

	memset(d->counts, 0, sizeof(d->counts));
	for (int i = 0; i < selectors; i++) {
		const struct code_table *t = &d->tables[d->selectors[i]];
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
read_block(struct bz2_decoder *d, int level, struct bit_reader *b)
{
	uint8_t map[256] = { 0 };
	struct mtf m = { .limit = (size_t)level * BZ2_BLOCK_UNIT, .weight = 1 };
	size_t origin;
	uint32_t rows;
	bool randomised;
	int used = 0, tables, selectors, rc;

	if (get_bits(b, 24) != BZ2_MAGIC_BLOCK >> 24 ||
	    get_bits(b, 24) != (BZ2_MAGIC_BLOCK & 0xffffff))
		return -EBADMSG;
	d->stored = get_bits(b, 32);
	randomised = get_bits(b, 1) == 1;
	origin = get_bits(b, 24);
	/* the byte values in use, in ascending order */
	rows = get_bits(b, 16);
	for (int i = 0; i < 16; i++) {
		uint32_t row = rows >> (15 - i) & 1 ? get_bits(b, 16) : 0;

		for (int k = 0; k < 16; k++)
			if ((row >> (15 - k) & 1) != 0)
				map[used++] = (uint8_t)(i * 16 + k);
	}
	if (used == 0)
		return -EBADMSG;
	tables = (int)get_bits(b, 3);
	if (tables < BZ2_TABLES_MIN || tables > BZ2_TABLES_MAX)
		return -EBADMSG;
	selectors = read_selectors(d, b, tables);
	if (selectors < 0)
		return selectors;
	for (int i = 0; i < tables; i++)
		if (read_table(&d->tables[i], b, used + 2) != 0)
			return -EBADMSG;
	memcpy(m.rest, map, sizeof(m.rest));
	for (int i = 0; i < FRONT; i++)
		m.front |= (uint64_t)map[i] << (8 * i);
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
	struct bit_reader b = { .in = in, .len = len,
		.pos = (size_t)(*bit >> 3) };
	int rc;

	bz2_unrle_start(&d->unrle, d->text, 0);
	d->crc = UINT32_MAX;
	d->stored = 0;
	if (level < BZ2_LEVEL_MIN || level > d->level)
		return -EINVAL;
	if (*bit >= (uint64_t)len * 8)
		return -ENODATA;
	refill(&b);
	skip_bits(&b, *bit & 7);
	rc = read_block(d, level, &b);
	if (rc != 0)
		return overrun(&b) ? -ENODATA : rc;
	*bit = bit_position(&b);
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
bz2_decoder_free(void *decoder)
{
	struct bz2_decoder *d = decoder;

	if (d == NULL)
		return;
	sys_free(d->scratch);
	sys_free(d->text);
	sys_free(d);
}

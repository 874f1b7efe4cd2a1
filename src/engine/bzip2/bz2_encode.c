/*
 * bz2_encode.c - encoding a bzip2 block
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bz2_impl.h"
#include "bz2_sort.h"

#include "base/sys.h"

#include <errno.h>

enum {
	FRONT = 8,		/* bytes of the move-to-front list kept in a
				 * register */
	LEN_BITS = 5,		/* codes are stored as code << 5 | length */
	HELD = 7		/* maximum number of bits left by a flush */
};

_Static_assert(HELD + 3 * BZ2_CODE_MADE <= 64, "three symbols");
_Static_assert(HELD + BZ2_MAGIC_BITS <= 64, "the longest field");

struct bz2_encoder {
	int level;
	struct bz2_crc crc_tables;
	struct bz2_codes codes;
	bool used[256];
	uint8_t *text;		/* the block, and padding added by the sort */
	uint8_t *last;		/* the last column */
	void *scratch;		/* scratch space for the sort, then the
				 * symbols */
};

/* Output bits.  Up to 64 bits may be pending; a flush stores whole bytes. */
struct bit_writer {
	uint8_t *p;
	uint64_t acc;		/* pending bits, at the bottom */
	unsigned count;
};

static inline void
put_bits_of(struct bit_writer *w, uint64_t bits, unsigned n)
{
	w->acc = w->acc << n | bits;
	w->count += n;
}

/* Leaves up to HELD bits pending; writes up to 8 bytes. */
static inline void
flush(struct bit_writer *w)
{
	if (w->count == 0)
		return;
	store_be64(w->p, w->acc << (64 - w->count));
	w->p += w->count >> 3;
	w->count &= 7;
}

static void
put_now(struct bit_writer *w, uint64_t bits, unsigned n)
{
	put_bits_of(w, bits, n);
	flush(w);
}

/*
 * The move-to-front list: the first eight bytes are in a word, lowest byte
 * first; for each of the others, its position is stored.
 */
struct mtf {
	uint64_t front;
	uint8_t place[256];
	uint16_t *out;
	uint32_t freq[BZ2_SYMBOLS_MAX];
};

static inline uint64_t
repeat(uint8_t byte)
{
	return byte * UINT64_C(0x0101010101010101);
}

/* Sets the top bit of each zero byte; only the lowest bit set is reliable. */
static inline uint64_t
zero_bytes(uint64_t v)
{
	return (v - repeat(1)) & ~v & repeat(0x80);
}

static inline void
add_symbol(struct mtf *m, unsigned symbol)
{
	*m->out++ = (uint16_t)symbol;
	m->freq[symbol]++;
}

/*
 * Adds a run of the first byte as the binary digits of run + 1 without the
 * leading 1.
 */
static inline void
add_zero_run(struct mtf *m, size_t run)
{
	for (run++; run > 1; run >>= 1)
		add_symbol(m, run & 1);
}

/*
 * Moves a byte to the front, and returns its previous position, which is 1 or
 * more.  For a byte outside the word, all smaller positions are incremented,
 * which takes a few vector instructions and no search.
 */
static inline unsigned
move_to_front(struct mtf *m, uint8_t byte)
{
	uint64_t found = zero_bytes(m->front ^ repeat(byte)), below;
	uint8_t at;

	if (found != 0) {
		below = ((found & -found) >> 7) - 1;
		m->front = (m->front & ~(below << 8 | 0xff)) |
		    (m->front & below) << 8 | byte;
		return (unsigned)__builtin_ctzll(found) / 8;
	}
	at = m->place[byte];
	for (int i = 0; i < 256; i++)
		m->place[i] += m->place[i] < at;
	m->place[m->front >> 56] = FRONT;
	m->front = m->front << 8 | byte;
	return at;
}

static void
mtf_start(struct mtf *m, const bool used[256], uint16_t *out)
{
	uint8_t list[256] = { 0 };
	int n = 0;

	memset(m, 0, sizeof(*m));
	for (int c = 0; c < 256; c++)
		if (used[c]) {
			m->place[c] = (uint8_t)n;
			list[n++] = (uint8_t)c;
		}
	for (int i = FRONT; i-- > 0;)
		m->front = m->front << 8 | list[i < n ? i : 0];
	m->out = out;
}

/* Writes the symbols of the last column, without the end symbol. */
static void
mtf_column(struct mtf *m, const uint8_t *p, size_t n)
{
	size_t run = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t byte = p[i];

		if (byte == (uint8_t)m->front) {
			run++;
			continue;
		}
		add_zero_run(m, run);
		run = 0;
		add_symbol(m, move_to_front(m, byte) + 1);
	}
	add_zero_run(m, run);
}

static void
put_block_header(struct bit_writer *w, const bool used[256], uint32_t crc,
    size_t origin)
{
	uint32_t map[16] = { 0 }, rows = 0;

	for (int c = 0; c < 256; c++)
		if (used[c]) {
			map[c >> 4] |= UINT32_C(0x8000) >> (c & 15);
			rows |= UINT32_C(0x8000) >> (c >> 4);
		}
	put_now(w, BZ2_MAGIC_BLOCK, BZ2_MAGIC_BITS);
	put_now(w, crc, 32);
	put_now(w, origin, 1 + 24);	/* a 0 bit: not randomised */
	put_now(w, rows, 16);
	for (int i = 0; i < 16; i++)
		if (map[i] != 0)
			put_now(w, map[i], 16);
}

static void
put_selectors(struct bit_writer *w, const struct bz2_codes *k)
{
	uint8_t list[BZ2_TABLES_MAX] = { 0, 1, 2, 3, 4, 5 };

	put_now(w, (unsigned)k->tables, 3);
	put_now(w, k->groups, 15);
	for (size_t g = 0; g < k->groups; g++) {
		unsigned at = 0;

		while (list[at] != k->selectors[g])
			at++;
		memmove(list + 1, list, at);
		list[0] = k->selectors[g];
		put_now(w, (2U << at) - 2, at + 1);
	}
}

static void
put_lengths(struct bit_writer *w, const uint8_t *lengths, int symbols)
{
	unsigned length = lengths[0];

	put_now(w, length, 5);
	for (int i = 0; i < symbols; i++) {
		for (; length < lengths[i]; length++)
			put_now(w, 2, 2);
		for (; length > lengths[i]; length--)
			put_now(w, 3, 2);
		put_now(w, 0, 1);
	}
}

/* Computes code << LEN_BITS | length for each symbol. */
static void
assign_codes(uint32_t *codes, const uint8_t *lengths, int symbols)
{
	uint32_t code = 0;

	for (unsigned length = 1; length <= BZ2_CODE_MAX; length++) {
		for (int i = 0; i < symbols; i++)
			if (lengths[i] == length)
				codes[i] = code++ << LEN_BITS | length;
		code <<= 1;
	}
}

static inline void
put_symbol(struct bit_writer *w, uint32_t code)
{
	put_bits_of(w, code >> LEN_BITS, code & ((1 << LEN_BITS) - 1));
}

static void
put_symbols(struct bit_writer *w, const struct bz2_codes *k,
    const uint16_t *symbols, size_t count)
{
	uint32_t codes[BZ2_TABLES_MAX][BZ2_SYMBOLS_MAX];

	for (int t = 0; t < k->tables; t++)
		assign_codes(codes[t], k->lengths[t], k->symbols);
	for (size_t g = 0; g < k->groups; g++) {
		const uint32_t *code = codes[k->selectors[g]];
		size_t n = count < BZ2_GROUP ? count : BZ2_GROUP, i = 0;

		for (; i + 3 <= n; i += 3) {
			put_symbol(w, code[symbols[i]]);
			put_symbol(w, code[symbols[i + 1]]);
			put_symbol(w, code[symbols[i + 2]]);
			flush(w);
		}
		for (; i < n; i++) {
			put_symbol(w, code[symbols[i]]);
			flush(w);
		}
		symbols += n;
		count -= n;
	}
}

/*
 * Computes the check value of the data before RLE1.  Returns false if a count
 * is missing.
 */
static bool
block_crc(const struct bz2_crc *t, const uint8_t *p, size_t n, uint32_t *crc)
{
	uint8_t run[BZ2_RUN_MAX];

	*crc = UINT32_MAX;
	while (n > 0) {
		size_t at = bz2_find_run(p, n);

		if (at == n) {
			*crc = bz2_crc_update(t, *crc, p, n);
			break;
		}
		at += BZ2_RUN_PLAIN;
		if (at == n)
			return false;
		*crc = bz2_crc_update(t, *crc, p, at);
		memset(run, p[at - 1], p[at]);
		*crc = bz2_crc_update(t, *crc, run, p[at]);
		p += at + 1;
		n -= at + 1;
	}
	*crc = ~*crc;
	return true;
}

static int64_t
write_block(struct bz2_encoder *e, const struct mtf *m, size_t origin,
    uint32_t crc, uint8_t *out)
{
	const uint16_t *symbols = e->scratch;
	size_t count = (size_t)(m->out - symbols);
	struct bit_writer w = { .p = out };
	int64_t bits;

	bz2_codes_make(&e->codes, symbols, count, m->freq);
	put_block_header(&w, e->used, crc, origin);
	put_selectors(&w, &e->codes);
	for (int t = 0; t < e->codes.tables; t++)
		put_lengths(&w, e->codes.lengths[t], e->codes.symbols);
	put_symbols(&w, &e->codes, symbols, count);
	bits = (int64_t)(w.p - out) * 8 + w.count;
	put_now(&w, 0, 7);
	return bits;
}

int64_t
bz2_encode_block(struct bz2_encoder *e, const uint8_t *block, size_t len,
    uint8_t *out, size_t cap, uint32_t *crc)
{
	size_t origin;
	struct mtf m;

	if (len == 0 || len > bz2_rle_cap(e->level) ||
	    cap < bz2_encode_bound(e->level) ||
	    !block_crc(&e->crc_tables, block, len, crc))
		return -EINVAL;
	memcpy(e->text, block, len);
	origin = bz2_sort(e->text, len, e->last, e->scratch);
	memset(e->used, 0, sizeof(e->used));
	for (size_t i = 0; i < len; i++)
		e->used[block[i]] = true;
	mtf_start(&m, e->used, e->scratch);
	mtf_column(&m, e->last, len);
	e->codes.symbols = 3;
	for (int c = 0; c < 256; c++)
		e->codes.symbols += e->used[c];
	e->codes.symbols--;
	add_symbol(&m, (unsigned)e->codes.symbols - 1);
	return write_block(e, &m, origin, *crc, out);
}

size_t
bz2_encode_bound(int level)
{
	size_t n = bz2_rle_cap(level);

	/* nine bits per symbol; the slack covers the selectors and lengths */
	return n + n / 8 + 32768;
}

uint64_t
bz2_encoder_memory(int level)
{
	size_t n = bz2_rle_cap(level);

	return sizeof(struct bz2_encoder) + n + BZ2_SORT_PAD + n +
	    bz2_sort_bytes(n);
}

struct bz2_encoder *
bz2_encoder_new(int level)
{
	struct bz2_encoder *e;
	size_t n;

	if (level < BZ2_LEVEL_MIN || level > BZ2_LEVEL_MAX)
		return NULL;
	e = sys_calloc(1, sizeof(*e));
	if (e == NULL)
		return NULL;
	n = bz2_rle_cap(level);
	e->level = level;
	e->text = sys_malloc(n + BZ2_SORT_PAD);
	e->last = sys_malloc(n);
	e->scratch = sys_malloc(bz2_sort_bytes(n));
	if (e->text == NULL || e->last == NULL || e->scratch == NULL) {
		bz2_encoder_free(e);
		return NULL;
	}
	bz2_crc_init(&e->crc_tables);
	return e;
}

void
bz2_encoder_free(struct bz2_encoder *e)
{
	if (e == NULL)
		return;
	sys_free(e->scratch);
	sys_free(e->last);
	sys_free(e->text);
	sys_free(e);
}

/*
 * bz2_encode.c - encoding a bzip2 block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A block has two to six tables of code lengths, one of which is chosen for
 * every fifty symbols.  Each table is initialized to suit a range of symbols.
 * Then, in a few rounds, the best table is chosen for each group, and each
 * table is fitted to its groups.
 */
#include "bz2_impl.h"

#include "base/sys.h"
#include "engine/huffman.h"

#include <errno.h>

enum {
	FRONT = 8,		/* bytes of the move-to-front list kept in a
				 * register */
	LEN_BITS = 5,		/* codes are stored as code << 5 | length */
	HELD = 7,		/* maximum number of bits left by a flush */
	ROUNDS = 7,
	COST_BITS = 10,		/* bits for a sum of 50 code lengths; a word
				 * holds six sums */
	COST_MASK = (1 << COST_BITS) - 1,
	FAR_COST = 15		/* initial cost of a symbol outside a table's
				 * range */
};

_Static_assert(BZ2_GROUP * BZ2_CODE_MAX <= COST_MASK, "a sum must fit");
_Static_assert((int)BZ2_CODE_MADE <= (int)HUFFMAN_BITS,
    "every code must fit");
_Static_assert(BZ2_TABLES_MAX * COST_BITS <= 64, "all sums must fit");
_Static_assert(HELD + 3 * BZ2_CODE_MADE <= 64, "three symbols");
_Static_assert(HELD + BZ2_MAGIC_BITS <= 64, "the longest field");

/*
 * A block's codes: its symbols in groups of BZ2_GROUP, each with its best
 * table.
 */
struct codes {
	int tables;			/* number of tables, at least
					 * BZ2_TABLES_MIN */
	int symbols;			/* size of the alphabet */
	size_t groups;
	uint64_t bits;			/* total bits of the symbols */
	uint8_t lengths[BZ2_TABLES_MAX][BZ2_SYMBOLS_MAX];
	uint32_t freq[BZ2_TABLES_MAX][BZ2_SYMBOLS_MAX];
	uint8_t selectors[BZ2_SELECTORS_MAX + 1];
};

struct bz2_encoder {
	int level;
	struct bz2_crc crc_tables;
	struct codes codes;
	bool used[256];
	uint8_t *text;		/* the block, and padding added by the sort */
	uint8_t *last;		/* the last column */
	void *scratch;		/* scratch space for the sort, then the
				 * symbols */
};

/* Choosing the codes */

/*
 * Each table initially covers a range of symbols with about equal total
 * frequency.
 */
static void
guess_codes(struct codes *k, const uint32_t *freq)
{
	uint64_t left = 0;
	int from = 0;

	for (int i = 0; i < k->symbols; i++)
		left += freq[i];
	for (int t = 0; t < k->tables; t++) {
		uint64_t share = left / (unsigned)(k->tables - t), sum = 0;
		int to = from;

		while (to < k->symbols && (sum < share || to == from)) {
			sum += freq[to];
			to++;
		}
		/*
		 * in every second table, leave the last symbol to the next
		 * table if it exceeds the share
		 */
		if (to > from + 1 && t > 0 && t < k->tables - 1 && t % 2 == 1)
			sum -= freq[--to];
		for (int i = 0; i < k->symbols; i++)
			k->lengths[t][i] = i >= from && i < to ? 0 : FAR_COST;
		from = to;
		left -= sum;
	}
}

/*
 * Returns the cheapest table for a group.  The cost includes the group's codes
 * and the selector, whose number of bits is its position in the move-to-front
 * list.
 */
static unsigned
choose_codes(const uint64_t *cost, const uint16_t *symbols, size_t n,
    int tables, uint8_t list[8])
{
	unsigned best = UINT32_MAX, at;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cost[symbols[i]];
	for (unsigned place = 0; place < (unsigned)tables; place++) {
		unsigned c = (sum >> list[place] * COST_BITS & COST_MASK) +
		    place;

		c = c << 3 | place;
		best = c < best ? c : best;
	}
	at = best & 7;
	best = list[at];
	for (; at > 0; at--)
		list[at] = list[at - 1];
	list[0] = (uint8_t)best;
	return best;
}

/* Removes a group's symbols from a table's counts or, if by is 1, adds them. */
static void
count_group(uint32_t *freq, const uint16_t *symbols, size_t n, uint32_t by)
{
	for (size_t i = 0; i < n; i++)
		freq[symbols[i]] += by;
}

/*
 * Chooses a table for each group.  Initially no group has a table; in later
 * rounds, few groups change tables.
 */
static void
choose_all(struct codes *k, const uint16_t *symbols, size_t count,
    bool first)
{
	uint8_t list[8] = { 0, 1, 2, 3, 4, 5 };
	uint64_t cost[BZ2_SYMBOLS_MAX];

	for (int i = 0; i < k->symbols; i++) {
		cost[i] = 0;
		for (int t = k->tables; t-- > 0;)
			cost[i] = cost[i] << COST_BITS | k->lengths[t][i];
	}
	for (size_t g = 0; g < k->groups; g++) {
		size_t n = count < BZ2_GROUP ? count : BZ2_GROUP;
		unsigned t = choose_codes(cost, symbols, n, k->tables,
		    list);

		if (first || t != k->selectors[g])
			count_group(k->freq[t], symbols, n, 1);
		if (!first && t != k->selectors[g])
			count_group(k->freq[k->selectors[g]], symbols, n,
			    UINT32_MAX);
		k->selectors[g] = (uint8_t)t;
		symbols += n;
		count -= n;
	}
}

static void
make_codes(struct codes *k, const uint16_t *symbols, size_t count,
    const uint32_t *freq)
{
	k->tables = count < 200 ? 2 : count < 600 ? 3 : count < 1200 ? 4 :
	    count < 2400 ? 5 : 6;
	k->groups = (count + BZ2_GROUP - 1) / BZ2_GROUP;
	guess_codes(k, freq);
	memset(k->freq, 0, sizeof(k->freq));
	for (int i = 0; i < ROUNDS; i++) {
		choose_all(k, symbols, count, i == 0);
		/* a symbol that does not occur still gets a code */
		for (int t = 0; t < k->tables; t++) {
			uint32_t least_one[BZ2_SYMBOLS_MAX];

			for (int s = 0; s < k->symbols; s++)
				least_one[s] = k->freq[t][s] == 0 ? 1 :
				    k->freq[t][s];
			huffman_lengths(k->lengths[t], least_one,
			    (unsigned)k->symbols, BZ2_CODE_MADE);
		}
	}
	k->bits = 0;
	for (int t = 0; t < k->tables; t++)
		for (int i = 0; i < k->symbols; i++)
			k->bits += (uint64_t)k->freq[t][i] * k->lengths[t][i];
}

/* Writing */

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
	uint64_t v = m->front ^ repeat(byte), found, below;
	uint8_t at;

	/* the top bit of each zero byte; only the lowest bit set is reliable */
	found = (v - repeat(1)) & ~v & repeat(0x80);
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

/* Writes the symbols of the last column, without the end symbol. */
static void
mtf_column(struct mtf *m, const bool used[256], const uint8_t *p, size_t n)
{
	uint8_t list[256] = { 0 };
	size_t run = 0;
	int k = 0;

	for (int c = 0; c < 256; c++)
		if (used[c]) {
			m->place[c] = (uint8_t)k;
			list[k++] = (uint8_t)c;
		}
	for (int i = FRONT; i-- > 0;)
		m->front = m->front << 8 | list[i < k ? i : 0];
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

/* Writes the selectors, and the lengths of the codes. */
static void
put_codes(struct bit_writer *w, const struct codes *k)
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
	for (int t = 0; t < k->tables; t++) {
		const uint8_t *lengths = k->lengths[t];
		unsigned length = lengths[0];

		put_now(w, length, 5);
		for (int i = 0; i < k->symbols; i++) {
			for (; length < lengths[i]; length++)
				put_now(w, 2, 2);
			for (; length > lengths[i]; length--)
				put_now(w, 3, 2);
			put_now(w, 0, 1);
		}
	}
}

static inline void
put_symbol(struct bit_writer *w, uint32_t code)
{
	put_bits_of(w, code >> LEN_BITS, code & ((1 << LEN_BITS) - 1));
}

static void
put_symbols(struct bit_writer *w, const struct codes *k,
    const uint16_t *symbols, size_t count)
{
	uint32_t codes[BZ2_TABLES_MAX][BZ2_SYMBOLS_MAX];

	/* code << LEN_BITS | length for each symbol */
	for (int t = 0; t < k->tables; t++) {
		uint32_t code = 0;

		for (unsigned length = 1; length <= BZ2_CODE_MAX; length++) {
			for (int i = 0; i < k->symbols; i++)
				if (k->lengths[t][i] == length)
					codes[t][i] = code++ << LEN_BITS |
					    length;
			code <<= 1;
		}
	}
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

int64_t
bz2_encode_block(struct bz2_encoder *e, const uint8_t *block, size_t len,
    uint8_t *out, size_t cap, uint32_t *crc)
{
	struct mtf m = { .out = e->scratch };
	struct bit_writer w = { .p = out };
	struct codes *k = &e->codes;
	size_t origin, count;
	int64_t bits;

	if (len == 0 || len > bz2_rle_cap(e->level) ||
	    cap < bz2_encode_bound(e->level) ||
	    !block_crc(&e->crc_tables, block, len, crc))
		return -EINVAL;
	memcpy(e->text, block, len);
	origin = bz2_sort(e->text, len, e->last, e->scratch);
	memset(e->used, 0, sizeof(e->used));
	for (size_t i = 0; i < len; i++)
		e->used[block[i]] = true;
	mtf_column(&m, e->used, e->last, len);
	k->symbols = 2;
	for (int c = 0; c < 256; c++)
		k->symbols += e->used[c];
	add_symbol(&m, (unsigned)k->symbols - 1);
	count = (size_t)(m.out - (uint16_t *)e->scratch);
	make_codes(k, e->scratch, count, m.freq);
	put_block_header(&w, e->used, *crc, origin);
	put_codes(&w, k);
	put_symbols(&w, k, e->scratch, count);
	bits = (int64_t)(w.p - out) * 8 + w.count;
	put_now(&w, 0, 7);
	return bits;
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
bz2_encoder_free(void *encoder)
{
	struct bz2_encoder *e = encoder;

	if (e == NULL)
		return;
	sys_free(e->scratch);
	sys_free(e->last);
	sys_free(e->text);
	sys_free(e);
}

/*
 * zstd_block.h - the sections of a compressed block, its sequences and tables
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878, sections 3.1.1.3 and 4.1.  Literals are not decoded and
 * matches are not copied: this code determines which data a block refers to,
 * not its content.  Nothing here allocates memory; a struct belongs to one
 * thread at a time.
 */
#ifndef COLDPRESS_ZSTD_BLOCK_H
#define COLDPRESS_ZSTD_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the little-endian number in the len bytes at p, at most 8. */
static inline uint64_t
zstd_load(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

enum { ZSTD_RAW, ZSTD_RLE, ZSTD_COMPRESSED, ZSTD_RESERVED };

enum {
	ZSTD_BLOCK_HEAD = 3,
	ZSTD_BLOCK_MAX = 128 << 10
};

/* A block's header. */
struct zstd_block_head {
	bool last;
	int type;
	uint32_t size;		/* as stored */
	size_t stored;		/* bytes after the header */
};

/* Parses, or writes, the ZSTD_BLOCK_HEAD bytes at p. */
struct zstd_block_head zstd_block_head(const uint8_t *p);
void zstd_block_head_store(uint8_t *p, bool last, int type, size_t size);

/* The codes of a sequence, in the order of their tables in a block. */
enum zstd_code { ZSTD_LL, ZSTD_OF, ZSTD_ML, ZSTD_CODES };

enum { ZSTD_FSE_STATES = 512 };

/*
 * A state: its symbol; the next state is base plus the value of the next bits.
 */
struct zstd_state {
	uint8_t symbol, bits;
	uint16_t base;
};

struct zstd_fse {
	unsigned log;			/* log2 of the number of states */
	struct zstd_state states[ZSTD_FSE_STATES];
};

/* Builds the predefined table. */
void zstd_fse_predefined(struct zstd_fse *t, enum zstd_code code);

/* Returns the extra bits that follow the code of a symbol in a table. */
unsigned zstd_extra_bits(enum zstd_code code, uint8_t symbol);

/*
 * Returns a state of the symbol that leads to the state `next` (or to any
 * state, if next is negative), or -1 if there is none.
 */
int zstd_fse_before(const struct zstd_fse *t, uint8_t symbol, int next);

/*
 * The state that one block passes to the next; zeroed before the first block.
 */
struct zstd_tables {
	bool literals;			/* a Huffman table has been set */
	bool set[ZSTD_CODES];
	struct zstd_fse fse[ZSTD_CODES];
};

/* Positions in a compressed block, relative to the end of its header. */
struct zstd_sections {
	uint32_t count;			/* number of sequences */
	size_t modes;			/* offset of the modes byte */
	size_t table[ZSTD_CODES];	/* a table's description, */
	size_t table_len[ZSTD_CODES];	/* its length, 0 if there is none */
	size_t stream;			/* offset of the sequences' bits */
};

/* The modes of a block's tables, each of them two bits of the modes byte. */
enum {
	ZSTD_MODE_PREDEFINED, ZSTD_MODE_SINGLE, ZSTD_MODE_DESCRIBED,
	ZSTD_MODE_REPEAT
};

static inline unsigned
zstd_mode(unsigned modes, enum zstd_code code)
{
	return modes >> (6 - 2 * code) & 3;
}

/*
 * Finds the sections of the block of len bytes at p; t is updated to its state
 * after the block.  Returns 0, or -EBADMSG if the block is corrupt, or uses a
 * table that no block has set since t was zeroed.
 */
int zstd_sections(struct zstd_tables *t, const uint8_t *p, size_t len,
    struct zstd_sections *s);

struct zstd_sequence {
	uint8_t symbol[ZSTD_CODES];
	uint32_t extra[ZSTD_CODES];	/* values of the bits that follow
					 * each code */
};

/* Returns the value that selects an offset; 1 to 3 repeat an earlier offset. */
static inline uint32_t
zstd_offset_value(const struct zstd_sequence *q)
{
	return ((uint32_t)1 << q->symbol[ZSTD_OF]) + q->extra[ZSTD_OF];
}

/* A reader of sequences, from the last bit to the first. */
struct zstd_reader {
	const struct zstd_tables *tables;
	const uint8_t *p;
	size_t bit;			/* the bits before this one have not
					 * been read yet */
	uint32_t left;			/* sequences left */
	unsigned state[ZSTD_CODES];	/* states of the next sequence */
};

/* Opens a reader; s describes the block at p.  Returns 0 or -EBADMSG. */
int zstd_reader_open(struct zstd_reader *r, const struct zstd_tables *t,
    const uint8_t *p, size_t len, const struct zstd_sections *s);

/* Reads the next sequence; r->left must not be 0.  Returns 0 or -EBADMSG. */
int zstd_reader_next(struct zstd_reader *r, struct zstd_sequence *q);

/* The offsets that a sequence can repeat (RFC 8878, section 3.1.1.5) */

enum { ZSTD_OFFSETS = 3 };

/* The most recent offsets, 0 if unknown. */
struct zstd_offsets {
	uint32_t last[ZSTD_OFFSETS];
};

static inline bool
zstd_offsets_known(const struct zstd_offsets *o)
{
	return o->last[0] != 0 && o->last[1] != 0 && o->last[2] != 0;
}

/*
 * Returns the offset that a value selects in a sequence with or without
 * literals, 0 if unknown.  That offset becomes the most recent one.
 */
static inline uint32_t
zstd_offsets_use(struct zstd_offsets *o, uint32_t value, bool literals)
{
	uint32_t *last = o->last, which = value - literals, offset;

	if (value <= ZSTD_OFFSETS && which == 0)
		return last[0];
	if (value > ZSTD_OFFSETS)
		offset = value - ZSTD_OFFSETS;
	else if (which == ZSTD_OFFSETS)
		offset = last[0] == 0 ? 0 : last[0] - 1;
	else
		offset = last[which];
	if (value > ZSTD_OFFSETS || which != 1)
		last[2] = last[1];
	last[1] = last[0];
	last[0] = offset;
	return offset;
}

#endif

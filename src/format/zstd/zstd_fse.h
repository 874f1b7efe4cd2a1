/*
 * zstd_fse.h - the FSE tables of Zstandard's sequences
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 8878, sections 3.1.1.3.2.2 and 4.1.  Nothing here allocates;
 * thread-safe.
 */
#ifndef COLDPRESS_ZSTD_FSE_H
#define COLDPRESS_ZSTD_FSE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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

/*
 * Reads the table described at p, for codes of this type.  Returns the length
 * of the description in bytes, or -EBADMSG.
 */
ssize_t zstd_fse_read(struct zstd_fse *t, enum zstd_code code,
    const uint8_t *p, size_t len);

/*
 * These functions build a table with one symbol, and the predefined table.
 * Returns 0 or -EBADMSG.
 */
int zstd_fse_single(struct zstd_fse *t, enum zstd_code code, uint8_t symbol);
void zstd_fse_predefined(struct zstd_fse *t, enum zstd_code code);

/* Returns the extra bits that follow the code of a symbol in a table. */
unsigned zstd_extra_bits(enum zstd_code code, uint8_t symbol);

/*
 * Returns a state of the symbol that leads to the state `next` (or to any
 * state, if next is negative), or -1 if there is none.
 */
int zstd_fse_before(const struct zstd_fse *t, uint8_t symbol, int next);

#endif

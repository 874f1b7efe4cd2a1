/*
 * pack_store.h - text kept for later, compressed in memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The result is one zstd frame (RFC 8878).  Must be used by one thread at a
 * time.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_STORE_H
#define COLDPRESS_LAZY_PACK_PACK_STORE_H

#include "base/strbuf.h"

#include <stdint.h>
#include <zstd.h>

struct pack_store {
	struct strbuf frame;
	uint64_t content;		/* bytes added */
	ZSTD_CCtx *encoder;
};

/*
 * Returns an encoder whose window and tables are limited by base-2 logarithms,
 * or NULL if out of memory.
 */
ZSTD_CCtx *pack_store_encoder(int level, int window, int hash, int chain);

/*
 * Opens a store that compresses at a level from 1 to 22, but with small tables.
 * Returns 0 or -ENOMEM.
 */
int pack_store_open(struct pack_store *s, int level);
void pack_store_close(struct pack_store *s);

/* Adds text.  Returns 0 or -ENOMEM. */
int pack_store_add(struct pack_store *s, const void *data, size_t len);

/*
 * Completes the frame, and frees the encoder's memory.  Returns 0 or -ENOMEM.
 */
int pack_store_end(struct pack_store *s);

/* Reads the content of a complete frame, which must outlive the reader. */
struct pack_reader {
	ZSTD_DCtx *decoder;
	ZSTD_inBuffer in;
};

/* Returns 0 or -ENOMEM; the reader must be closed even after an error. */
int pack_reader_open(struct pack_reader *r, const struct pack_store *s);
void pack_reader_close(struct pack_reader *r);

/*
 * Reads the next size bytes, fewer only at the end; *n is set to the number
 * read.  Returns 0 or -ENOMEM.
 */
int pack_reader_next(struct pack_reader *r, void *buf, size_t size,
    size_t *n);

#endif

/*
 * xz_reader.h - decoding .xz streams with one thread
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_READER_H
#define COLDPRESS_XZ_READER_H

#include "engine/lzma/unlzma.h"
#include "pipeline/pipeline.h"

#include <lzma.h>

struct xz_reader;

/*
 * Opens a reader that, like lzma_stream_decoder(), needs at most `limit` bytes
 * of memory and takes the same flags.  Returns 0 or -ENOMEM.
 */
int xz_reader_open(struct xz_reader **r, uint64_t limit, uint32_t flags);
void xz_reader_close(struct xz_reader *r);	/* may be NULL */

/*
 * Decodes the next len bytes of the input to out; eof: nothing follows.  Returns
 * 0; STREAM_END if what follows is not part of the input, or is not read; or
 * -errno as stream_ops.run does.
 */
int xz_reader_feed(struct xz_reader *r, const uint8_t *p, size_t len, bool eof,
    struct sink *out);

/* After -EFBIG: the memory needed. */
uint64_t xz_reader_need(const struct xz_reader *r);

/* Whether a stream has a check of an unknown type. */
bool xz_reader_unchecked(const struct xz_reader *r);

/*
 * Blocks of known header.  xz_is_ours: whether unlzma decodes it, and a CRC, if
 * anything, checks it.  xz_lzma2_dictionary: the size of its dictionary.
 */
bool xz_is_ours(const lzma_block *b);
uint32_t xz_lzma2_dictionary(const lzma_filter *f);

/* Adds output to the block's check, 0 at first; compares it with the stored one. */
uint64_t xz_check_add(const lzma_block *b, uint64_t check, const uint8_t *p,
    size_t n);
bool xz_check_is(const lzma_block *b, uint64_t check, const uint8_t *stored);

/*
 * Decodes the data after the block's header, and verifies the padding and the
 * check that follow it, if the block is ours.  Sets the block's sizes.  Returns
 * the length of the output or -errno, as unlzma_whole().
 */
int64_t xz_block_data(struct unlzma *u, lzma_block *b, const uint8_t *in,
    size_t len, uint8_t *out, size_t cap);

/* Returns 0 or the -errno that corresponds to liblzma's result. */
int xz_error(lzma_ret r);

#endif

/*
 * xz_reader.h - decoding .xz streams
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_READER_H
#define COLDPRESS_XZ_READER_H

#include "engine/lzma/unlzma.h"
#include "format/codec.h"

#include <lzma.h>

struct xz_reader;

/*
 * A decoder for the pipeline, with one thread.  Like lzma_stream_decoder(), it
 * needs at most `limit` bytes of memory and takes the same flags.  A check of an
 * unknown type is noted, and the memory that was not allowed, with `beside`, the
 * memory that others use.  xz_reader_open() returns 0 or -ENOMEM.
 */
int xz_reader_open(struct xz_reader **r, uint64_t limit, uint32_t flags,
    struct codec_notes *notes, uint64_t beside);
void xz_reader_close(void *reader);	/* may be NULL */
int xz_reader_join(void *reader, struct slot *s, struct sink *out);

/*
 * Counts a block that was decoded and verified elsewhere, and whose bytes are not
 * fed.  Returns false, and does nothing, if a block cannot begin here.
 */
bool xz_reader_skip(struct xz_reader *r, uint64_t unpadded, uint64_t plain);

/*
 * Blocks of known header.  xz_is_ours: whether unlzma decodes it, and a CRC, if
 * anything, checks it.  xz_lzma2_dictionary: the size of its dictionary.
 */
bool xz_is_ours(const lzma_block *b);
uint32_t xz_lzma2_dictionary(const lzma_filter *f);

/* Adds output to the block's check, 0 at first; compares it with the stored. */
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

/*
 * A decoder with several threads, for the pipeline.  limit and flags are as for
 * xz_reader_open(); p->block is the length of a piece of what is not a block.
 */
/*
 * Returns how much memory the blocks being decoded may have: what was asked for, or
 * 128 MiB a thread, or up to 512 where they are no more than a quarter of what is
 * usable: blocks that xz -9 makes have 192 MiB of data.
 */
uint64_t xz_parallel_held(uint64_t asked, unsigned threads, uint64_t usable);

int xz_parallel_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes, uint64_t limit,
    uint32_t flags);
void xz_parallel_close(void *job);
int xz_parallel_fill(void *job, struct input *in, struct slot *s);
int xz_parallel_worker_open(void *job, void **ctx);
void xz_parallel_worker_close(void *ctx);
int xz_parallel_work(void *job, void *ctx, struct slot *s);
int xz_parallel_join(void *job, struct slot *s, struct sink *out);

#endif

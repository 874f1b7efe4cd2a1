/*
 * xz_reader.h - decoding .xz streams with one thread
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_READER_H
#define COLDPRESS_XZ_READER_H

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

/* Returns 0 or the -errno that corresponds to liblzma's result. */
int xz_error(lzma_ret r);

#endif

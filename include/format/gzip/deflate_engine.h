/*
 * deflate_engine.h - compressing a block to raw deflate, with several libraries
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The build, not the machine, determines which library handles a level, so a
 * build produces the same output on every machine.
 */
#ifndef COLDPRESS_DEFLATE_ENGINE_H
#define COLDPRESS_DEFLATE_ENGINE_H

#include "format/codec.h"

struct deflate_engine;

/* Opens an engine, one per thread.  Returns 0 or -ENOMEM. */
int deflate_engine_open(struct deflate_engine **e,
    const struct codec_options *o);

/*
 * Like deflate_engine_open(), but for one level, and with an encoder that
 * produces the same bytes in every run, which ISA-L does not.
 */
int deflate_engine_open_steady(struct deflate_engine **e, int level);
void deflate_engine_close(struct deflate_engine *e);

/* Returns the maximum compressed size of len bytes. */
size_t deflate_engine_bound(size_t len);

/* Returns the number of bytes that an engine allocates. */
uint64_t deflate_engine_memory(const struct codec_options *o);

/*
 * Deflates a block independently.  If last is set, the output ends with the
 * final deflate block; otherwise it ends with a sync point, an empty stored
 * block that ends at a byte boundary.  Returns the length, or -errno.
 */
ssize_t deflate_engine_run(struct deflate_engine *e, const uint8_t *in,
    size_t len, bool last, uint8_t *out, size_t cap);

/*
 * Returns the libraries' versions for -V, such as "libdeflate 1.14, ISA-L
 * 2.30.0, zlib 1.2.13".
 */
const char *deflate_engine_versions(void);

#endif

/*
 * xz.h - parts of the xz format that only its own tools need
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_H
#define COLDPRESS_XZ_H

#include "engine/lzma/lzma_encode.h"
#include "engine/lzma/unlzma.h"
#include "format/codec.h"

#include <lzma.h>

/*
 * Filtered data without a container, which nothing identifies: it is not in the
 * table of codecs.  The setting "filters" says how to read it.
 */
extern const struct codec codec_xz_raw;

/*
 * Reads the combined index of the streams in the file fd of len bytes, to be
 * freed with lzma_index_end().  Returns 0, -EBADMSG, -ENODATA, -EFBIG (needs
 * more than 128 MiB) or -errno.  Thread-safe.
 */
int xz_index(int fd, uint64_t len, lzma_index **index);

/*
 * Decodes in[0..len), which begins with a stream of one block, to out, if our own
 * decoder can: no filter but LZMA2, a CRC or no check, and no error.  The
 * dictionary may be larger than cap, up to dictionary_max.  Returns the number of
 * bytes that it decodes to; -EAGAIN if liblzma has to decode it, or to say what
 * is wrong with it; or -ENOMEM.  u belongs to one thread at a time.
 */
int64_t xz_decode_small(struct unlzma *u, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap, uint32_t dictionary_max);

/* Returns the most bytes that xz_encode_small() needs for len bytes. */
size_t xz_small_bound(size_t len);

/*
 * Encodes in[0..len) as a stream of one block with a CRC-32, by our own encoder,
 * which was opened for this dictionary and has memory for len bytes.  Returns its
 * size, or 0 if cap is less than xz_small_bound() and too little.  e belongs to one
 * thread at a time.
 */
size_t xz_encode_small(struct lzma2_encoder *e, uint32_t dictionary,
    const uint8_t *in, size_t len, uint8_t *out, size_t cap);

#endif

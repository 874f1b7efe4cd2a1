/*
 * xz.h - parts of the xz format that only its own tools need
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_H
#define COLDPRESS_XZ_H

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

#endif

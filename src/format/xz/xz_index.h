/*
 * xz_index.h - where the blocks of an xz file are
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_INDEX_H
#define COLDPRESS_XZ_INDEX_H

#include "format/look.h"

#include <lzma.h>

/* What liblzma says, as 0 or -errno. */
int xz_error(lzma_ret r);

/*
 * The index of all streams of a file, for lzma_index_end().  0, -EBADMSG,
 * -ENODATA, -EFBIG (it takes over 128 MiB) or -errno.
 */
int xz_read_index(struct look *look, lzma_index **index);

#endif

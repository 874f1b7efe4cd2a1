/*
 * xz_index.h - the index of an xz file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_XZ_INDEX_H
#define COLDPRESS_XZ_INDEX_H

#include "format/look.h"

#include <lzma.h>

/* Converts a liblzma return code to 0 or -errno. */
int xz_error(lzma_ret r);

/*
 * Reads the combined index of a file's streams, to be freed with
 * lzma_index_end().  Returns 0, -EBADMSG, -ENODATA, -EFBIG (needs more than 128
 * MiB) or -errno.
 */
int xz_read_index(struct look *look, lzma_index **index);

#endif

/*
 * base.h - the blocks of an older image, to be copied instead of compressed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks are found by a 128-bit hash of their content, with a random seed, so
 * that nobody can prepare two that are taken for the same.  The result is the
 * image that compression would make if the older one was made with the same
 * settings and libraries.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_BASE_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_BASE_H

#include "image/squashfs/read/reader.h"
#include "image/squashfs/write/data.h"

struct sqw_base;

/*
 * Decompresses all blocks of the image once, with the given number of threads;
 * f must remain open.  Damaged blocks are passed over.  Returns 0 or -ENOMEM.
 */
int sqw_base_open(struct sqw_base **b, const struct sq_file *f,
    unsigned threads);
void sqw_base_close(struct sqw_base *b);	/* b may be NULL */

/* Returns its blocks, for sqw_data_options.known. */
struct sqw_known sqw_base_known(const struct sqw_base *b);

#endif

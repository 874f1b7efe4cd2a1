/*
 * base.h - the blocks of an older image, to be copied instead of compressed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks are found by a 128-bit hash of their content, with a random seed, so
 * that nobody can prepare two that are taken for the same.  The result is the
 * image that compression would make if the older one was made with the same
 * settings and libraries.  All functions but open and close are thread-safe.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_BASE_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_BASE_H

#include "image/squashfs/read/reader.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqw_base;

/*
 * Decompresses all blocks of the image once, with the given number of threads;
 * f must remain open.  Damaged blocks are passed over.  Returns 0 or -ENOMEM.
 */
int sqw_base_open(struct sqw_base **b, const struct sq_file *f,
    unsigned threads);
void sqw_base_close(struct sqw_base *b);	/* b may be NULL */

/* Finds a block with this content.  Returns whether there is one. */
bool sqw_base_find(const struct sqw_base *b, const uint8_t *data, size_t len,
    uint64_t *at, uint32_t *word);

/* Reads len stored bytes of a block.  Returns 0 or -errno. */
int sqw_base_read(const struct sqw_base *b, uint64_t at, uint8_t *out,
    size_t len);

#endif

/*
 * zstd_table.h - writing the seek table of a file of zstd frames
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the Zstandard seekable format 0.1.0.
 */
#ifndef COLDPRESS_ZSTD_TABLE_H
#define COLDPRESS_ZSTD_TABLE_H

#include "pipeline/pipeline.h"

/*
 * Adds a frame to a table, which is empty at first and belongs to the caller.
 * Returns 0, -EFBIG (more than the table can say) or -ENOMEM.
 */
int zstd_table_add(struct buf *table, uint64_t packed, uint64_t plain);

/*
 * Makes the table the skippable frame that ends such a file.  Returns 0 or
 * -ENOMEM.
 */
int zstd_table_end(struct buf *table);

#endif

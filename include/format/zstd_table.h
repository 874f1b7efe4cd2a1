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
 * Adds a frame to a table, which is empty at first; its data is freed by the
 * caller with sys_free().  Returns 0, -EFBIG (more than the table can say) or
 * -ENOMEM.  A table belongs to one thread at a time.
 */
int zstd_table_add(struct buf *table, uint64_t packed, uint64_t plain);

/*
 * Adds all frames of the file fd of len bytes, which is to be part of a larger
 * one.  Returns 0, -ENOTSUP (a frame does not record its size), -EFBIG, -EBADMSG
 * (not zstd), -ENODATA (truncated) or -errno.
 */
int zstd_table_add_file(struct buf *table, int fd, uint64_t len);

/*
 * Makes the table the skippable frame that follows the last frame.  Returns 0 or
 * -ENOMEM.
 */
int zstd_table_end(struct buf *table);

#endif

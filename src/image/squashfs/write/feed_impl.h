/*
 * feed_impl.h - declarations shared by the files of the feed
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_FEED_IMPL_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_FEED_IMPL_H

#include "image/squashfs/write/feed.h"

/*
 * Returns the number of further units that fit in the image and the memory
 * limit.
 */
size_t sqw_feed_units_left(const struct sqw_feed *f);

/*
 * Numbers the blocks of a hole, a block or a fragment block.  Returns 0,
 * -EOVERFLOW (no room) or -ENOMEM.
 */
int sqw_feed_new_units(struct sqw_feed *f, uint32_t fragment, uint32_t count,
    uint32_t *unit);

/*
 * Makes the current file share the data of an earlier file with this hash;
 * returns false if there is none.
 */
bool sqw_feed_share(struct sqw_feed *f, XXH128_hash_t hash);

/*
 * Records the current file so that later files can share its data.  Returns 0
 * or -ENOMEM.
 */
int sqw_feed_remember(struct sqw_feed *f, XXH128_hash_t hash);

/*
 * Starts the current file, which is large, unless an earlier file has the same
 * content.  room has space for one block.  Returns 0 or -errno.
 */
int sqw_feed_begin_large(struct sqw_feed *f, uint8_t *room);

/*
 * Makes u the next block or hole of the open file.  Returns 1 or -errno.
 */
int sqw_feed_next_piece(struct sqw_feed *f, struct sqw_feed_unit *u);

void sqw_feed_close_spool(struct sqw_feed *f);

#endif

/*
 * feed_impl.h - what the files of the feed share
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FEED_IMPL_H
#define COLDPRESS_FEED_IMPL_H

#include "image/sqbuild/feed.h"

/* Returns how many more units the image and the memory limit have room for. */
size_t feed_units_left(const struct feed *f);

/*
 * Numbers the blocks of a hole, a block or a fragment block.  Returns 0,
 * -EOVERFLOW (no room) or -ENOMEM.
 */
int feed_new_units(struct feed *f, uint32_t fragment, uint32_t count,
    uint32_t *unit);

/* Lets the current file share the data of an earlier one, if there is one. */
bool feed_share(struct feed *f, XXH128_hash_t hash);

/* Lets later files share the data of the current one.  Returns 0 or -ENOMEM. */
int feed_remember(struct feed *f, XXH128_hash_t hash);

/*
 * Starts the current file, a large one, unless an earlier one has the same
 * content.  room holds a block.  Returns 0 or -errno.
 */
int feed_begin_large(struct feed *f, uint8_t *room);

/*
 * Makes u the next block or hole of the open file.  Returns 1 or -errno.
 */
int feed_next_piece(struct feed *f, struct feed_unit *u);

void feed_close_spool(struct feed *f);

#endif

/*
 * seek_lz4.h - the decoded size of an LZ4 block
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SEEK_LZ4_H
#define COLDPRESS_SEEK_LZ4_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the decoded size of a compressed block of len bytes, or -EBADMSG.
 * Does not check whether matches are within the preceding data.  Has no side
 * effects.
 */
int64_t lz4_block_plain(const uint8_t *p, size_t len);

#endif

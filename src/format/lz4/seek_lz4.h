/*
 * seek_lz4.h - how much an LZ4 block decodes to
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SEEK_LZ4_H
#define COLDPRESS_SEEK_LZ4_H

#include <stddef.h>
#include <stdint.h>

/*
 * The bytes that a compressed block of len bytes says that it has, or
 * -EBADMSG.  Whether its matches are within what is before them is not
 * looked at.  Pure.
 */
int64_t lz4_block_plain(const uint8_t *p, size_t len);

#endif

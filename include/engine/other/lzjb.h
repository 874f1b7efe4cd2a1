/*
 * lzjb.h - LZJB, the compression of ZFS from its beginning
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream is a row of groups: a control byte, then eight
 * items, the control byte's lowest bit saying what the first of them is.  0 is
 * a literal byte; 1 is a match of two bytes: six bits of its length less 3,
 * ten of how far back it begins.  Nothing marks the end: a reader knows how
 * much there is to be.
 */
#ifndef COLDPRESS_LZJB_H
#define COLDPRESS_LZJB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LZJB_TABLE = 1024 };

/*
 * Compresses len bytes at in as ZFS does, bit by bit.  The size, at most cap,
 * or 0: there is not so much room (a margin of 17 bytes included, as there).
 * table is for its use, LZJB_TABLE entries.  Thread-safe.
 */
size_t lzjb_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    uint16_t *table);

/*
 * Decompresses all of len bytes at in, whoever wrote them.  0 if just size
 * bytes come of them (what is left of in may be padding), or -EBADMSG.
 * Thread-safe.
 */
int lzjb_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size);

#endif

/*
 * lzjb.h - LZJB, the original compression algorithm of ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A stream is a sequence of groups: a control byte, then eight items; the
 * lowest bit of the control byte describes the first item.  0 is a literal
 * byte; 1 is a two-byte match: six bits for its length minus 3, ten bits for
 * its distance.  There is no end marker; the decoder must know the size.
 */
#ifndef COLDPRESS_LZJB_H
#define COLDPRESS_LZJB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LZJB_TABLE = 1024 };

/*
 * Compresses len bytes at `in` exactly as ZFS does.  Returns the size, at most
 * cap, or 0 if it does not fit (with a margin of 17 bytes, as in ZFS).  table
 * is scratch space of LZJB_TABLE entries.  Thread-safe.
 */
size_t lzjb_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    uint16_t *table);

/*
 * Decompresses all len bytes of untrusted data at `in`.  Returns 0 if they
 * yield exactly size bytes (the rest of `in` may be padding), or -EBADMSG.
 * Thread-safe.
 */
int lzjb_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size);

#endif

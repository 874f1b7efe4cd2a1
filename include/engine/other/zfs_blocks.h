/*
 * zfs_blocks.h - the compressors that only ZFS has: LZJB, ZLE, and its LZ4
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All functions are thread-safe.
 */
#ifndef COLDPRESS_ZFS_BLOCKS_H
#define COLDPRESS_ZFS_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

enum { LZJB_TABLE = 1024, LZ4_ZFS_TABLE = 1 << 13 };

/*
 * LZJB, the original algorithm of ZFS.  A stream is a sequence of groups: a
 * control byte, then eight items; the lowest bit of the control byte describes
 * the first item.  0 is a literal byte; 1 is a two-byte match: six bits for its
 * length minus 3, ten bits for its distance.  There is no end marker; the
 * decoder must know the size.
 *
 * Compresses len bytes at `in` exactly as ZFS does.  Returns the size, at most
 * cap, or 0 if it does not fit (with a margin of 17 bytes, as in ZFS).  table
 * is scratch space of LZJB_TABLE entries.
 */
size_t lzjb_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    uint16_t *table);

/*
 * Decompresses all len bytes of untrusted data at `in`.  Returns 0 if they
 * yield exactly size bytes (the rest of `in` may be padding), or -EBADMSG.
 */
int lzjb_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size);

/*
 * ZLE, the zero run-length encoding of ZFS.  A byte below 64 is the number of
 * literal bytes that follow, minus 1; any other byte is 63 plus the number of
 * zeros.
 *
 * Compresses len bytes at `in` to `out`.  Returns the size, or 0 if it exceeds
 * cap, or if so much as `spare` bytes of cap do not remain for a run of literal
 * bytes, whatever its length.  OpenZFS gives up with ZLE_SPARE.
 */
enum { ZLE_SPARE = 64 };
size_t zle_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    size_t spare);

/* As lzjb_decompress(). */
int zle_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size);

/*
 * LZ4 exactly as in ZFS.  The output is an ordinary LZ4 block, but ZFS still
 * uses a compressor from 2013.  In blocks of 64 KiB and more, its matches differ
 * from those of the current library.
 *
 * Compresses len bytes at `in`, at least one, to `out`.  Returns the size, at
 * most cap, or 0 if it does not fit.  table is scratch space of LZ4_ZFS_TABLE
 * entries.
 */
size_t lz4_zfs_compress(const uint8_t *in, size_t len, uint8_t *out,
    size_t cap, uint32_t *table);

#endif

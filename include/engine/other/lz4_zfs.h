/*
 * lz4_zfs.h - LZ4 compression exactly as in ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The output is an ordinary LZ4 block, but ZFS still uses a compressor from
 * 2013.  In blocks of 64 KiB and more, its matches differ from those of the
 * current library.
 */
#ifndef COLDPRESS_LZ4_ZFS_H
#define COLDPRESS_LZ4_ZFS_H

#include <stddef.h>
#include <stdint.h>

enum { LZ4_ZFS_TABLE = 1 << 13 };

/*
 * Compresses len bytes at `in`, at least one, to `out`.  Returns the size, at
 * most cap, or 0 if it does not fit.  table is scratch space of LZ4_ZFS_TABLE
 * entries.  Thread-safe.
 */
size_t lz4_zfs_compress(const uint8_t *in, size_t len, uint8_t *out,
    size_t cap, uint32_t *table);

#endif

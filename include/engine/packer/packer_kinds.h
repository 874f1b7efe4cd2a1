/*
 * packer_kinds.h - packer functions used in several tables
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For the packers only; the functions are described in struct packer_kind.
 */
#ifndef COLDPRESS_PACKER_KINDS_H
#define COLDPRESS_PACKER_KINDS_H

#include <stddef.h>
#include <stdint.h>

struct packer_name;

/* Returns room for the table of a packer that needs nothing else. */
void *packer_table_open(const struct packer_name *name, size_t most);

/* Produces zlib streams, with one deflater for all blocks. */
void *packer_zlib_open(const struct packer_name *name, size_t most);
void packer_zlib_close(void *state);
size_t packer_zlib_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * Produces frames that record their size; the level is passed for each block.
 */
void *packer_zstd_open(const struct packer_name *name, size_t most);
void packer_zstd_close(void *state);
size_t packer_zstd_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * zstd in ZFS.  Unlike ZFS's version, a later library gives up when a few bytes
 * more than the result are not left, so `out` has room for as many after cap.
 */
enum { PACKER_ZSTD_SLACK = 64 };
void *packer_zfs_zstd_open(const struct packer_name *name, size_t most);
void packer_zfs_zstd_close(void *state);
size_t packer_zfs_zstd_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#ifdef COLDPRESS_LZO
/* Compresses each 4 KiB piece with lzo1x_1, adding btrfs's length headers. */
void *packer_lzo_open(const struct packer_name *name, size_t most);
size_t packer_lzo_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * Compresses the whole block with lzo1x_999, and then optimizes the result
 * unless it is to remain plain.
 */
void *packer_lzo999_open(const struct packer_name *name, size_t most);
size_t packer_lzo999_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);
size_t packer_lzo999_pack_plain(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);
#endif

#endif

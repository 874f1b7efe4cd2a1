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

/* Returns room for the table of a packer that needs nothing else. */
void *packer_table_open(int level, size_t most);

/* Produces zlib streams, with one deflater for all blocks. */
void *packer_zlib_open(int level, size_t most);
void packer_zlib_close(void *state);
size_t packer_zlib_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/*
 * Produces frames that record their size; the level is passed for each block.
 */
void *packer_zstd_open(int level, size_t most);
void packer_zstd_close(void *state);
size_t packer_zstd_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#ifdef COLDPRESS_LZO
/* Compresses each 4 KiB piece with lzo1x_1, adding btrfs's length headers. */
void *packer_lzo_open(int level, size_t most);
size_t packer_lzo_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/* Compresses the whole block with lzo1x_999. */
void *packer_lzo999_open(int level, size_t most);
size_t packer_lzo999_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);
#endif

#endif

/*
 * packer_kinds.h - the functions of packers that more than one table has
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Private to the packers; all as in struct packer_kind.
 */
#ifndef COLDPRESS_PACKER_KINDS_H
#define COLDPRESS_PACKER_KINDS_H

#include <stddef.h>
#include <stdint.h>

/* A zlib stream; one deflater serves all blocks. */
void *packer_zlib_open(int level, size_t most);
void packer_zlib_close(void *state);
size_t packer_zlib_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/* A frame with its size; the level is given with each block. */
struct packer_zstd {
	struct ZSTD_CCtx_s *c;
	int level;
};

void *packer_zstd_open(int level, size_t most);
void packer_zstd_close(void *state);
size_t packer_zstd_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#ifdef COLDPRESS_LZO
/* lzo1x_1 of each 4 KiB, with btrfs' lengths. */
void *packer_lzo_open(int level, size_t most);
size_t packer_lzo_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

/* lzo1x_999 of the whole block. */
void *packer_lzo999_open(int level, size_t most);
size_t packer_lzo999_pack(void *state, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);
#endif

#endif

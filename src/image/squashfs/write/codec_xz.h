/*
 * codec_xz.h - xz with machine code filters
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_CODEC_XZ_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_CODEC_XZ_H

#include <stddef.h>
#include <stdint.h>

struct sqw_xz;

/*
 * Opens a codec; filters are the bits in the image's compressor options.
 * Returns 0 or -ENOMEM.
 */
int sqw_xz_open(struct sqw_xz **z, uint32_t filters, uint32_t block);
void sqw_xz_close(struct sqw_xz *z);	/* z may be NULL */

/* Compresses like sqw_codec_pack(). */
size_t sqw_xz_pack(struct sqw_xz *z, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#endif

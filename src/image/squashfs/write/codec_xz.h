/*
 * codec_xz.h - xz with machine code filters
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_CODEC_XZ_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_CODEC_XZ_H

#include <stddef.h>
#include <stdint.h>

struct codec_xz;

/*
 * Opens a codec; filters are the bits in the image's compressor options.
 * Returns 0 or -ENOMEM.
 */
int codec_xz_open(struct codec_xz **z, uint32_t filters, uint32_t block);
void codec_xz_close(struct codec_xz *z);	/* z may be NULL */

/* Compresses like sqb_codec_pack(). */
size_t codec_xz_pack(struct codec_xz *z, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#endif

/*
 * codec.h - blocks of a squashfs image, compressed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * gzip by the deflate encoders of pzc, in zlib's container; zstd, lz4, lz4hc,
 * xz and lzo by their libraries, as mksquashfs calls them, with contexts that
 * serve block after block.  A codec belongs to one thread.
 */
#ifndef COLDPRESS_SQBUILD_CODEC_H
#define COLDPRESS_SQBUILD_CODEC_H

#include <stdint.h>
#include <stddef.h>

enum { SQB_SETTINGS_MAX = 16 };

/* A compressor and its level, as they are chosen. */
struct sqb_method {
	const char *name;		/* of -F */
	int compressor;			/* enum squashfs_compressor; 0: none */
	int level_min, level_max;	/* equal: it has none */
	int level_default;
};

/* By its name, or NULL.  Thread-safe. */
const struct sqb_method *sqb_method_by_name(const char *name);

/* The names that this build has, between blanks. */
const char *sqb_method_names(void);

/*
 * The compressor options that the image has to hold: their bytes, 0 for none.
 * Source: the format's chapter on them.
 */
size_t sqb_settings(const struct sqb_method *m, int level, uint32_t block,
    uint8_t settings[SQB_SETTINGS_MAX]);

/*
 * The first method and level for which an image has those compressor options.
 * 0, or -ENOTSUP: there is none.  Thread-safe.
 */
int sqb_settings_read(int compressor, const uint8_t *settings, size_t len,
    uint32_t block, const struct sqb_method **m, int *level);

struct sqb_codec;

/* For blocks of up to block bytes.  0 or -ENOMEM. */
int sqb_codec_open(struct sqb_codec **c, const struct sqb_method *m,
    int level, uint32_t block);
void sqb_codec_close(struct sqb_codec *c);	/* c may be NULL */

/* len bytes into out: how many, fewer than len and at most cap; else 0. */
size_t sqb_codec_pack(struct sqb_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#endif

/*
 * codec.h - compressing blocks of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * gzip uses pzc's deflate encoders in a zlib container; zstd, lz4, lz4hc, xz
 * and lzo use their libraries, called as in mksquashfs, with contexts that are
 * reused for block after block.  A codec belongs to one thread.
 */
#ifndef COLDPRESS_SQBUILD_CODEC_H
#define COLDPRESS_SQBUILD_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQB_SETTINGS_MAX = 16, SQB_FILTERS = 6 };

/* xz's filters for machine code, by their bits in the compressor options. */
extern const char *const sqb_filters[SQB_FILTERS];

/* A choice of compressor and level. */
struct sqb_method {
	const char *name;		/* of -F */
	int compressor;			/* enum squashfs_compressor; 0: none */
	int level_min, level_max;	/* equal: no levels */
	int level_default;
	bool filters;			/* levels are sets of sqb_filters,
					   0: none of them */
};

/* Looks up a method by name, or NULL.  Thread-safe. */
const struct sqb_method *sqb_method_by_name(const char *name);

/* The names supported by this build, separated by blanks. */
const char *sqb_method_names(void);

/*
 * Writes the compressor options that the image must contain, and returns their
 * size, 0 for none.  Source: the chapter on them in the format description.
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

/*
 * For blocks of up to block bytes; exact: what mksquashfs makes, so gzip by
 * zlib, to level 9.  0 or -ENOMEM.
 */
int sqb_codec_open(struct sqb_codec **c, const struct sqb_method *m,
    int level, uint32_t block, bool exact);
void sqb_codec_close(struct sqb_codec *c);	/* c may be NULL */

/*
 * Compresses len bytes into out: returns the size, less than len and at most
 * cap; otherwise 0.
 */
size_t sqb_codec_pack(struct sqb_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#endif

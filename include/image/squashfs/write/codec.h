/*
 * codec.h - compressing blocks of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * gzip and xz use pzc's encoders, xz not for what has been filtered.  zstd, lz4,
 * lz4hc and lzo use their libraries, called as in mksquashfs, with contexts that
 * are reused for all blocks.  A codec belongs to one thread.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_CODEC_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQW_SETTINGS_MAX = 16, SQW_FILTERS = 6, SQW_STRATEGIES = 5 };

/* Names of xz's machine-code filters, by bit in the compressor options. */
extern const char *const sqw_filters[SQW_FILTERS];

/* A choice of compressor and level. */
struct sqw_method {
	const char *name;		/* as given to -F */
	int compressor;			/* enum squashfs_compressor, 0: none */
	int level_min, level_max;	/* equal if there are no levels */
	int level_default;
	bool filters;			/* supports sqw_filters */
};

/* Looks up a method by name.  Returns NULL if there is none.  Thread-safe. */
const struct sqw_method *sqw_method_by_name(const char *name);

/* Returns the names supported by this build, separated by blanks. */
const char *sqw_method_names(void);

/*
 * Writes the compressor options for the image.  Returns their size, or 0 if
 * there are none.  Source: the format description's chapter on compressor
 * options.
 */
size_t sqw_settings(const struct sqw_method *m, int level, uint32_t block,
    uint8_t settings[SQW_SETTINGS_MAX]);

/*
 * Does the same for a dictionary of another size (0: as large as a block), for
 * xz, and for strategies of gzip, given as bits, which are only recorded.
 */
size_t sqw_settings_more(const struct sqw_method *m, int level, uint32_t block,
    uint32_t dictionary, unsigned strategies,
    uint8_t settings[SQW_SETTINGS_MAX]);

/*
 * Finds what sqw_settings_more() was given to produce these compressor options;
 * *dictionary is 0 if it is as large as a block.  Returns the same as the
 * function below.
 */
int sqw_settings_read_more(int compressor, const uint8_t *settings, size_t len,
    uint32_t block, const struct sqw_method **m, int *level,
    uint32_t *dictionary, unsigned *strategies);

/*
 * Finds the first method and level that produce these compressor options.
 * Returns 0, or -ENOTSUP if there is none.  Thread-safe.
 */
int sqw_settings_read(int compressor, const uint8_t *settings, size_t len,
    uint32_t block, const struct sqw_method **m, int *level);

struct sqw_codec;

/* Programs whose compressed bytes are known. */
enum sqw_maker { SQW_OURS, SQW_MKSQUASHFS, SQW_GENSQUASHFS };

/*
 * Opens a codec for blocks of up to `block` bytes, which produces the same bytes
 * as the given program; for another one's, gzip uses zlib, with levels up to 9,
 * and xz liblzma.
 * The dictionary, for xz, is as large as a block if its size is 0.  Returns 0 or
 * -ENOMEM.
 */
int sqw_codec_open(struct sqw_codec **c, const struct sqw_method *m,
    int level, uint32_t block, uint32_t dictionary, enum sqw_maker maker);
void sqw_codec_close(struct sqw_codec *c);	/* c may be NULL */

/*
 * Compresses len bytes into out.  Returns the size, which is less than len and
 * at most cap, or 0 if the result does not fit.  gensquashfs also stores larger
 * results of lz4.
 */
size_t sqw_codec_pack(struct sqw_codec *c, const uint8_t *in, size_t len,
    uint8_t *out, size_t cap);

#endif

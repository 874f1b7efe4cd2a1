/*
 * toc_wrapping.h - bytes in a layer that decompressors skip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The trace, the compact index and the digests of its blocks are stored in such
 * a wrapping: in estargz an empty gzip member (RFC 1952) whose header has an
 * extra field "CT" with the bytes, in zstd:chunked a skippable frame (RFC 8878,
 * 3.1.2).
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_WRAPPING_H
#define COLDPRESS_LAZY_TOC_TOC_WRAPPING_H

#include "lazy/layer.h"

struct toc_wrapping {
	size_t max;			/* maximum number of bytes wrapped */
	size_t before, after;		/* lengths of what surrounds them */
	const uint8_t *tail;		/* the bytes after */
	bool gzip;			/* a member; false: a frame */
};

/* The maximum of before and of after, in every format. */
enum { TOC_WRAPPING_AROUND = 32 };

/* Returns the wrapping of a format, or NULL if it has none. */
const struct toc_wrapping *toc_wrapping_of(enum layer_kind kind);

/* Writes the bytes before len wrapped bytes. */
void toc_wrapping_head(const struct toc_wrapping *w, uint8_t *to, size_t len);

#endif

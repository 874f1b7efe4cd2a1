/*
 * toc_wrapping.c - bytes in a layer that decompressors skip
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lazy/toc/toc_wrapping.h"

#include "base/bytes.h"

#include <string.h>

enum {
	GZIP_HEADER = 10, GZIP_TRAILER = 8,
	FEXTRA = 4,			/* flag in the header */
	/* the field's length, its name "CT", and the length of its data */
	BEFORE = GZIP_HEADER + 2 + 4,
	AFTER = 2 + GZIP_TRAILER,
	FRAME_HEADER = 8
};

#define SKIPPABLE UINT32_C(0x184d2a50)

const struct toc_wrapping *
toc_wrapping_of(enum layer_kind kind)
{
	/* an empty final block with fixed codes; CRC and size are 0 */
	static const uint8_t end[AFTER] = { 0x03 };
	static const struct toc_wrapping gzip = { .gzip = true,
		.max = 65535 - 4, .before = BEFORE, .after = AFTER,
		.tail = end };
	static const struct toc_wrapping frame = { .max = 1 << 20,
		.before = FRAME_HEADER, .tail = end };

	return kind == LAYER_ESTARGZ ? &gzip :
	    kind == LAYER_ZSTD_CHUNKED ? &frame : NULL;
}

void
toc_wrapping_head(const struct toc_wrapping *w, uint8_t *to, size_t len)
{
	static const uint8_t header[GZIP_HEADER] = { 0x1f, 0x8b,
		8 /* deflate */, FEXTRA, [9] = 0xff /* OS: unknown */ };

	if (!w->gzip) {
		store_le32(to, SKIPPABLE);
		store_le32(to + 4, (uint32_t)len);
		return;
	}
	memcpy(to, header, sizeof(header));
	store_le16(to + GZIP_HEADER, (uint16_t)(len + 4));
	memcpy(to + GZIP_HEADER + 2, "CT", 2);
	store_le16(to + GZIP_HEADER + 4, (uint16_t)len);
}

size_t
toc_wrapping_unwrap(const struct toc_wrapping *w, const uint8_t *p, size_t len,
    const uint8_t **data, size_t *n)
{
	size_t around = w->before + w->after;

	if (len < around)
		return 0;
	if (!w->gzip) {
		if (load_le32(p) != SKIPPABLE)
			return 0;
		*n = load_le32(p + 4);
	} else {
		if (p[0] != 0x1f || p[1] != 0x8b || p[3] != FEXTRA ||
		    memcmp(p + GZIP_HEADER + 2, "CT", 2) != 0)
			return 0;
		*n = load_le16(p + GZIP_HEADER + 4);
		if (load_le16(p + GZIP_HEADER) != *n + 4)
			return 0;
	}
	*data = p + w->before;
	return len - around < *n ? 0 : around + *n;
}

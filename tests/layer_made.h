/*
 * layer_made.h - creating layers in memory for tests that read them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer consists of a payload, in members or frames, a table of contents
 * given as JSON, and a footer; only zlib and libzstd are used.
 */
#ifndef COLDPRESS_TESTS_LAYER_MADE_H
#define COLDPRESS_TESTS_LAYER_MADE_H

#include "lazy/layer.h"

#include "base/bytes.h"
#include "base/strbuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum made_footer { MADE_ESTARGZ, MADE_OLD, MADE_ZSTD, MADE_ZSTD_LONG };

struct made {
	struct strbuf b;
	size_t index, index_len;	/* offset of the compressed table */
};

/* Adds a gzip member, and returns its offset. */
static inline size_t
made_member(struct made *m, const void *data, size_t len)
{
	size_t at = m->b.len;
	z_stream z = { .next_in = (z_const Bytef *)(uintptr_t)data,
		.avail_in = (uInt)len };

	if (deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	z.avail_out = (uInt)deflateBound(&z, (uLong)len) + 32;
	z.next_out = (Bytef *)strbuf_room(&m->b, z.avail_out);
	if (z.next_out == NULL || deflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	m->b.len += z.total_out;
	deflateEnd(&z);
	return at;
}

/* Adds a zstd frame, and returns its offset. */
static inline size_t
made_frame(struct made *m, const void *data, size_t len)
{
	size_t at = m->b.len, room = ZSTD_compressBound(len);
	char *out = strbuf_room(&m->b, room);
	size_t n = out == NULL ? 0 : ZSTD_compress(out, room, data, len, 1);

	if (out == NULL || ZSTD_isError(n))
		abort();
	m->b.len += n;
	return at;
}

static inline void
made_skippable(struct made *m, const void *data, size_t len)
{
	uint8_t head[8] = { 0x50, 0x2a, 0x4d, 0x18 };

	store_le32(head + 4, (uint32_t)len);
	strbuf_add(&m->b, head, sizeof(head));
	if (len > 0)
		strbuf_add(&m->b, data, len);
}

/* Adds the table as an archive of one entry, in a member. */
static inline void
made_table(struct made *m, const char *json, size_t len)
{
	size_t size = 512 + (len + 511) / 512 * 512 + 1024;
	char *tar = calloc(1, size);
	unsigned sum = 0;

	if (tar == NULL)
		abort();
	strcpy(tar, "stargz.index.json");
	memcpy(tar + 100, "0000444\0000000000\0000000000\0", 24);
	snprintf(tar + 124, 12, "%011o", (unsigned)len);
	memcpy(tar + 136, "00000000000\0        0", 21);
	memcpy(tar + 257, "ustar\00000", 8);
	for (int i = 0; i < 512; i++)
		sum += (uint8_t)tar[i];
	snprintf(tar + 148, 8, "%06o", sum);
	memcpy(tar + 512, json, len);
	m->index = made_member(m, tar, size);
	m->index_len = m->b.len - m->index;
	free(tar);
}

static inline void
made_footer_gzip(struct made *m, bool old)
{
	char text[64];
	uint8_t head[12] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff };

	store_le16(head + 10, old ? 22 : 26);
	strbuf_add(&m->b, head, sizeof(head));
	if (!old)
		strbuf_add(&m->b, "SG\x16\0", 4);
	snprintf(text, sizeof(text), "%016zxSTARGZ", m->index);
	strbuf_str(&m->b, text);
	strbuf_add(&m->b, "\1\0\0\xff\xff\0\0\0\0\0\0\0\0", 13);
}

static inline void
made_footer_zstd(struct made *m, size_t content, bool longer)
{
	uint8_t footer[64] = { 0 };
	size_t len = longer ? 64 : 40;

	store_le64(footer, m->index);
	store_le64(footer + 8, m->index_len);
	store_le64(footer + 16, content);
	store_le64(footer + 24, 1);
	memcpy(footer + len - 8, longer ? "GNUlInUx" : "GnUlInUx", 8);
	made_skippable(m, footer, len);
}

/* Adds the table and the footer. */
static inline void
made_end(struct made *m, enum made_footer footer, const char *json, size_t len)
{
	struct made frame = { .index = 0 };

	if (footer == MADE_ESTARGZ || footer == MADE_OLD) {
		made_table(m, json, len);
		made_footer_gzip(m, footer == MADE_OLD);
	} else {
		made_frame(&frame, json, len);
		m->index = m->b.len + 8;
		m->index_len = frame.b.len;
		made_skippable(m, frame.b.data, frame.b.len);
		strbuf_free(&frame.b);
		made_footer_zstd(m, len, footer == MADE_ZSTD_LONG);
	}
	if (m->b.failed)
		abort();
}

/* A layer's two blobs */

static inline int
made_read(void *arg, const struct layer_range *r, size_t count)
{
	const struct made *m = arg;

	for (size_t i = 0; i < count; i++) {
		if (r[i].object != NULL)
			return -ENOENT;
		if (r[i].offset > m->b.len ||
		    r[i].length > m->b.len - r[i].offset)
			return -ENODATA;
		if (r[i].length > 0)
			memcpy(r[i].buf, m->b.data + r[i].offset,
			    (size_t)r[i].length);
	}
	return 0;
}

static inline int
made_size(void *arg, const char *object, uint64_t *size)
{
	const struct made *m = arg;

	if (object != NULL)
		return -ENOENT;
	*size = m->b.len;
	return 0;
}

static inline struct layer_blobs
made_blobs(struct made *m)
{
	return (struct layer_blobs){ .read = made_read, .size = made_size,
		.arg = m };
}

/*
 * Decodes a unit.  Returns its content, to be freed, or NULL with the reason.
 */
static inline uint8_t *
made_decode(const struct layer *l, struct made *m, uint32_t unit,
    const char **why)
{
	struct layer_range r[LAYER_RANGES_MAX];
	size_t count, n = layer_ranges(l, unit, r);
	uint8_t *content = malloc((size_t)layer_units(l, &count)[unit].content +
	    1);
	struct layer_decoder *d;
	int rc = 0;

	if (content == NULL || n != 1 || layer_decoder_open(&d, l) != 0)
		abort();
	r[0].buf = malloc((size_t)r[0].length + 1);
	if (r[0].buf == NULL)
		abort();
	*why = "it cannot be read";
	rc = made_read(m, r, 1);
	if (rc == 0)
		rc = layer_decode(d, unit, r, content, why);
	free(r[0].buf);
	layer_decoder_close(d);
	if (rc == 0)
		return content;
	free(content);
	return NULL;
}

#endif

/*
 * seek_index_part.c - building a gzip member from the data between index points
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * If the range begins at a point inside a member, a new member is built.  It
 * begins with a header and a stored block with the 32 KiB of data before the
 * point.  Empty blocks follow, so that the last one ends at the same bit within
 * a byte as the point, and the bytes of the file can follow unchanged.  It ends
 * with an empty final block, and a trailer with the CRC that the index records
 * for this data.
 */
#include "seek_index.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "format/seek_formats.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <zlib.h>

/* A bit buffer, least significant bit first. */
struct bits {
	uint8_t *p;
	uint64_t held;
	unsigned count;
};

static void
put_bits(struct bits *b, uint32_t v, unsigned count)
{
	b->held |= (uint64_t)v << b->count;
	for (b->count += count; b->count >= 8; b->count -= 8) {
		*b->p++ = (uint8_t)b->held;
		b->held >>= 8;
	}
}

/* Writes an empty block with fixed codes, which is ten bits long. */
static void
put_empty_fixed(struct bits *b, bool final)
{
	put_bits(b, final ? 3 : 2, 10);
}

/*
 * Writes an empty block with dynamic codes, which is 95 bits long.  Literal 0,
 * the end-of-block symbol and two distances have codes.  The code lengths are
 * written as 1 (code 0) and runs of zeros (18, code 1).  All 19 lengths of the
 * precode are written, in three bits each.
 */
static void
put_empty_dynamic(struct bits *b)
{
	/* in RFC 1951's order */
	enum { LENGTHS = 19, RUN = 2, ONE = 17 };

	put_bits(b, 4, 3);
	put_bits(b, 0, 5);				/* 257 literals */
	put_bits(b, 1, 5);				/* 2 distances */
	put_bits(b, LENGTHS - 4, 4);
	for (int i = 0; i < LENGTHS; i++)
		put_bits(b, i == RUN || i == ONE, 3);
	put_bits(b, 0, 1);				/* literal 0 */
	put_bits(b, 1 | (138 - 11) << 1, 8);
	put_bits(b, 1 | (117 - 11) << 1, 8);
	put_bits(b, 0, 3);			/* the end, both distances */
	put_bits(b, 1, 1);
}

/* Writes empty blocks until the next bit is bit `bit`, 0..7, of a byte. */
static void
put_padding(struct bits *b, unsigned bit)
{
	if (bit % 2 != 0)
		put_empty_dynamic(b);
	while (b->count != bit)
		put_empty_fixed(b, false);
}

/* Reads one byte of the file. */
static int
byte_at(const struct seek_map *m, uint64_t at, uint8_t *byte)
{
	ssize_t n = fdio_pread(m->fd, byte, 1, (off_t)at);

	return n < 0 ? (int)n : n == 0 ? -ENODATA : 0;
}

/* Reads the data before a point.  Returns its length, or -errno. */
static ssize_t
read_window(const struct seek_map *m, const struct index_point *p,
    uint8_t *window)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	uint8_t *packed = sys_malloc(p->packed);
	ssize_t n = -ENOMEM;
	size_t len = 0;

	if (d == NULL || packed == NULL)
		goto out;
	n = fdio_pread(m->index_fd, packed, p->packed, (off_t)p->window);
	if (n < 0)
		goto out;
	if (n < (ssize_t)p->packed || libdeflate_deflate_decompress(d, packed,
	    p->packed, window, INDEX_WINDOW, &len) != LIBDEFLATE_SUCCESS)
		n = -EBADMSG;
	else
		n = (ssize_t)len;
out:
	libdeflate_free_decompressor(d);
	sys_free(packed);
	return n;
}

/*
 * Builds the start of a member up to a point in it: the bytes before the byte
 * that contains the point, and the first bits of that byte.  *crc is set to the
 * CRC of the window.
 */
static int
put_start(const struct seek_map *m, const struct index_point *p,
    struct seek_stream *s, uint32_t *crc)
{
	enum { STORED = 5, PADDING = 24 };
	uint8_t *buf = sys_malloc(64 + STORED + INDEX_WINDOW + PADDING);
	struct bits b = { .count = 0 };
	uint8_t *w, byte;
	ssize_t n;
	int rc = 0;

	if (buf == NULL)
		return -ENOMEM;
	b.p = buf + gzip_header_write(&(struct gzip_fields){ 0 }, buf);
	w = b.p + STORED;
	n = read_window(m, p, w);
	if (n < 0) {
		rc = (int)n;
		goto out;
	}
	b.p[0] = 0;
	store_le16(b.p + 1, (uint16_t)n);
	store_le16(b.p + 3, (uint16_t)~n);
	*crc = libdeflate_crc32(0, w, (size_t)n);
	s->before = (uint64_t)n;
	b.p = w + n;
	put_padding(&b, p->bit % 8);
	if (p->bit % 8 != 0) {
		rc = byte_at(m, p->bit / 8, &byte);
		if (rc != 0)
			goto out;
		put_bits(&b, byte >> p->bit % 8, 8 - p->bit % 8);
	}
	rc = seek_bytes(s, buf, (size_t)(b.p - buf));
out:
	sys_free(buf);
	return rc;
}

/* Adds the bits before a point, and a final block. */
static int
put_part_end(const struct seek_map *m, const struct index_point *p,
    struct seek_stream *s)
{
	uint8_t end[4], byte = 0;
	struct bits b = { .p = end };
	unsigned bit = p->bit % 8;
	int rc = bit == 0 ? 0 : byte_at(m, p->bit / 8, &byte);

	if (rc != 0)
		return rc;
	put_bits(&b, byte & ((1U << bit) - 1), bit);
	put_empty_fixed(&b, true);
	if (b.count > 0)
		put_bits(&b, 0, 8 - b.count);
	return seek_bytes(s, end, (size_t)(b.p - end));
}

static int
put_trailer(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s, uint32_t crc)
{
	const struct index *x = m->own;
	uint8_t trailer[GZIP_TRAILER];

	for (const struct seek_unit *u = from; u < to; u++) {
		struct index_point p;

		index_point_load(&p, x->points +
		    (size_t)(u - m->units) * INDEX_POINT);
		crc = (uint32_t)crc32_combine(crc, p.crc,
		    (off_t)(u[1].plain - u->plain));
	}
	store_le32(trailer, crc);
	store_le32(trailer + 4, (uint32_t)(s->before + to->plain -
	    from->plain));
	return seek_bytes(s, trailer, sizeof(trailer));
}

int
index_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	const struct index *x = m->own;
	struct index_point a, b;
	bool to_end = to->frame != from->frame;
	uint64_t start, end;
	uint32_t crc = 0;
	int rc = 0;

	index_point_load(&a, x->points + (size_t)(from - m->units) *
	    INDEX_POINT);
	index_point_load(&b, x->points + (size_t)(to - m->units) *
	    INDEX_POINT);
	start = (a.bit + 7) / 8;
	end = to_end ? to->at - GZIP_TRAILER : b.bit / 8;
	if (end < start || (to_end && to->at < GZIP_TRAILER))
		return -EBADMSG;
	if (a.packed != 0)
		rc = put_start(m, &a, s, &crc);
	if (rc == 0)
		rc = seek_extent(s, start, end - start);
	if (rc == 0 && !to_end)
		rc = put_part_end(m, &b, s);
	return rc != 0 ? rc : put_trailer(m, from, to, s, crc);
}

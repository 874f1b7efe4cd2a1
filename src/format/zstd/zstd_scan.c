/*
 * zstd_scan.c - where the frames of a zstd stream end, without decoding
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_scan.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>

enum { FRAME, BLOCK, DATA };

static uint64_t
load_le(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

int
zstd_header_parse(struct zstd_header *h, const uint8_t *p, size_t len)
{
	static const uint8_t dict_len[] = { 0, 1, 2, 4 };
	static const uint8_t size_len[] = { 0, 2, 4, 8 };
	size_t pos = 5, n;
	uint8_t d;

	memset(h, 0, sizeof(*h));
	if (len < 5)
		return 0;
	if ((load_le32(p) & ~15U) == ZSTD_SKIP_MAGIC) {
		if (len < 8)
			return 0;
		h->skippable = true;
		h->skip = load_le32(p + 4);
		h->len = 8;
		return 1;
	}
	d = p[4];
	if (load_le32(p) != ZSTD_FRAME_MAGIC || d & 8)
		return -EBADMSG;
	n = size_len[d >> 6];
	if (d & 0x20 && n == 0)
		n = 1;
	h->checksum = (d & 4) != 0;
	h->len = pos + !(d & 0x20) + dict_len[d & 3] + n;
	if (len < h->len)
		return 0;
	if (!(d & 0x20)) {
		h->window = (uint64_t)1 << (10 + (p[pos] >> 3));
		h->window += h->window / 8 * (p[pos] & 7);
		pos++;
	}
	pos += dict_len[d & 3];
	h->content = n == 0 ? UINT64_MAX : load_le(p + pos, n) +
	    (n == 2 ? 256 : 0);
	if (d & 0x20)
		h->window = h->content;
	return 1;
}

/* Collects bytes up to want; the number taken. */
static size_t
hold(struct zstd_scan *z, const uint8_t *p, size_t len, size_t want)
{
	size_t n = want > z->held_len ? want - z->held_len : 0;

	n = n < len ? n : len;
	memcpy(z->held + z->held_len, p, n);
	z->held_len += n;
	return n;
}

static int64_t
take_frame(struct zstd_scan *z, const uint8_t *p, size_t len)
{
	size_t before = z->held_len;
	int rc;

	hold(z, p, len, ZSTD_HEADER_MAX);
	rc = zstd_header_parse(&z->header, z->held, z->held_len);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return (int64_t)(z->held_len - before);
	z->held_len = 0;
	z->state = z->header.skippable ? DATA : BLOCK;
	z->skip = z->header.skip;
	z->last = z->header.skippable;
	return (int64_t)(z->header.len - before);
}

/* A block's header: 1 bit last, 2 bits type, 21 bits size. */
static int64_t
take_block(struct zstd_scan *z, const uint8_t *p, size_t len)
{
	size_t n = hold(z, p, len, 3);
	uint32_t h;

	if (z->held_len < 3)
		return (int64_t)n;
	h = (uint32_t)load_le(z->held, 3);
	z->held_len = 0;
	z->last = h & 1;
	z->skip = (h >> 1 & 3) == 1 ? 1 : h >> 3;
	if (z->last && z->header.checksum)
		z->skip += 4;
	z->state = DATA;
	return (int64_t)n;
}

int64_t
zstd_scan(struct zstd_scan *z, const uint8_t *p, size_t len, bool *ended)
{
	size_t pos = 0;

	*ended = false;
	while (!*ended) {
		int64_t n;

		if (z->state == DATA) {
			n = (int64_t)(z->skip < len - pos ? z->skip :
			    len - pos);
			z->skip -= (uint64_t)n;
			if (z->skip == 0) {
				*ended = z->last;
				z->state = z->last ? FRAME : BLOCK;
			}
		} else if (z->state == FRAME) {
			n = take_frame(z, p + pos, len - pos);
		} else {
			n = take_block(z, p + pos, len - pos);
		}
		if (n < 0)
			return n;
		pos += (size_t)n;
		if (pos == len && !(z->state == DATA && z->skip == 0))
			break;
	}
	return (int64_t)pos;
}

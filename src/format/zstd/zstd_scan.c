/*
 * zstd_scan.c - finding the ends of frames in a zstd stream without decoding
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_scan.h"

#include "base/bytes.h"
#include "zstd_block.h"

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
	n = size_len[d >> ZSTD_SIZE_SHIFT];
	if (d & 0x20 && n == 0)
		n = 1;
	h->checksum = (d & ZSTD_HAS_CHECKSUM) != 0;
	h->dictionary = dict_len[d & 3] != 0;
	h->windowed = !(d & 0x20);
	h->len = pos + !(d & 0x20) + dict_len[d & 3] + n;
	if (len < h->len)
		return 0;
	if (!(d & 0x20)) {
		h->window_byte = p[pos];
		h->window = (uint64_t)1 << (10 + (p[pos] >> 3));
		h->window += h->window / 8 * (p[pos] & 7);
		pos++;
	}
	h->dictionary_id = (uint32_t)load_le(p + pos, dict_len[d & 3]);
	pos += dict_len[d & 3];
	h->content = n == 0 ? UINT64_MAX : load_le(p + pos, n) +
	    (n == 2 ? 256 : 0);
	if (d & 0x20)
		h->window = h->content;
	return 1;
}

/* Collects bytes until it has `want`.  Returns the number added. */
static size_t
hold_bytes_of(struct zstd_scan *z, const uint8_t *p, size_t len, size_t want)
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

	hold_bytes_of(z, p, len, ZSTD_HEADER_MAX);
	rc = zstd_header_parse(&z->header, z->held, z->held_len);
	if (rc < 0)
		return rc;
	if (rc == 0)
		return (int64_t)(z->held_len - before);
	z->held_len = 0;
	z->state = z->header.skippable ? DATA : BLOCK;
	z->skip = z->header.skip;
	z->last = z->header.skippable;
	z->begun = z->marked = false;
	zstd_scan_job(z);
	return (int64_t)(z->header.len - before);
}

static uint64_t
block_most(const struct zstd_scan *z, const struct zstd_block_head *h)
{
	return h->type != ZSTD_COMPRESSED ? h->size :
	    z->header.window < ZSTD_BLOCK_MAX ? z->header.window :
	    ZSTD_BLOCK_MAX;
}

static int64_t
scan_block(struct zstd_scan *z, const uint8_t *p, size_t len)
{
	size_t n = hold_bytes_of(z, p, len, ZSTD_BLOCK_HEAD);
	struct zstd_block_head h;
	bool empty;

	if (z->held_len < ZSTD_BLOCK_HEAD)
		return (int64_t)n;
	h = zstd_block_head(z->held);
	empty = h.type == ZSTD_RAW && h.size == 0 && !h.last;
	z->held_len = 0;
	z->last = h.last;
	z->skip = h.stored;
	if (z->last && z->header.checksum)
		z->skip += 4;
	z->state = DATA;
	z->most += block_most(z, &h);
	z->marked |= empty && !z->begun;
	z->at_job = z->jobs && z->marked && empty && z->busy;
	z->begun = true;
	z->busy |= !empty;
	return (int64_t)n;
}

void
zstd_scan_job(struct zstd_scan *z)
{
	z->at_job = z->busy = false;
	z->most = 0;
}

int64_t
zstd_scan(struct zstd_scan *z, const uint8_t *p, size_t len, bool *ended)
{
	size_t pos = 0;

	*ended = false;
	while (!*ended && !(z->at_job && z->state == BLOCK)) {
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
			n = scan_block(z, p + pos, len - pos);
		}
		if (n < 0)
			return n;
		pos += (size_t)n;
		if (pos == len && !(z->state == DATA && z->skip == 0))
			break;
	}
	return (int64_t)pos;
}

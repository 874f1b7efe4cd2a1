/*
 * zstd_scan.c - finding the ends of frames in a zstd stream without decoding
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "zstd_scan.h"

#include "base/bytes.h"
#include "format/skippable.h"
#include "zstd_block.h"

#include <errno.h>
#include <string.h>

enum { FRAME, BLOCK, DATA };

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
	if (skippable_magic(load_le32(p))) {
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
	h->dictionary_id = (uint32_t)zstd_load(p + pos, dict_len[d & 3]);
	pos += dict_len[d & 3];
	h->content = n == 0 ? UINT64_MAX : zstd_load(p + pos, n) +
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

void
zstd_scan_job(struct zstd_scan *z)
{
	z->at_job = z->busy = false;
	z->most = 0;
}

int64_t
zstd_scan(struct zstd_scan *z, const uint8_t *p, size_t len, bool *ended)
{
	size_t pos = 0, before, n;
	struct zstd_block_head h;
	uint64_t most;
	bool empty;
	int rc;

	*ended = false;
	while (!*ended && !(z->at_job && z->state == BLOCK)) {
		switch (z->state) {
		case FRAME:
			before = z->held_len;
			n = hold_bytes_of(z, p + pos, len - pos,
			    ZSTD_HEADER_MAX);
			rc = zstd_header_parse(&z->header, z->held,
			    z->held_len);
			if (rc < 0)
				return rc;
			if (rc == 0)
				break;
			n = z->header.len - before;
			z->held_len = 0;
			z->state = z->header.skippable ? DATA : BLOCK;
			z->skip = z->header.skip;
			z->last = z->header.skippable;
			z->begun = z->marked = false;
			zstd_scan_job(z);
			break;
		case BLOCK:
			n = hold_bytes_of(z, p + pos, len - pos,
			    ZSTD_BLOCK_HEAD);
			if (z->held_len < ZSTD_BLOCK_HEAD)
				break;
			h = zstd_block_head(z->held);
			empty = h.type == ZSTD_RAW && h.size == 0 && !h.last;
			z->held_len = 0;
			z->last = h.last;
			z->skip = h.stored;
			if (z->last && z->header.checksum)
				z->skip += ZSTD_CHECKSUM;
			z->state = DATA;
			most = z->header.window < ZSTD_BLOCK_MAX ?
			    z->header.window : ZSTD_BLOCK_MAX;
			z->most += h.type != ZSTD_COMPRESSED ? h.size : most;
			z->marked |= empty && !z->begun;
			z->at_job = z->jobs && z->marked && empty && z->busy;
			z->begun = true;
			z->busy |= !empty;
			break;
		default:
			n = z->skip < len - pos ? (size_t)z->skip : len - pos;
			z->skip -= n;
			if (z->skip > 0)
				break;
			*ended = z->last;
			z->state = z->last ? FRAME : BLOCK;
		}
		pos += n;
		if (pos == len && !(z->state == DATA && z->skip == 0))
			break;
	}
	return (int64_t)pos;
}

/*
 * list_lz4.c - the uncompressed size of an lz4 file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only the header of a frame may contain its size; blocks are skipped to find
 * further frames.
 */
#include "format/list.h"

#include "base/bytes.h"
#include "format/look.h"
#include "lz4_frame.h"

#include <errno.h>
#include <lz4.h>

enum { FLG_DICT = 0x01, FLG_SIZE = 0x08 };

struct lz4_listing {
	struct look *look;
	struct codec_listing *l;
	uint64_t at;
	const uint8_t *p;	/* the bytes at that position */
};

/* Reads len bytes at the current position.  Returns 0, -ENODATA or -errno. */
static int
need(struct lz4_listing *w, size_t len)
{
	ssize_t n = look_at(w->look, w->at, len, &w->p);

	return n < 0 ? (int)n : (size_t)n < len ? -ENODATA : 0;
}

/* Skips legacy blocks, up to the end or to a value that cannot be a length. */
static int
old_frame(struct lz4_listing *w)
{
	int rc = 0;

	list_frame(w->l, "none");
	w->l->has_size = false;
	w->at += 4;
	while (w->at < w->look->len) {
		rc = need(w, 4);
		if (rc != 0 || load_le32(w->p) >
		    LZ4_COMPRESSBOUND(LEGACY_BLOCK))
			break;
		w->at += 4 + (uint64_t)load_le32(w->p);
	}
	return rc != 0 ? rc : w->at > w->look->len ? -ENODATA : 0;
}

static int
blocks(struct lz4_listing *w, const struct lz4_header *h)
{
	size_t check = h->flags & PIECE_BLOCK_CHECK ? FRAME_CHECK : 0;
	uint32_t word;
	int rc;

	while ((rc = need(w, 4)) == 0) {
		word = load_le32(w->p);
		w->at += 4;
		if (word == 0)
			return 0;
		word &= ~FRAME_STORED;
		if (word > (uint32_t)1 << (h->flags & PIECE_LOG))
			return -EBADMSG;
		w->at += word + check;
	}
	return rc;
}

static int
new_frame(struct lz4_listing *w)
{
	struct lz4_header h;
	bool has_size;
	size_t len;
	int rc = need(w, FRAME_HEADER);

	if (rc != 0)
		return rc;
	has_size = (w->p[4] & FLG_SIZE) != 0;
	len = FRAME_HEADER + (has_size ? 8 : 0) + (w->p[4] & FLG_DICT ? 4 : 0);
	rc = need(w, len);
	if (rc == 0)
		rc = lz4_header_parse(&h, w->p, len);
	if (rc != 0)
		return rc;
	list_frame(w->l, h.content_check ? "XXH32" :
	    h.flags & PIECE_BLOCK_CHECK ? "XXH32/block" : "none");
	if (has_size)
		list_add(w->l, h.size);
	else
		w->l->has_size = false;
	w->at += len;
	rc = blocks(w, &h);
	if (rc != 0 || !h.content_check)
		return rc;
	rc = need(w, FRAME_CHECK);
	if (rc != 0)
		return rc;
	w->l->value = load_le32(w->p);
	w->l->has_value = true;
	w->at += FRAME_CHECK;
	return 0;
}

static int
next_frame(struct lz4_listing *w)
{
	int rc = need(w, 4);
	uint32_t magic;

	if (rc != 0)
		return rc;
	magic = load_le32(w->p);
	if (magic == LEGACY_MAGIC)
		return old_frame(w);
	if (magic == FRAME_MAGIC)
		return new_frame(w);
	if ((magic & ~15U) != SKIP_MAGIC)
		return -EBADMSG;
	rc = need(w, 8);
	if (rc == 0)
		w->at += 8 + (uint64_t)load_le32(w->p + 4);
	return rc;
}

int
lz4_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct lz4_listing w = { .look = look_open(fd, len), .l = l };
	int rc = 0;

	if (w.look == NULL)
		return -ENOMEM;
	l->has_size = l->exact = true;
	while (rc == 0 && w.at < len)
		rc = next_frame(&w);
	l->has_value = l->has_value && l->frames == 1;
	look_close(w.look);
	return rc;
}

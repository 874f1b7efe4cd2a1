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
skip_legacy(struct lz4_listing *w)
{
	list_frame(w->l, "none");
	w->l->has_size = false;
	w->at += 4;
	while (w->at < w->look->len) {
		int rc = need(w, 4);

		if (rc != 0)
			return rc;
		if (load_le32(w->p) > LZ4_COMPRESSBOUND(LEGACY_BLOCK))
			break;
		w->at += 4 + (uint64_t)load_le32(w->p);
	}
	return w->at > w->look->len ? -ENODATA : 0;
}

static int
next_frame(struct lz4_listing *w)
{
	struct lz4_header h;
	uint32_t magic, word;
	uint8_t flags;
	int rc = need(w, 4);

	if (rc != 0)
		return rc;
	magic = load_le32(w->p);
	if (magic == LEGACY_MAGIC)
		return skip_legacy(w);
	if ((magic & ~15U) == SKIP_MAGIC) {
		rc = need(w, 8);
		if (rc == 0)
			w->at += 8 + (uint64_t)load_le32(w->p + 4);
		return rc;
	}
	if (magic != FRAME_MAGIC)
		return -EBADMSG;
	rc = need(w, FRAME_HEADER);
	if (rc != 0)
		return rc;
	flags = w->p[4];
	rc = need(w, lz4_header_len(flags));
	if (rc == 0)
		rc = lz4_header_parse(&h, w->p, lz4_header_len(flags));
	if (rc != 0)
		return rc;
	list_frame(w->l, h.content_check ? "XXH32" :
	    h.flags & PIECE_BLOCK_CHECK ? "XXH32/block" : "none");
	if (flags & FLG_SIZE)
		list_add(w->l, h.size);
	else
		w->l->has_size = false;
	w->at += lz4_header_len(flags);
	for (;;) {
		rc = need(w, 4);
		if (rc != 0)
			return rc;
		word = load_le32(w->p) & ~FRAME_STORED;
		w->at += 4;
		if (load_le32(w->p) == 0)
			break;
		if (word > (uint32_t)1 << (h.flags & PIECE_LOG))
			return -EBADMSG;
		w->at += word;
		if (h.flags & PIECE_BLOCK_CHECK)
			w->at += FRAME_CHECK;
	}
	if (!h.content_check)
		return 0;
	rc = need(w, FRAME_CHECK);
	if (rc != 0)
		return rc;
	w->l->value = load_le32(w->p);
	w->l->has_value = true;
	w->at += FRAME_CHECK;
	return 0;
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

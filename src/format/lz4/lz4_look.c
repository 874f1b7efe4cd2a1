/*
 * lz4_look.c - the uncompressed size of lz4 files, and reading ranges of them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only the header of a frame may contain its size; for a listing, blocks are
 * skipped to find further frames.
 *
 * Blocks do not record their decoded size, and a frame may contain short ones
 * anywhere.  If the frame records its size, and the last block has what full
 * blocks before it leave of that, all the others are full, since none can be
 * longer.  Otherwise the sizes are computed by parsing the sequences without
 * copying any bytes.  This takes a fraction of the decoding time, although the
 * whole file is read.  A unit cannot begin with a block that refers to earlier
 * blocks; a frame of such blocks is a unit if it records its size.  Source: LZ4
 * Block Format Description.
 */
#include "lz4_frame.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "format/list.h"
#include "format/seek_formats.h"
#include "format/skippable.h"

#include <errno.h>
#include <lz4.h>

enum { MIN_MATCH = 4, LONG = 15 };

/*
 * Reads a length, which continues as long as its bytes are 255.  Returns false
 * at the end of the block.
 */
static bool
read_length(const uint8_t *p, size_t len, size_t *pos, uint64_t *n)
{
	uint8_t b;

	if (*n != LONG)
		return true;
	do {
		if (*pos >= len)
			return false;
		b = p[(*pos)++];
		*n += b;
	} while (b == 255);
	return true;
}

int64_t
lz4_block_plain(const uint8_t *p, size_t len)
{
	uint64_t made = 0;
	size_t pos = 0;

	while (pos < len) {
		uint8_t token = p[pos++];
		uint64_t n = token >> 4;

		if (!read_length(p, len, &pos, &n) || n > len - pos)
			return -EBADMSG;
		pos += (size_t)n;
		made += n;
		if (pos == len)
			return (int64_t)made;
		if (len - pos < 2)
			return -EBADMSG;
		pos += 2;
		n = token & 15;
		if (!read_length(p, len, &pos, &n))
			return -EBADMSG;
		made += n + MIN_MATCH;
	}
	return -EBADMSG;
}

struct frame {
	struct lz4_header h;
	uint64_t at;		/* offset of the frame, after skippable
				 * frames */
	size_t len;		/* length of its header */
	bool none;		/* end of file instead of a frame */
	bool has_size;
};

/*
 * Reads len bytes at an offset, to which *p then points.  Returns 0, -ENODATA
 * or -errno.
 */
static int
need(struct look *look, uint64_t at, size_t len, const uint8_t **p)
{
	ssize_t n = look_at(look, at, len, p);

	if (n < 0)
		return (int)n;
	return (size_t)n < len ? -ENODATA : 0;
}

/* Counts a frame of a listing, and reports it. */
static void
list_one(struct codec_listing *l, struct codec_frame f)
{
	f.number = l->frames + l->skipped;
	if (f.number > 1 && l->kind != (int)f.kind)
		l->kinds = true;
	l->kind = f.kind;
	if (l->frame != NULL)
		l->frame(l->frame_arg, &f);
}

/*
 * Reads the header of the frame at an offset, after skippable ones, which are
 * counted in l, unless it is NULL.  Returns 0 or -errno.
 */
static int
frame_at(struct look *look, uint64_t at, struct frame *f,
    struct codec_listing *l)
{
	const uint8_t *p;
	int rc;

	f->at = at;
	f->none = at >= look->len;
	if (f->none)
		return 0;
	rc = need(look, at, 4, &p);
	while (rc == 0 && skippable_magic(load_le32(p))) {
		rc = need(look, f->at, 8, &p);
		if (rc != 0)
			return rc;
		if (l != NULL) {
			l->skipped++;
			list_one(l, (struct codec_frame){
			    .kind = CODEC_FRAME_SKIPPABLE,
			    .packed = 8 + (uint64_t)load_le32(p + 4) });
		}
		f->at += 8 + (uint64_t)load_le32(p + 4);
		f->none = f->at >= look->len;
		if (f->none)
			return 0;
		rc = need(look, f->at, 4, &p);
	}
	if (rc != 0)
		return rc;
	f->len = 4;
	f->has_size = false;
	if (load_le32(p) != LEGACY_MAGIC) {
		if (load_le32(p) != FRAME_MAGIC)
			return -EBADMSG;
		rc = need(look, f->at, FRAME_HEADER, &p);
		if (rc != 0)
			return rc;
		f->has_size = p[4] & FLG_SIZE;
		f->len = lz4_header_len(p[4]);
		rc = need(look, f->at, f->len, &p);
		if (rc != 0)
			return rc;
	}
	return lz4_header_parse(&f->h, p, f->len);
}

/* Listing */

/* Counts a frame, and sets *at to its end. */
static int
list_blocks(struct look *look, const struct frame *f, uint64_t *at,
    struct codec_listing *l)
{
	bool legacy = f->h.flags & PIECE_LEGACY;
	const uint8_t *p;
	uint32_t word;
	unsigned code;
	int rc;

	if (f->h.content_check)
		list_frame(l, "XXH32");
	else
		list_frame(l, f->h.flags & PIECE_BLOCK_CHECK ? "XXH32/block" :
		    "none");
	l->legacy = legacy;
	l->linked = f->h.flags & PIECE_LINKED;
	code = legacy ? 0 : ((unsigned)f->h.flags & PIECE_LOG) / 2 - 4;
	l->block_code = l->frames == 1 || l->block_code == code ? code : 0;
	if (f->has_size)
		list_add(l, f->h.size);
	else
		l->has_size = false;
	*at = f->at + f->len;
	/* legacy blocks end before a value that cannot be a length */
	while (!legacy || *at < look->len) {
		rc = need(look, *at, 4, &p);
		if (rc != 0)
			return rc;
		word = load_le32(p);
		if (legacy && word > LZ4_COMPRESSBOUND(LEGACY_BLOCK))
			return 0;
		*at += 4;
		if (!legacy && word == 0)
			break;
		if (!legacy) {
			word &= ~FRAME_STORED;
			if (word > (uint32_t)1 << (f->h.flags & PIECE_LOG))
				return -EBADMSG;
		}
		*at += word;
		if (f->h.flags & PIECE_BLOCK_CHECK)
			*at += FRAME_CHECK;
	}
	if (legacy)
		return *at > look->len ? -ENODATA : 0;
	if (!f->h.content_check)
		return 0;
	rc = need(look, *at, FRAME_CHECK, &p);
	if (rc != 0)
		return rc;
	l->value = load_le32(p);
	l->has_value = true;
	*at += FRAME_CHECK;
	return 0;
}

int
lz4_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	struct frame f = { .none = false };
	uint64_t at = 0;
	int rc = 0;

	if (look == NULL)
		return -ENOMEM;
	l->has_size = l->exact = true;
	while (rc == 0) {
		rc = frame_at(look, at, &f, l);
		if (rc != 0 || f.none)
			break;
		rc = list_blocks(look, &f, &at, l);
		if (rc == 0)
			list_one(l, (struct codec_frame){
			    .kind = f.h.flags & PIECE_LEGACY ?
			    CODEC_FRAME_LEGACY : CODEC_FRAME,
			    .block_code = ((unsigned)f.h.flags & PIECE_LOG) /
			    2 - 4, .linked = f.h.flags & PIECE_LINKED,
			    .check = f.h.content_check, .packed = at - f.at,
			    .size = f.has_size ? f.h.size : 0 });
	}
	l->has_value = l->has_value && l->frames == 1;
	look_close(look);
	return rc;
}

/* Ranges */

struct lz4_walk {
	struct seek_map *m;
	uint8_t *buf;		/* buffer for a block, and the word after it */
	uint64_t at, plain;
	uint64_t frame;		/* offset of the current unit; equals at
				 * between frames */
};

/*
 * Computes the size of the block at an offset, whose first word is given.
 * Returns it, or -errno.
 */
static int64_t
block_size(struct lz4_walk *w, uint64_t at, uint32_t word)
{
	uint32_t len = word & ~FRAME_STORED;
	ssize_t n;

	if (word & FRAME_STORED)
		return len;
	n = fdio_pread(w->m->fd, w->buf, len, (off_t)(at + 4));
	w->m->read_B += n > 0 ? (uint64_t)n : 0;
	if (n < (ssize_t)len)
		return n < 0 ? n : -ENODATA;
	return lz4_block_plain(w->buf, len);
}

/*
 * Determines where the last block of a frame is if all blocks before it are
 * full.  Returns 1, 0 or -errno.
 */
static int
full_blocks(struct lz4_walk *w, const struct frame *f, uint64_t *last)
{
	uint64_t most = UINT64_C(1) << (f->h.flags & PIECE_LOG), full = 0;
	uint64_t at = f->at + f->len;
	uint32_t word = 0, next;
	int64_t size;

	if (!f->has_size || f->h.flags & PIECE_LINKED)
		return 0;
	*last = 0;
	for (;; word = next) {
		const uint8_t *p;
		ssize_t n = look_little(w->m->look, at, 4, &p);

		if (n < 4)
			return n < 0 ? (int)n : -ENODATA;
		next = load_le32(p);
		if (next == 0)
			break;
		if ((next & ~FRAME_STORED) > most)
			return -EBADMSG;
		full += *last != 0 ? most : 0;
		*last = at;
		at += 4 + (uint64_t)(next & ~FRAME_STORED) +
		    (f->h.flags & PIECE_BLOCK_CHECK ? FRAME_CHECK : 0);
	}
	if (*last == 0 || full > f->h.size || f->h.size - full > most)
		return 0;
	size = block_size(w, *last, word);
	return size < 0 ? (int)size : (uint64_t)size == f->h.size - full;
}

static int
walk_blocks(struct lz4_walk *w, const struct frame *f)
{
	size_t check = f->h.flags & PIECE_BLOCK_CHECK ? FRAME_CHECK : 0;
	bool linked = f->h.flags & PIECE_LINKED;
	uint64_t last;
	int rc = full_blocks(w, f, &last);

	if (rc < 0)
		return rc;
	if (rc == 0)
		last = 0;
	w->at = f->at + f->len;
	for (;;) {
		bool enough = !linked && w->plain >= w->m->need;
		const uint8_t *p;
		ssize_t n = look_little(w->m->look, w->at, 4, &p);
		uint32_t word, len;
		int64_t size;

		if (n >= 0 && n < 4 && enough)
			return 0;
		if (n < 4)
			return n < 0 ? (int)n : -ENODATA;
		word = load_le32(p);
		len = word & ~FRAME_STORED;
		if (word == 0) {
			w->at += 4 + (f->h.content_check ? FRAME_CHECK : 0);
			w->plain += linked ? f->h.size : 0;
			w->frame = w->at;
			return 0;
		}
		if (enough)
			return 0;
		if (len > (uint32_t)1 << (f->h.flags & PIECE_LOG))
			return -EBADMSG;
		if (!linked) {
			rc = seek_add(w->m, (struct seek_unit){ w->plain,
			    w->at, w->frame });
			if (rc != 0)
				return rc;
		}
		size = linked ? 0 : w->at < last ?
		    (int64_t)1 << (f->h.flags & PIECE_LOG) :
		    block_size(w, w->at, word);
		if (size < 0 || size > (int64_t)1 << (f->h.flags & PIECE_LOG))
			return size < 0 ? (int)size : -EBADMSG;
		w->plain += (uint64_t)size;
		w->at += 4 + (uint64_t)len + check;
	}
}

static int
map_lz4(struct seek_map *m)
{
	struct lz4_walk w = { .m = m, .buf = sys_malloc(FRAME_BLOCK_MAX) };
	struct frame f;
	int rc = 0;

	if (w.buf == NULL)
		return -ENOMEM;
	m->how = "independent blocks";
	m->checked = true;
	while (w.plain < m->need) {
		rc = frame_at(m->look, w.at, &f, NULL);
		if (rc != 0 || f.none)
			break;
		if (f.h.flags & PIECE_LEGACY ||
		    (f.h.flags & PIECE_LINKED && f.h.size == 0)) {
			rc = -ENODATA;
			break;
		}
		m->checked &= (f.h.flags & PIECE_BLOCK_CHECK) != 0;
		w.frame = w.at;
		rc = seek_add(m, (struct seek_unit){ w.plain, w.at, w.at });
		if (rc == 0)
			rc = walk_blocks(&w, &f);
		if (rc != 0)
			break;
	}
	sys_free(w.buf);
	return rc != 0 ? rc : seek_end_within(m, (struct seek_unit){
	    w.plain, w.at, w.frame });
}

static int
lz4_part(const struct seek_map *m, const struct seek_unit *from,
    const struct seek_unit *to, struct seek_stream *s)
{
	static const uint8_t end_mark[4] = { 0 };
	uint8_t head[FRAME_HEADER];
	uint64_t start = from->at, end = to->at;
	struct frame f;
	int rc = frame_at(m->look, from->frame, &f, NULL);

	if (rc != 0 || f.none)
		return rc != 0 ? rc : -EBADMSG;
	/* a whole frame keeps its content checksum */
	if (start == from->frame && to->frame != from->frame && end > start)
		return seek_extent(s, start, end - start);
	if (start == from->frame)
		start = f.at + f.len;
	if (to->frame != from->frame)
		end -= 4 + (f.h.content_check ? FRAME_CHECK : 0);
	if (end < start)
		return -EBADMSG;
	lz4_header_store(head, f.h.flags & PIECE_LOG,
	    f.h.flags & PIECE_BLOCK_CHECK ? FLG_BLOCK_CHECK : 0);
	rc = seek_bytes(s, head, sizeof(head));
	if (rc == 0)
		rc = seek_extent(s, start, end - start);
	return rc != 0 ? rc : seek_bytes(s, end_mark, sizeof(end_mark));
}

const struct codec_seek lz4_seek = { .map = map_lz4, .part = lz4_part };

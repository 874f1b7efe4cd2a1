/*
 * lz4_scan.c - parsing LZ4 frames, in the reader
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A block is read together with the four bytes after it: the length of the next
 * one, or the end mark.  A legacy frame has no end mark; it ends at the end of
 * the input, or before a length that is too large to be valid and is therefore
 * the magic number of the next frame.
 */
#include "lz4_frame.h"

#include "base/bytes.h"
#include "format/skippable.h"

#include <errno.h>
#include <lz4.h>
#include <xxhash.h>

enum {
	BD_RESERVED = 0x8f,
	LINKED_MAX = 1 << 20,	/* maximum size of linked blocks for which
				 * decoding overlaps with reading */
	SKIP_STEP = 64 << 10
};

int
lz4_header_parse(struct lz4_header *h, const uint8_t *p, size_t len)
{
	int code;

	*h = (struct lz4_header){ .size = 0 };
	if (load_le32(p) == LEGACY_MAGIC) {
		h->flags = PIECE_LEGACY | 23;
		return 0;
	}
	code = p[5] >> 4;
	if (p[4] >> 6 != 1)
		return -ENOTSUP;
	if (len != lz4_header_len(p[4]) || p[4] & FLG_RESERVED ||
	    p[5] & BD_RESERVED || code < 4 ||
	    (XXH32(p + 4, len - 5, 0) >> 8 & 0xff) != p[len - 1])
		return -EBADMSG;
	if (p[4] & FLG_DICT)
		return -ENOTSUP;
	h->flags = (8 + 2 * code) |
	    (p[4] & FLG_INDEPENDENT ? 0 : PIECE_LINKED) |
	    (p[4] & FLG_BLOCK_CHECK ? PIECE_BLOCK_CHECK : 0);
	h->content_check = p[4] & FLG_CONTENT_CHECK;
	if (p[4] & FLG_SIZE)
		h->size = load_le64(p + 6);
	return 0;
}

void
lz4_header_store(uint8_t *p, int log, int checks)
{
	store_le32(p, FRAME_MAGIC);
	p[4] = (uint8_t)(FLG_VERSION | FLG_INDEPENDENT | checks);
	p[5] = (uint8_t)((log - 8) / 2 << 4);
	p[6] = XXH32(p + 4, 2, 0) >> 8 & 0xff;
}

uint32_t
lz4_dictionary(const uint8_t *p, size_t len)
{
	struct lz4_header h;
	size_t n;

	if (len < FRAME_HEADER || load_le32(p) != FRAME_MAGIC)
		return 0;
	n = lz4_header_len(p[4]);
	return p[4] >> 6 == 1 && p[4] & FLG_DICT && n <= len &&
	    lz4_header_parse(&h, p, n) == -ENOTSUP ? load_le32(p + n - 5) : 0;
}

int
lz4_first_flags(const uint8_t *p, size_t len)
{
	struct lz4_header h;
	size_t n;

	if (skippable_pass(&p, &len) || len < FRAME_HEADER ||
	    (load_le32(p) != FRAME_MAGIC && load_le32(p) != LEGACY_MAGIC))
		return -1;
	n = load_le32(p) == LEGACY_MAGIC ? 4 : lz4_header_len(p[4]);
	return n > len || lz4_header_parse(&h, p, n) != 0 ? -1 : h.flags;
}

uint64_t
lz4_slot_bytes(int flags, size_t piece_max)
{
	size_t block = (size_t)1 << (flags & PIECE_LOG);
	size_t most = piece_max < block ? block : piece_max;

	if (flags & PIECE_LEGACY)
		return LZ4_COMPRESSBOUND(LEGACY_BLOCK) + LEGACY_BLOCK +
		    PIECE_BESIDE;
	/* linked blocks are decoded by the joiner, not into their slot */
	return (flags & PIECE_LINKED ? most : 2 * (uint64_t)most) +
	    PIECE_BESIDE;
}

size_t
lz4_block_at(struct lz4_block *b, const uint8_t *p, int flags)
{
	uint32_t word = load_le32(p);

	b->stored = !(flags & PIECE_LEGACY) && word & FRAME_STORED;
	b->len = b->stored ? word - FRAME_STORED : word;
	b->data = p + 4;
	return 4 + b->len + (flags & PIECE_BLOCK_CHECK ? FRAME_CHECK : 0);
}

/* Works like input_read(), without a timeout. */
static ssize_t
read_exactly(struct input *in, uint8_t *to, size_t len)
{
	size_t done = 0;
	ssize_t n;

	do {
		n = input_read(in, to + done, len - done);
		if (n < 0)
			return n;
		done += (size_t)n;
	} while (done < len && !in->eof);
	return (ssize_t)done;
}

/*
 * Makes room for len more bytes, but does not move the piece for every small
 * block.
 */
static int
reserve_piece(const struct lz4_reader *r, struct slot *s, size_t len)
{
	size_t need = s->in.len + len, more = 2 * s->in.cap;

	if (need <= s->in.cap)
		return 0;
	if (more > r->piece_max + PIECE_BESIDE / 2)
		more = r->piece_max + PIECE_BESIDE / 2;
	return buf_reserve(&s->in, need > more ? need : more);
}

/* Appends len bytes of input to the piece. */
static int
append_input(const struct lz4_reader *r, struct input *in, struct slot *s,
    size_t len)
{
	int rc = reserve_piece(r, s, len);
	ssize_t n;

	if (rc != 0)
		return rc;
	n = read_exactly(in, s->in.data + s->in.len, len);
	if (n < 0)
		return (int)n;
	s->in.len += (size_t)n;
	return (size_t)n < len ? -ENODATA : 0;
}

/* Reads four bytes ahead; at the end of the input, leaves has_word unset. */
static int
read_word(struct lz4_reader *r, struct input *in)
{
	uint8_t b[4];
	ssize_t n = read_exactly(in, b, sizeof(b));

	if (n < 0)
		return (int)n;
	if (n == 0)
		return 0;
	if (n < 4)
		return -ENODATA;
	r->has_word = true;
	r->word = load_le32(b);
	return 0;
}

/*
 * Skips the rest of a skippable frame, using s->in as a buffer.  Its end must be
 * there, as for lz4(1) in a pipe: if it is not, more may be missing.
 */
static int
skip_frame(struct lz4_reader *r, struct input *in, struct slot *s)
{
	int rc;
	uint32_t left;
	ssize_t n = 1;

	r->has_word = false;
	rc = read_word(r, in);
	if (rc != 0)
		return rc;
	if (!r->has_word)
		return -ENODATA;
	r->has_word = false;
	rc = buf_reserve(&s->in, SKIP_STEP);
	if (rc != 0)
		return rc;
	for (left = r->word; n > 0 && left > 0; left -= (uint32_t)n)
		n = read_exactly(in, s->in.data, left < SKIP_STEP ? left :
		    SKIP_STEP);
	return n < 0 ? (int)n : left > 0 ? -ENODATA : 0;
}

/*
 * Reads up to the length of the first block of a frame.  Sets s->last if there
 * is no frame.
 */
static int
begin_frame(struct lz4_reader *r, struct input *in, struct slot *s)
{
	size_t block;
	int rc = r->has_word ? 0 : read_word(r, in);

	if (rc != 0)
		return rc;
	while (r->has_word && skippable_magic(r->word)) {
		rc = skip_frame(r, in, s);
		if (rc != 0)
			return rc;
		rc = read_word(r, in);
		if (rc != 0)
			return rc;
	}
	if (!r->has_word) {
		s->last = true;
		return 0;
	}
	/* anything after a frame is an error here, unlike in other formats */
	if (r->word != FRAME_MAGIC && r->word != LEGACY_MAGIC)
		return -EBADMSG;
	rc = buf_reserve(&s->in, FRAME_HEADER_MAX);
	if (rc != 0)
		return rc;
	store_le32(s->in.data, r->word);
	s->in.len = 4;
	r->has_word = false;
	if (r->word != LEGACY_MAGIC) {
		rc = append_input(r, in, s, FRAME_HEADER - 4);
		if (rc == 0)
			rc = append_input(r, in, s,
			    lz4_header_len(s->in.data[4]) - FRAME_HEADER);
		if (rc != 0)
			return rc;
	}
	rc = lz4_header_parse(&r->h, s->in.data, s->in.len);
	if (rc != 0)
		return rc;
	unlz4_notes(s)->skip = s->in.len;
	/* does the frame fit in the planned memory? */
	block = (size_t)1 << (r->h.flags & PIECE_LOG);
	if ((r->h.flags & PIECE_LINKED && block > r->linked_max) ||
	    lz4_slot_bytes(r->h.flags, r->piece_max) > r->slot_max) {
		r->notes->need = r->most;
		return -EFBIG;
	}
	rc = read_word(r, in);
	if (rc != 0)
		return rc;
	if (!r->has_word && !(r->h.flags & PIECE_LEGACY))
		return -ENODATA;
	r->within = true;
	return 0;
}

/*
 * Ends a frame, after its end mark or at the end of a legacy frame.  For a
 * file, checks whether the input ends here too; for a pipe, this check might
 * block.
 */
static int
end_frame(struct lz4_reader *r, struct input *in, struct slot *s)
{
	uint8_t b[FRAME_CHECK];
	ssize_t n;

	r->within = false;
	if (!(r->h.flags & PIECE_LEGACY)) {
		r->has_word = false;
		n = r->h.content_check ? read_exactly(in, b, sizeof(b)) : 0;
		if (n < 0)
			return (int)n;
		if (r->h.content_check && n < FRAME_CHECK)
			return -ENODATA;
		unlz4_notes(s)->check = r->h.content_check ? load_le32(b) : 0;
	}
	unlz4_notes(s)->final = true;
	if (!r->has_word && !in->waits && !in->eof)
		r->err = read_word(r, in);
	s->last = r->err == 0 && !r->has_word && in->eof;
	return 0;
}

/* Reads blocks until the frame ends or the piece is full. */
static int
take_blocks(struct lz4_reader *r, struct input *in, struct slot *s)
{
	size_t block = (size_t)1 << (r->h.flags & PIECE_LOG), n, len;
	size_t check = r->h.flags & PIECE_BLOCK_CHECK ? FRAME_CHECK : 0;
	size_t limit = r->h.flags & PIECE_LINKED && LINKED_MAX <
	    r->piece_max ? LINKED_MAX : r->piece_max;
	bool old = r->h.flags & PIECE_LEGACY, stored;
	struct unlz4_notes *note = unlz4_notes(s);
	uint64_t most;
	uint8_t *p;
	ssize_t got;
	int rc;

	/* at the length of a block, or what follows the last one */
	while (old ? r->has_word && r->word <= LZ4_COMPRESSBOUND(LEGACY_BLOCK) :
	    r->word != 0) {
		stored = !old && r->word & FRAME_STORED;
		n = stored ? r->word - FRAME_STORED : r->word;
		if (!old && n > block)
			return -EBADMSG;
		/* each byte of a block expands to at most 255 */
		most = stored ? n : (uint64_t)n * 255;
		most = most < block ? most : block;
		if (note->used > 0 && (note->most + most > limit ||
		    s->in.len + n > limit))
			return 0;
		note->most += most;

		/* the block, and the length after it */
		len = n + check;
		rc = reserve_piece(r, s, 4 + len + 4);
		if (rc != 0)
			return rc;
		p = s->in.data + s->in.len;
		got = read_exactly(in, p + 4, len + 4);
		if (got < 0)
			return (int)got;
		if ((size_t)got < len)
			return -ENODATA;
		store_le32(p, r->word);
		s->in.len += 4 + len;
		note->used += 4 + len;
		r->has_word = (size_t)got == len + 4;
		if (r->has_word)
			r->word = load_le32(p + 4 + len);
		else if (!old || (size_t)got > len)
			return -ENODATA;
	}
	return end_frame(r, in, s);
}

int
lz4_scan(void *job, struct input *in, struct slot *s)
{
	struct lz4_reader *r = job;
	int rc;

	if (r->err != 0)
		return r->err;
	if (!r->within) {
		rc = begin_frame(r, in, s);
		if (rc != 0 || !r->within)
			return rc;
	}
	unlz4_notes(s)->flags = r->h.flags;
	rc = take_blocks(r, in, s);
	if (rc == 0 || unlz4_notes(s)->used == 0)
		return rc;
	/* valid data before an error must still be output */
	r->err = rc;
	return 0;
}

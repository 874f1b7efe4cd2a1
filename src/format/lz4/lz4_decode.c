/*
 * lz4_decode.c - decompressing LZ4
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * No guessing is necessary, because every block is preceded by its length.  The
 * reader of the decoder parses the framing, and a piece is a run of whole
 * blocks of one frame, as stored in the file:
 *
 * 	header of skip bytes, if the frame begins here
 * 	blocks of used bytes: le32 length, data, le32 XXH32 if block_check
 *
 * and struct unlz4_notes describes how to decode them.
 *
 * A block is read together with the four bytes after it: the length of the next
 * one, or the end mark.  A legacy frame has no end mark; it ends at the end of
 * the input, or before a length that is too large to be valid and is therefore
 * the magic number of the next frame.
 *
 * Workers verify block checksums, and decode independent blocks.  Blocks that
 * refer to earlier data are decoded by the joiner, into a sliding buffer: 64
 * KiB of history followed by room for a block; the history is moved to the
 * front when the buffer is full.  The joiner also verifies the checksum and
 * size of each frame.
 */
#include "lz4_frame.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/skippable.h"

#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <xxhash.h>

enum {
	PIECE_MAX = 4 << 20,	/* maximum input or output of a piece with
				 * several blocks */
	PIECE_BESIDE = 64,	/* room for the lengths and checksums around
				 * the blocks */
	LINKED_MAX = 1 << 20,	/* maximum size of linked blocks for which
				 * decoding overlaps with reading */
	SKIP_STEP = 64 << 10,
	SLIDE = 1 << 20,	/* bytes between moves of the history, if
				 * memory allows */
	SINK = 3 << 19,		/* the pipeline's output buffers */
	SMALL = 64 << 10	/* pieces too small for a separate write */
};

/* Decompressing LZ4. */
struct unlz4_notes {
	int flags;		/* fill: PIECE_* */
	size_t skip;		/* fill: size of the header before the blocks */
	size_t used;		/* fill: bytes of `in` that the blocks occupy */
	size_t most;		/* fill: maximum size of `out` */
	bool final;		/* fill: the frame ends with this piece */
	uint32_t check;		/* fill, final: XXH32 of the frame's content */
};
SLOT_NOTES(unlz4_notes)

struct lz4_reader {
	struct codec_notes *notes;
	struct lz4_header h;	/* header of the current frame */
	bool has_dictionary;	/* the user gave one */
	bool within;		/* inside a frame */
	bool has_word;
	uint32_t word;		/* read ahead: block length or magic number */
	int err;		/* error found after valid blocks */
	size_t piece_max;	/* maximum input or output of a piece with
				 * several blocks */
	/*
	 * A frame that exceeds these limits is rejected with -EFBIG, and
	 * notes->need is `most`, the maximum for any stream with one thread.
	 */
	uint64_t most;
	uint64_t slot_max;	/* bytes per piece */
	size_t linked_max;	/* size of a block that refers to earlier
				 * blocks */
};

struct unlz4_job {
	struct lz4_reader reader;
	struct lz4_dictionary dictionary;

	/* Used only by the joiner. */
	size_t slide_least;	/* bytes between moves of the history */
	struct lz4_header h;
	XXH32_state_t *check;
	uint64_t total;		/* bytes of content so far */
	struct buf slide;	/* len: position of the next block */
};

/* The reader */

/* Parses a header, and accepts the ID of a dictionary if there is one. */
static int
parse_header(struct lz4_header *h, const uint8_t *p, size_t len,
    bool has_dictionary)
{
	int rc = lz4_header_parse(h, p, len);

	return rc == -ENOTSUP && h->dictionary && has_dictionary ? 0 : rc;
}

/*
 * Returns the slot size in bytes for pieces with these flags, where a piece of
 * several blocks has at most piece_max bytes.
 */
static uint64_t
slot_bytes(int flags, size_t piece_max)
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
 * Skips the rest of a skippable frame, using s->in as a buffer.  Its end must
 * be there, as for lz4(1) in a pipe: if it is not, more may be missing.
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
	rc = parse_header(&r->h, s->in.data, s->in.len, r->has_dictionary);
	if (rc != 0)
		return rc;
	unlz4_notes(s)->skip = s->in.len;
	/* does the frame fit in the planned memory? */
	block = (size_t)1 << (r->h.flags & PIECE_LOG);
	if ((r->h.flags & PIECE_LINKED && block > r->linked_max) ||
	    slot_bytes(r->h.flags, r->piece_max) > r->slot_max) {
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

static int
unlz4_fill(void *job, struct input *in, struct slot *s)
{
	struct unlz4_job *j = job;
	struct lz4_reader *r = &j->reader;
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

/* The workers */

struct lz4_block {
	const uint8_t *data;
	size_t len;
	bool stored;
};

/*
 * Describes the block at p, which the reader has validated: its data, its
 * length, and whether it is stored.  Returns its size in the piece, in bytes.
 */
static size_t
block_at(struct lz4_block *b, const uint8_t *p, int flags)
{
	uint32_t word = load_le32(p);

	b->stored = !(flags & PIECE_LEGACY) && word & FRAME_STORED;
	b->len = b->stored ? word - FRAME_STORED : word;
	b->data = p + 4;
	return 4 + b->len + (flags & PIECE_BLOCK_CHECK ? FRAME_CHECK : 0);
}

/*
 * Decodes b and appends the result to `to`; b may refer to the dictionary, or
 * to the last bytes of `to`, which it then is.  Returns the length.
 */
static ssize_t
decode_block(const struct lz4_block *b, struct buf *to,
    struct lz4_dictionary d, size_t room)
{
	char *dst = (char *)to->data + to->len;
	int n;

	if (b->stored) {
		if (b->len > room)
			return -EBADMSG;
		memcpy(dst, b->data, b->len);
		n = (int)b->len;
	} else {
		n = LZ4_decompress_safe_usingDict((const char *)b->data, dst,
		    (int)b->len, (int)room, d.p, d.len);
	}
	if (n < 0)
		return -EBADMSG;
	to->len += (size_t)n;
	return n;
}

/*
 * Returns the blocks of a piece, and where they end: both NULL in a piece that
 * only ends a frame.
 */
static const uint8_t *
piece_blocks(struct slot *s, const uint8_t **end)
{
	const struct unlz4_notes *note = unlz4_notes(s);
	const uint8_t *p = note->used > 0 ? s->in.data + note->skip : NULL;

	*end = p != NULL ? p + note->used : NULL;
	return p;
}

static int
unlz4_work(void *job, void *ctx, struct slot *s)
{
	struct lz4_dictionary d = ((const struct unlz4_job *)job)->dictionary;
	const struct unlz4_notes *note = unlz4_notes(s);
	size_t block = (size_t)1 << (note->flags & PIECE_LOG), len, room;
	const uint8_t *end, *p = piece_blocks(s, &end);
	bool linked = note->flags & PIECE_LINKED;
	struct lz4_block b;
	ssize_t n;
	/* one extra byte, because even an empty block needs space */
	int rc = linked ? 0 : buf_reserve(&s->out, note->most + 1);

	(void)ctx;
	if (rc != 0)
		return rc;
	for (; p < end; p += len) {
		len = block_at(&b, p, note->flags);
		if (note->flags & PIECE_BLOCK_CHECK && XXH32(b.data, b.len, 0)
		    != load_le32(p + len - FRAME_CHECK))
			return -EBADMSG;
		if (linked)
			continue;
		room = note->most - s->out.len;
		n = decode_block(&b, &s->out, note->flags & PIECE_LEGACY ?
		    (struct lz4_dictionary){ .p = NULL } : d,
		    room < block ? room : block);
		if (n < 0)
			return (int)n;
	}
	return 0;
}

/* The joiner */

static void
count_blocks(struct unlz4_job *j, const uint8_t *p, size_t len)
{
	if (j->h.content_check)
		XXH32_update(j->check, p, len);
	j->total += len;
}

static int
join_linked(struct unlz4_job *j, struct slot *s, struct sink *out)
{
	const struct unlz4_notes *note = unlz4_notes(s);
	size_t block = (size_t)1 << (note->flags & PIECE_LOG), at;
	const uint8_t *end, *p = piece_blocks(s, &end);
	struct buf *slide = &j->slide;
	struct lz4_block b;
	ssize_t n;
	int rc;

	while (p < end) {
		p += block_at(&b, p, note->flags);
		/* make room for a block after the history */
		if (slide->cap - slide->len < block) {
			memmove(slide->data, slide->data + slide->len - LZ4_HISTORY,
			    LZ4_HISTORY);
			slide->len = LZ4_HISTORY;
		}
		at = slide->len;
		n = at < LZ4_HISTORY ? (ssize_t)at : LZ4_HISTORY;
		n = decode_block(&b, slide, (struct lz4_dictionary){
		    (const char *)slide->data + at - n, (int)n }, block);
		if (n < 0)
			return (int)n;
		count_blocks(j, slide->data + at, (size_t)n);
		rc = sink_write(out, slide->data + at, (size_t)n);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
unlz4_join(void *job, struct slot *s, struct sink *out)
{
	struct unlz4_job *j = job;
	/* a slot passed to the sink may be reused immediately */
	struct unlz4_notes note = *unlz4_notes(s);
	size_t block = (size_t)1 << (note.flags & PIECE_LOG);
	int rc = 0;

	if (note.skip > 0) {
		rc = parse_header(&j->h, s->in.data, note.skip,
		    j->dictionary.p != NULL);
		if (rc == 0 && note.flags & PIECE_LINKED)
			rc = buf_reserve(&j->slide, LZ4_HISTORY +
			    (block < j->slide_least ? j->slide_least : block));
		if (rc != 0)
			return rc;
		XXH32_reset(j->check, 0);
		j->total = 0;
		j->slide.len = 0;
		if (note.flags & PIECE_LINKED && j->dictionary.p != NULL) {
			memcpy(j->slide.data, j->dictionary.p,
			    (size_t)j->dictionary.len);
			j->slide.len = (size_t)j->dictionary.len;
		}
	}
	if (note.flags & PIECE_LINKED) {
		rc = join_linked(j, s, out);
	} else {
		count_blocks(j, s->out.data, s->out.len);
		rc = s->out.len < SMALL ?
		    sink_write(out, s->out.data, s->out.len) :
		    sink_slot(out, s);
	}
	if (rc != 0 || !note.final)
		return rc;
	/* as in lz4(1), a size of 0 means that the header does not record it */
	if (j->h.size != 0 && j->total != j->h.size)
		return -EBADMSG;
	if (j->h.content_check && XXH32_digest(j->check) != note.check)
		return -EBADMSG;
	return 0;
}

static void
unlz4_close(void *job)
{
	struct unlz4_job *j = job;

	if (j == NULL)
		return;
	XXH32_freeState(j->check);
	sys_free(j->slide.data);
	sys_free(j);
}

/*
 * Plans for any stream; legacy blocks need the largest slots.  There is one
 * slot per worker, one for the reader and one for the writer; more would not be
 * faster.
 */
static void
plan_any(unsigned threads, struct memory_plan *p)
{
	*p = (struct memory_plan){ .block = PIECE_MAX, .slots = threads + 2,
	    .slot_B = slot_bytes(PIECE_LEGACY, PIECE_MAX),
	    .fixed_B = SINK + LZ4_HISTORY + FRAME_BLOCK_MAX };
}

static int
unlz4_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct unlz4_job *j = sys_calloc(1, sizeof(*j));
	struct memory_plan any;

	if (j == NULL)
		return -ENOMEM;
	j->dictionary = lz4_dictionary_of(o);
	plan_any(1, &any);
	j->slide_least = p->slot_B < any.slot_B ? 0 : SLIDE;
	j->reader = (struct lz4_reader){ .notes = notes,
	    .has_dictionary = j->dictionary.p != NULL,
	    .most = any.slot_B + any.fixed_B, .piece_max = p->block,
	    .slot_max = p->slot_B,
	    .linked_max = p->fixed_B < SINK + LZ4_HISTORY ? 0 :
	    p->fixed_B - SINK - LZ4_HISTORY };
	j->check = XXH32_createState();
	if (j->check == NULL) {
		unlz4_close(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

static int
unlz4_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	const uint8_t *head = o->head;
	size_t len = o->head_len, block, n = 0;
	struct lz4_header h;
	int flags = 16;

	(void)why;
	plan_any(o->threads, p);
	if (o->memory == 0 || o->memory >= p->slot_B + p->fixed_B)
		return 0;
	/* for frames like the first, with one block per piece */
	if (!skippable_pass(&head, &len) && len >= FRAME_HEADER) {
		if (load_le32(head) == FRAME_MAGIC)
			n = lz4_header_len(head[4]);
		else if (load_le32(head) == LEGACY_MAGIC)
			n = 4;
	}
	if (n > 0 && n <= len && lz4_header_parse(&h, head, n) == 0)
		flags = h.flags;
	block = (size_t)1 << (flags & PIECE_LOG);
	p->block = block;
	p->slot_B = slot_bytes(flags, block);
	p->fixed_B = SINK + (flags & PIECE_LINKED ? LZ4_HISTORY + block : 0);
	return 0;
}

const struct coder lz4_decoder = {
	.plan = unlz4_plan, .open = unlz4_open, .close = unlz4_close,
	.ops = { .fill = unlz4_fill, .work = unlz4_work, .join = unlz4_join },
};

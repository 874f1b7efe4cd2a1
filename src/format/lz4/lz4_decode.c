/*
 * lz4_decode.c - decompressing LZ4
 * SPDX-License-Identifier: BSD-2-Clause
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

#include <errno.h>
#include <lz4.h>
#include <string.h>
#include <xxhash.h>

enum {
	HISTORY = 64 << 10,
	SLIDE = 1 << 20,	/* bytes between moves of the history, if
				 * memory allows */
	SINK = 3 << 19,		/* the pipeline's output buffers */
	SMALL = 64 << 10	/* pieces too small for a separate write */
};

struct unlz4_job {
	struct lz4_reader reader;	/* first, for lz4_scan() */

	/* Used only by the joiner. */
	size_t slide_least;	/* bytes between moves of the history */
	struct lz4_header h;
	XXH32_state_t *check;
	uint64_t total;		/* bytes of content so far */
	struct buf slide;	/* len: position of the next block */
};

/*
 * Decodes b and appends the result to `to`; b may refer to the last `history`
 * bytes of `to`.  Returns the length.
 */
static ssize_t
decode_block(const struct lz4_block *b, struct buf *to, size_t history,
    size_t room)
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
		    (int)b->len, (int)room, dst - history, (int)history);
	}
	if (n < 0)
		return -EBADMSG;
	to->len += (size_t)n;
	return n;
}

static int
unlz4_work(void *job, void *ctx, struct slot *s)
{
	const struct unlz4_notes *note = unlz4_notes(s);
	size_t block = (size_t)1 << (note->flags & PIECE_LOG), len, room;
	const uint8_t *p = s->in.data + note->skip, *end = p + note->used;
	bool linked = note->flags & PIECE_LINKED;
	struct lz4_block b;
	ssize_t n;
	/* one extra byte, because even an empty block needs space */
	int rc = linked ? 0 : buf_reserve(&s->out, note->most + 1);

	(void)job;
	(void)ctx;
	if (rc != 0)
		return rc;
	for (; p < end; p += len) {
		len = lz4_block_at(&b, p, note->flags);
		if (note->flags & PIECE_BLOCK_CHECK && XXH32(b.data, b.len, 0)
		    != load_le32(p + len - FRAME_CHECK))
			return -EBADMSG;
		if (linked)
			continue;
		room = note->most - s->out.len;
		n = decode_block(&b, &s->out, 0, room < block ? room : block);
		if (n < 0)
			return (int)n;
	}
	return 0;
}

/* Joiner */

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
	const uint8_t *p = s->in.data + note->skip, *end = p + note->used;
	struct buf *slide = &j->slide;
	struct lz4_block b;
	ssize_t n;
	int rc;

	while (p < end) {
		p += lz4_block_at(&b, p, note->flags);
		/* make room for a block after the history */
		if (slide->cap - slide->len < block) {
			memmove(slide->data, slide->data + slide->len - HISTORY,
			    HISTORY);
			slide->len = HISTORY;
		}
		at = slide->len;
		n = decode_block(&b, slide, at < HISTORY ? at : HISTORY, block);
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
		rc = lz4_header_parse(&j->h, s->in.data, note.skip);
		if (rc == 0 && note.flags & PIECE_LINKED)
			rc = buf_reserve(&j->slide, HISTORY +
			    (block < j->slide_least ? j->slide_least : block));
		if (rc != 0)
			return rc;
		XXH32_reset(j->check, 0);
		j->total = 0;
		j->slide.len = 0;
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
	    .slot_B = lz4_slot_bytes(PIECE_LEGACY, PIECE_MAX),
	    .fixed_B = SINK + HISTORY + FRAME_BLOCK_MAX };
}

static int
unlz4_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct unlz4_job *j = sys_calloc(1, sizeof(*j));
	struct memory_plan any;

	(void)o;
	if (j == NULL)
		return -ENOMEM;
	plan_any(1, &any);
	j->slide_least = p->slot_B < any.slot_B ? 0 : SLIDE;
	j->reader = (struct lz4_reader){ .notes = notes,
	    .most = any.slot_B + any.fixed_B, .piece_max = p->block,
	    .slot_max = p->slot_B,
	    .linked_max = p->fixed_B < SINK + HISTORY ? 0 :
	    p->fixed_B - SINK - HISTORY };
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
	size_t block;
	int flags;

	(void)why;
	plan_any(o->threads, p);
	if (o->memory == 0 || o->memory >= p->slot_B + p->fixed_B)
		return 0;
	/* for frames like the first, with one block per piece */
	flags = lz4_first_flags(o->head, o->head_len);
	if (flags < 0)
		flags = 16;
	block = (size_t)1 << (flags & PIECE_LOG);
	p->block = block;
	p->slot_B = lz4_slot_bytes(flags, block);
	p->fixed_B = SINK + (flags & PIECE_LINKED ? HISTORY + block : 0);
	return 0;
}

const struct coder lz4_decoder = {
	.plan = unlz4_plan, .open = unlz4_open, .close = unlz4_close,
	.ops = { .fill = lz4_scan, .work = unlz4_work, .join = unlz4_join },
};

/*
 * bzip2_decode.c - decompressing any .bz2 file on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A piece extends from one magic number, of a block or of a stream's end, to
 * the next.  A magic number may occur in a block by chance, so this is a guess:
 * a worker's result is used only if the joiner knows that the block begins at
 * the first bit of the piece, and the block ends at the last bit.  The joiner
 * collects the bits of everything else, including stream headers and trailers,
 * and decodes them in order.
 */
#include "bzip2_codec.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

/* A block too large for its slot's output is decoded by the joiner. */
enum {
	WORKER_OUT = 4 << 20,
	WORKER_OUT_LEAST = 1 << 20,	/* when memory is limited */
	PIECE = BZIP2_PIECE_MAX + 2 * BZIP2_READ,
	SINK = 3 << 19			/* the pipeline's output buffers */
};

enum state { HEADER, BLOCKS, REST };

struct bunzip2_job {
	struct bzip2_reader reader;
	size_t worker_out;

	/* used only by the joiner */
	struct codec_notes *notes;
	enum state state;
	uint64_t at;		/* everything before this bit has been
				 * decoded */
	struct buf held;	/* bytes, starting with the byte that contains
				 * at */
	uint64_t held_at;	/* position of the first bit of held */
	size_t tried;		/* held.len at the last failed attempt */
	int level;
	uint32_t crc;
	unsigned streams;
	struct bz2_decoder *decoder;
};

/* Workers */

static int
bunzip2_worker_open(void *job, void **ctx)
{
	(void)job;
	*ctx = bz2_decoder_new(BZ2_LEVEL_MAX);
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
bunzip2_worker_close(void *ctx)
{
	bz2_decoder_free(ctx);
}

static int
bunzip2_work(void *job, void *ctx, struct slot *s)
{
	const struct bunzip2_job *j = job;
	struct bunzip2_notes *note = bunzip2_notes(s);
	uint64_t bit = note->begin % 8, end = note->end - (note->begin - bit);
	ssize_t n;

	if (bz2_decode_block(ctx, note->level, s->in.data, s->in.len, &bit,
	    &note->crc) != 0 || bit != end)
		return 0;
	if (buf_reserve(&s->out, j->worker_out) != 0)
		return -ENOMEM;
	do {
		n = bz2_decode_read(ctx, s->out.data + s->out.len,
		    s->out.cap - s->out.len);
		s->out.len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && s->out.len < s->out.cap);
	note->ok = n == 0;
	if (!note->ok)
		s->out.len = 0;
	return 0;
}

/* Joiner */

static int
hold_piece(struct bunzip2_job *j, struct slot *s)
{
	uint64_t first = bunzip2_notes(s)->begin / 8 * 8, have;
	size_t skip = 0;
	int rc;

	if (j->held.len == 0)
		j->held_at = first;
	/* adjacent pieces share a byte */
	have = j->held_at + 8 * (uint64_t)j->held.len;
	if (have > first)
		skip = (size_t)((have - first) / 8);
	if (skip > s->in.len)
		skip = s->in.len;
	rc = buf_reserve(&j->held, j->held.len + s->in.len - skip);
	if (rc != 0)
		return rc;
	memcpy(j->held.data + j->held.len, s->in.data + skip,
	    s->in.len - skip);
	j->held.len += s->in.len - skip;
	return 0;
}

/* Discards the bytes before j->at. */
static void
let_go(struct bunzip2_job *j)
{
	size_t n = (size_t)((j->at - j->held_at) / 8);

	memmove(j->held.data, j->held.data + n, j->held.len - n);
	j->held.len -= n;
	j->held_at += 8 * (uint64_t)n;
	j->tried = 0;
}

/*
 * Each function decodes one element at j->at, and advances j->at.  Returns 1, 0
 * (more input is needed), or -errno.
 */

static int
take_header(struct bunzip2_job *j, bool last)
{
	const uint8_t *p = j->held.data + (j->at - j->held_at) / 8;
	size_t len = j->held.len - (size_t)((j->at - j->held_at) / 8);
	static const uint8_t sign[] = "BZh";

	if (len == 0 || memcmp(p, sign, len < 3 ? len : 3) != 0 ||
	    (len >= 4 && (p[3] < '1' || p[3] > '9'))) {
		if (j->streams == 0 && (len > 0 || last))
			return len > 0 ? -EBADMSG : -ENODATA;
		j->notes->trailing_garbage |= len > 0;
		j->state = len > 0 ? REST : HEADER;
		return 0;
	}
	if (len < BZ2_HEADER_BYTES)
		return last ? -ENODATA : 0;
	j->level = p[3] - '0';
	j->at += 8 * BZ2_HEADER_BYTES;
	j->crc = 0;
	j->state = BLOCKS;
	return 1;
}

static int
take_trailer(struct bunzip2_job *j)
{
	uint64_t bit = j->at - j->held_at;
	uint32_t crc;
	int rc = bz2_read_trailer(j->held.data, j->held.len, &bit, &crc);

	if (rc == -ENODATA)
		return 0;
	if (rc != 0 || crc != j->crc)
		return -EBADMSG;
	j->at = j->held_at + bit;
	j->streams++;
	j->state = HEADER;
	return 1;
}

static int
write_block(struct bunzip2_job *j, struct sink *out)
{
	size_t room;
	ssize_t n;
	int rc;

	do {
		uint8_t *p = sink_space(out, &room, &rc);

		if (p == NULL)
			return rc;
		n = bz2_decode_read(j->decoder, p, room);
		if (n > 0)
			sink_advance(out, (size_t)n);
	} while (n > 0);
	return (int)n;
}

/*
 * Decodes a block.  If the block is incomplete, waits for twice as much input
 * before trying again, so that false magic numbers in the block do not make
 * decoding expensive.
 */
static int
decode_block(struct bunzip2_job *j, bool last, struct sink *out)
{
	uint64_t bit = j->at - j->held_at;
	uint32_t crc;
	int rc;

	if (j->held.len < 2 * j->tried && j->held.len <= BZIP2_PIECE_MAX &&
	    !last)
		return 0;
	rc = bz2_decode_block(j->decoder, j->level, j->held.data,
	    j->held.len, &bit, &crc);
	if (rc == -ENODATA && j->held.len <= BZIP2_PIECE_MAX) {
		j->tried = j->held.len;
		return 0;
	}
	if (rc == 0)
		rc = write_block(j, out);
	if (rc != 0)
		return rc == -ENODATA ? -EBADMSG : rc;
	j->crc = bz2_crc_combine(j->crc, crc);
	j->at = j->held_at + bit;
	return 1;
}

static int
decode_part(struct bunzip2_job *j, bool last, struct sink *out)
{
	int rc;

	if (j->state == REST)
		return 0;
	if (j->state == HEADER)
		return take_header(j, last);
	rc = bz2_magic_at(j->held.data, j->held.len, j->at - j->held_at);
	if (rc == -ENODATA)
		return 0;
	if (rc == 0)
		return -EBADMSG;
	return rc == BZ2_AT_END ? take_trailer(j) : decode_block(j, last, out);
}

/* Decodes as much of the held data as possible. */
static int
decode_held(struct bunzip2_job *j, struct slot *s, struct sink *out)
{
	bool last = s->last;
	int rc = hold_piece(j, s);

	while (rc == 0) {
		rc = decode_part(j, last, out);
		if (rc == 1)
			let_go(j);
		if (rc <= 0)
			break;
		rc = 0;
	}
	if (rc == 0 && j->state == REST)
		j->held.len = 0;
	/* the next piece also contains the byte with these bits */
	if (j->held_at + 8 * (uint64_t)j->held.len <= j->at + 7 &&
	    j->at == bunzip2_notes(s)->end)
		j->held.len = 0;
	return rc;
}

static int
bunzip2_join(void *job, struct slot *s, struct sink *out)
{
	struct bunzip2_job *j = job;
	const struct bunzip2_notes *note = bunzip2_notes(s);
	bool last = s->last;
	int rc;

	if (note->ok && j->state == BLOCKS && j->held.len == 0 &&
	    j->at == note->begin && note->level == j->level) {
		j->crc = bz2_crc_combine(j->crc, note->crc);
		j->at = note->end;
		rc = sink_slot(out, s);
	} else {
		rc = decode_held(j, s, out);
	}
	if (rc == 0 && last && (j->state == BLOCKS || j->streams == 0))
		rc = -ENODATA;
	return rc;
}

static int
bunzip2_fill(void *job, struct input *in, struct slot *s)
{
	struct bunzip2_job *j = job;

	return bzip2_scan(&j->reader, in, s);
}

static void
bunzip2_close(void *job)
{
	struct bunzip2_job *j = job;

	if (j == NULL)
		return;
	bz2_decoder_free(j->decoder);
	carry_close(&j->reader.carry);
	sys_free(j->held.data);
	sys_free(j);
}

static int
bunzip2_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct bunzip2_job *j = sys_calloc(1, sizeof(*j));

	(void)o;
	if (j == NULL)
		return -ENOMEM;
	j->notes = notes;
	j->worker_out = p->block;
	j->reader.guess = BZ2_LEVEL_MAX;
	bz2_scan_init(&j->reader.scan);
	j->decoder = bz2_decoder_new(BZ2_LEVEL_MAX);
	if (j->decoder == NULL) {
		bunzip2_close(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

/*
 * Plans the memory.  The joiner has its own decoder, and may have to hold both
 * a block that no worker could decode and the piece after it.
 */
static int
bunzip2_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	size_t decoder = bz2_decoder_memory(BZ2_LEVEL_MAX);

	(void)why;
	*p = (struct memory_plan){ .block = WORKER_OUT,
	    .slots = pipeline_slots(o->threads),
	    .slot_B = PIECE + WORKER_OUT, .worker_B = decoder,
	    .fixed_B = SINK + decoder + 2 * PIECE };
	if (o->memory != 0 && o->memory < p->slot_B + p->worker_B +
	    p->fixed_B) {
		p->block = WORKER_OUT_LEAST;
		p->slot_B = PIECE + WORKER_OUT_LEAST;
	}
	return 0;
}

const struct coder bzip2_decoder = {
	.plan = bunzip2_plan, .open = bunzip2_open, .close = bunzip2_close,
	.ops = { .fill = bunzip2_fill, .work = bunzip2_work,
	    .join = bunzip2_join, .worker_open = bunzip2_worker_open,
	    .worker_close = bunzip2_worker_close },
};

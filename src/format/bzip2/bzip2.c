/*
 * bzip2.c - compressing to bzip2, and decompressing any .bz2 file, on all cores
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Compressing: the output is a single stream.  The reader does the initial
 * run-length coding, because the size of its output determines when a block is
 * full; a worker encodes the block (bz2_block.h); the joiner shifts its bits to
 * the end of the previous block.  With --independent, a worker makes a stream of
 * its own of each piece of the input, as pbzip2 does.
 *
 * Decompressing: a piece extends from one magic number, of a block or of a
 * stream's end, to the next.  A magic number may occur in a block by chance, so
 * this is a guess: a worker's result is used only if the joiner knows that the
 * block begins at the first bit of the piece, and the block ends at the last
 * bit.  The joiner collects the bits of everything else, including stream
 * headers and trailers, and decodes them in order.  Positions are in bits from
 * the beginning of the input.
 */
#include "engine/bzip2/bz2_block.h"
#include "format/codec.h"
#include "format/cutter.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { RAW_LEN = 64 << 10 };

/* Reports the blocks of a stream to the caller; without a function, nothing. */
struct reporter {
	const struct codec_options *options;
	uint64_t blocks;
};

static void
report_block(struct reporter *r, uint32_t crc, uint32_t combined, size_t size)
{
	r->blocks++;
	if (r->options->report != NULL)
		r->options->report(r->options->report_arg,
		    &(struct codec_block){ r->blocks, crc, combined, size });
}

static void
report_end(struct reporter *r, uint32_t combined)
{
	r->blocks = 0;
	if (r->options->report != NULL)
		r->options->report(r->options->report_arg,
		    &(struct codec_block){ .combined = combined });
}

struct bzip2_job {
	struct cutter cut;	/* input not yet in a block; finds
				 * content-defined boundaries */
	struct slot raw;
	size_t raw_pos;
	int level;
	struct bz2_join bits;
	struct buf joined;
	bool begun;
	struct reporter reporter;
};

struct bzip2_notes {
	uint64_t len;		/* work: number of bits in `out`; 0: no block */
	uint32_t crc;		/* work: CRC of the block's content */
};
SLOT_NOTES(bzip2_notes)

static int
bzip2_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	if (o->block != 0) {
		*why = "bzip2's level sets its block size";
		return -ENOTSUP;
	}
	*p = (struct memory_plan){ .slots = pipeline_slots(o->threads) };
	p->block = bz2_rle_cap(o->level);
	p->slot_B = p->block + bz2_encode_bound(o->level);
	p->worker_B = bz2_encoder_memory(o->level);
	p->fixed_B = (1 << 20) + bz2_encode_bound(o->level);
	return 0;
}

/*
 * Cutting leaves room for run-length coding, which may add one byte to every
 * four.
 */
static int
bzip2_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct bzip2_job *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.rsyncable = o->rsyncable;
	j->cut.block = o->rsyncable ? p->block / 5 * 4 : RAW_LEN;
	j->level = o->level;
	j->reporter.options = o;
	*job = j;
	return 0;
}

static void
bzip2_close(void *job)
{
	struct bzip2_job *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	sys_free(j->raw.in.data);
	sys_free(j->joined.data);
	sys_free(j);
}

static int
bzip2_fill(void *job, struct input *in, struct slot *s)
{
	struct bzip2_job *j = job;
	struct bz2_rle r;
	bool complete = false;
	int rc = buf_reserve(&s->in, bz2_rle_cap(j->level));

	if (rc != 0)
		return rc;
	bz2_rle_start(&r, j->level, s->in.data);
	for (;;) {
		if (j->raw_pos < j->raw.in.len)
			j->raw_pos += bz2_rle_fill(&r,
			    j->raw.in.data + j->raw_pos,
			    j->raw.in.len - j->raw_pos);
		if (complete || bz2_rle_full(&r) || j->raw.last)
			break;
		rc = cutter_fill(&j->cut, in, &j->raw);
		if (rc != 0)
			return rc;
		j->raw_pos = 0;
		complete = j->cut.rsyncable ||
		    (j->raw.in.len < j->cut.block && !j->raw.last);
	}
	s->in.len = bz2_rle_end(&r);
	s->last = j->raw.last && j->raw_pos == j->raw.in.len;
	return 0;
}

static int
bzip2_worker_open(void *job, void **ctx)
{
	struct bzip2_job *j = job;

	*ctx = bz2_encoder_new(j->level);
	return *ctx == NULL ? -ENOMEM : 0;
}

static int
bzip2_work(void *job, void *ctx, struct slot *s)
{
	struct bzip2_job *j = job;
	int64_t bits;
	int rc;

	if (s->in.len == 0)
		return 0;
	rc = buf_reserve(&s->out, bz2_encode_bound(j->level));
	if (rc != 0)
		return rc;
	bits = bz2_encode_block(ctx, s->in.data, s->in.len, s->out.data,
	    s->out.cap, &bzip2_notes(s)->crc);
	if (bits < 0)
		return (int)bits;
	bzip2_notes(s)->len = (uint64_t)bits;
	return 0;
}

static int
bzip2_join(void *job, struct slot *s, struct sink *out)
{
	struct bzip2_job *j = job;
	const struct bzip2_notes *note = bzip2_notes(s);
	int rc = buf_reserve(&j->joined, note->len / 8 + 64);
	size_t n = 0;

	if (rc != 0)
		return rc;
	if (!j->begun)
		n = bz2_join_header(&j->bits, j->level, j->joined.data);
	j->begun = true;
	if (note->len > 0)
		n += bz2_join_block(&j->bits, s->out.data, note->len,
		    note->crc, j->joined.data + n);
	if (note->len > 0)
		report_block(&j->reporter, note->crc, j->bits.crc, s->in.len);
	if (s->last)
		n += bz2_join_trailer(&j->bits, j->joined.data + n);
	if (s->last)
		report_end(&j->reporter, j->bits.crc);
	return sink_write(out, j->joined.data, n);
}

static const struct coder bzip2_encoder = {
	.plan = bzip2_plan, .open = bzip2_open, .close = bzip2_close,
	.ops = { .fill = bzip2_fill, .work = bzip2_work, .join = bzip2_join,
	    .worker_open = bzip2_worker_open,
	    .worker_close = bz2_encoder_free },
};

/* Streams of their own */

struct bzip2_streams {
	struct cutter cut;	/* first, for cutter_fill() */
	int level;
};

struct bzip2_maker {
	struct bz2_encoder *encoder;
	uint8_t *block, *packed;
};

/*
 * The most that a stream takes: run lengths may add a byte to every four, so
 * that a piece becomes two blocks.
 */
static size_t
stream_bound(int level)
{
	return 2 * (bz2_encode_bound(level) + 16);
}

static int
streams_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	int rc = bzip2_plan(o, p, why);

	if (rc == 0 && o->rsyncable) {
		*why = "-i cannot be combined with --rsyncable for bzip2";
		rc = -ENOTSUP;
	}
	p->slot_B = p->block + stream_bound(o->level);
	p->worker_B += p->block + bz2_encode_bound(o->level);
	p->fixed_B = 1 << 20;
	return rc;
}

static int
streams_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct bzip2_streams *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->level = o->level;
	*job = j;
	return 0;
}

static void
streams_close(void *job)
{
	struct bzip2_streams *j = job;

	if (j != NULL)
		cutter_close(&j->cut);
	sys_free(j);
}

static void
maker_close(void *ctx)
{
	struct bzip2_maker *m = ctx;

	bz2_encoder_free(m->encoder);
	sys_free(m->block);
	sys_free(m->packed);
	sys_free(m);
}

static int
maker_open(void *job, void **ctx)
{
	const struct bzip2_streams *j = job;
	struct bzip2_maker *m = sys_calloc(1, sizeof(*m));

	if (m == NULL)
		return -ENOMEM;
	m->encoder = bz2_encoder_new(j->level);
	m->block = sys_malloc(bz2_rle_cap(j->level));
	m->packed = sys_malloc(bz2_encode_bound(j->level));
	if (m->encoder == NULL || m->block == NULL || m->packed == NULL) {
		maker_close(m);
		return -ENOMEM;
	}
	*ctx = m;
	return 0;
}

static int
streams_work(void *job, void *ctx, struct slot *s)
{
	const struct bzip2_streams *j = job;
	struct bzip2_maker *m = ctx;
	struct bz2_join bits = { .rest_bits = 0 };
	size_t at = 0, n;
	int rc;

	/* the end of an input that consists of whole pieces */
	if (s->in.len == 0 && s->seq > 0)
		return 0;
	rc = buf_reserve(&s->out, stream_bound(j->level));
	if (rc != 0)
		return rc;
	n = bz2_join_header(&bits, j->level, s->out.data);
	while (at < s->in.len) {
		struct bz2_rle r;
		int64_t len;
		uint32_t crc;

		bz2_rle_start(&r, j->level, m->block);
		at += bz2_rle_fill(&r, s->in.data + at, s->in.len - at);
		len = bz2_encode_block(m->encoder, m->block, bz2_rle_end(&r),
		    m->packed, bz2_encode_bound(j->level), &crc);
		if (len < 0)
			return (int)len;
		n += bz2_join_block(&bits, m->packed, (uint64_t)len, crc,
		    s->out.data + n);
	}
	s->out.len = n + bz2_join_trailer(&bits, s->out.data + n);
	return 0;
}

static const struct coder bzip2_streams_encoder = {
	.plan = streams_plan, .open = streams_open, .close = streams_close,
	.ops = { .fill = cutter_fill, .work = streams_work,
	    .join = sink_join, .worker_open = maker_open,
	    .worker_close = maker_close },
};

static const struct coder *
bzip2_encoder_for(const struct codec_options *o)
{
	return o->independent ? &bzip2_streams_encoder : &bzip2_encoder;
}

/* Decompressing */

enum {
	/* longer than any compressed block: 900,000 20-bit codes */
	PIECE_MAX = 5 << 19,
	READ_LEN = 128 << 10,		/* bytes read at a time */
	/* a block too large for its slot's output is decoded by the joiner */
	WORKER_OUT = 4 << 20,
	WORKER_OUT_LEAST = 1 << 20,	/* when memory is limited */
	PIECE = PIECE_MAX + 2 * READ_LEN,
	SINK = 3 << 19			/* the pipeline's output buffers */
};

struct bunzip2_notes {
	int level;		/* fill: the stream's presumed level */
	uint64_t begin;		/* fill: the first bit of the piece, */
	uint64_t end;		/* and the bit after the last */
	bool ok;		/* work: `out` contains the block's content */
	uint32_t crc;		/* work: CRC of that content */
};
SLOT_NOTES(bunzip2_notes)

struct bunzip2_job {
	/* used only by the reader */
	struct bz2_scan scan;
	struct carry carry;
	uint64_t carry_at;	/* position of the first bit of carry */
	uint64_t next;		/* start of the next piece */
	int guess;		/* level */

	size_t worker_out;

	/* used only by the joiner */
	struct codec_notes *notes;
	enum { HEADER, BLOCKS, REST } state;
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
	struct reporter reporter;	/* used by the joiner */
};

/*
 * Guesses the level from the header after the trailer at `bit`, or from the
 * first header.
 */
static void
guess_level(struct bunzip2_job *j, const struct slot *s, uint64_t bit)
{
	uint64_t at = (bit + 7) / 8;

	if (at + 4 <= s->in.len && memcmp(s->in.data + at, "BZh", 3) == 0)
		j->guess = s->in.data[at + 3] - '0';
}

/*
 * Searches for the end of a piece from a bit onward.  Returns 1 and the
 * position, 0 at the end of the input, or -errno.
 */
static int
find_end(struct bunzip2_job *j, struct input *in, struct slot *s,
    uint64_t from, uint64_t *end)
{
	for (;;) {
		uint64_t bits = 8 * (uint64_t)s->in.len;
		ssize_t n;

		if (from + BZ2_MAGIC_BITS <= bits &&
		    bz2_scan_next(&j->scan, s->in.data, s->in.len, from,
		    end) != 0)
			return 1;
		if (bits >= from + BZ2_MAGIC_BITS)
			from = bits - BZ2_MAGIC_BITS + 1;
		if (s->in.len > PIECE_MAX) {
			*end = bits / 8 * 8 - 64;
			return 1;
		}
		n = carry_more(in, s, READ_LEN);
		if (n <= 0)
			return (int)n;
	}
}

/* Reads the next piece, presumed to be one block. */
static int
bunzip2_fill(void *job, struct input *in, struct slot *s)
{
	struct bunzip2_job *j = job;
	struct bunzip2_notes *note = bunzip2_notes(s);
	uint64_t base = j->carry_at, end;
	int rc = carry_begin(&j->carry, s);

	if (rc != 0)
		return rc;
	note->begin = j->next;
	rc = find_end(j, in, s, j->next - base + 1, &end);
	if (rc < 0)
		return rc;
	if (note->begin == 0)
		guess_level(j, s, 0);
	else if (bz2_magic_at(s->in.data, s->in.len, note->begin - base) ==
	    BZ2_AT_END)
		guess_level(j, s, note->begin - base + BZ2_TRAILER_BITS);
	note->level = j->guess;
	if (rc == 0) {
		note->end = base + 8 * (uint64_t)s->in.len;
		s->last = true;
		return 0;
	}
	j->carry_at = base + end / 8 * 8;
	j->next = note->end = base + end;
	/* both pieces need a byte that they share */
	return carry_cut(&j->carry, s, (size_t)((end + 7) / 8),
	    (size_t)(end / 8));
}

static int
bunzip2_worker_open(void *job, void **ctx)
{
	(void)job;
	*ctx = bz2_decoder_new(BZ2_LEVEL_MAX);
	return *ctx == NULL ? -ENOMEM : 0;
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

/*
 * Each function decodes one element at j->at, and advances j->at.  Returns 1, 0
 * (more input is needed), or -errno.
 */

static int
take_header(struct bunzip2_job *j, bool last)
{
	static const uint8_t sign[] = "BZh";
	size_t at = (size_t)((j->at - j->held_at) / 8);
	size_t len = j->held.len - at;
	const uint8_t *p = len > 0 ? j->held.data + at : NULL;

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
	report_end(&j->reporter, crc);
	j->at = j->held_at + bit;
	j->streams++;
	j->state = HEADER;
	return 1;
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
	size_t room;
	ssize_t n;
	int rc;

	if (j->held.len < 2 * j->tried && j->held.len <= PIECE_MAX && !last)
		return 0;
	rc = bz2_decode_block(j->decoder, j->level, j->held.data,
	    j->held.len, &bit, &crc);
	if (rc == -ENODATA && j->held.len <= PIECE_MAX) {
		j->tried = j->held.len;
		return 0;
	}
	if (rc != 0)
		return rc == -ENODATA ? -EBADMSG : rc;
	do {
		uint8_t *p = sink_space(out, &room, &rc);

		if (p == NULL)
			return rc;
		n = bz2_decode_read(j->decoder, p, room);
		if (n < 0)
			return n == -ENODATA ? -EBADMSG : (int)n;
		sink_advance(out, (size_t)n);
	} while (n > 0);
	j->crc = bz2_crc_combine(j->crc, crc);
	report_block(&j->reporter, crc, j->crc, 0);
	j->at = j->held_at + bit;
	return 1;
}

/* Adds a piece to the held data, and decodes as much of that as possible. */
static int
decode_held(struct bunzip2_job *j, struct slot *s, struct sink *out)
{
	uint64_t first = bunzip2_notes(s)->begin / 8 * 8, have;
	size_t skip = 0, n;
	int rc;

	if (j->held.len == 0)
		j->held_at = first;
	/* adjacent pieces share a byte */
	have = j->held_at + 8 * (uint64_t)j->held.len;
	if (have > first)
		skip = (size_t)((have - first) / 8);
	if (skip > s->in.len)
		skip = s->in.len;
	n = s->in.len - skip;
	rc = buf_reserve(&j->held, j->held.len + n);
	if (rc != 0)
		return rc;
	if (n > 0)
		memcpy(j->held.data + j->held.len, s->in.data + skip, n);
	j->held.len += n;

	while (j->state != REST) {
		if (j->state == HEADER) {
			rc = take_header(j, s->last);
		} else {
			rc = bz2_magic_at(j->held.data, j->held.len,
			    j->at - j->held_at);
			if (rc == -ENODATA)
				rc = 0;
			else if (rc == 0)
				rc = -EBADMSG;
			else if (rc == BZ2_AT_END)
				rc = take_trailer(j);
			else
				rc = decode_block(j, s->last, out);
		}
		if (rc <= 0)
			break;
		/* discard the bytes before j->at */
		n = (size_t)((j->at - j->held_at) / 8);
		memmove(j->held.data, j->held.data + n, j->held.len - n);
		j->held.len -= n;
		j->held_at += 8 * (uint64_t)n;
		j->tried = 0;
	}
	/* the next piece also contains the byte with these bits */
	if ((rc == 0 && j->state == REST) ||
	    (j->held_at + 8 * (uint64_t)j->held.len <= j->at + 7 &&
	    j->at == bunzip2_notes(s)->end))
		j->held.len = 0;
	return rc;
}

static int
bunzip2_join(void *job, struct slot *s, struct sink *out)
{
	struct bunzip2_job *j = job;
	const struct bunzip2_notes *note = bunzip2_notes(s);
	bool last = s->last;	/* sink_slot() takes s */
	int rc;

	if (note->ok && j->state == BLOCKS && j->held.len == 0 &&
	    j->at == note->begin && note->level == j->level) {
		j->crc = bz2_crc_combine(j->crc, note->crc);
		report_block(&j->reporter, note->crc, j->crc, 0);
		j->at = note->end;
		rc = sink_slot(out, s);
	} else {
		rc = decode_held(j, s, out);
	}
	if (rc == 0 && last && (j->state == BLOCKS || j->streams == 0))
		rc = -ENODATA;
	return rc;
}

static void
bunzip2_close(void *job)
{
	struct bunzip2_job *j = job;

	if (j == NULL)
		return;
	bz2_decoder_free(j->decoder);
	carry_close(&j->carry);
	sys_free(j->held.data);
	sys_free(j);
}

static int
bunzip2_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct bunzip2_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->notes = notes;
	j->reporter.options = o;
	j->worker_out = p->block;
	j->guess = BZ2_LEVEL_MAX;
	bz2_scan_init(&j->scan);
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

static const struct coder bzip2_decoder = {
	.plan = bunzip2_plan, .open = bunzip2_open, .close = bunzip2_close,
	.ops = { .fill = bunzip2_fill, .work = bunzip2_work,
	    .join = bunzip2_join, .worker_open = bunzip2_worker_open,
	    .worker_close = bz2_decoder_free },
};

static bool
bzip2_magic(const uint8_t *p, size_t len)
{
	return len >= 4 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' &&
	    p[3] <= '9';
}

static const char *
bzip2_versions(void)
{
	return "coldpress " COLDPRESS_VERSION;
}

const struct codec codec_bzip2 = {
	.name = "bzip2", .short_name = "bz2",
	.suffixes = (const struct codec_suffix[]){ { ".bz2", "" },
	    { ".tbz2", ".tar" }, { ".tbz", ".tar" }, { ".bz", "" },
	    { NULL, NULL } },
	.level_min = 1, .level_max = 9, .level_default = 9,
	.check = "CRC-32",
	.magic = bzip2_magic, .encode = &bzip2_encoder,
	.encoder_for = bzip2_encoder_for,
	.decode = &bzip2_decoder, .versions = bzip2_versions,
};

/*
 * xz_parallel.c - decoding the blocks of .xz streams in parallel
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader cuts the input where the headers of the blocks say how long they
 * are, and a worker decodes a block as a whole.  All else, also a block that a
 * worker could not decode, goes through the joiner's xz_reader, in order.  It
 * says what is wrong, and compares all blocks with the index.
 */
#include "xz_reader.h"

#include "base/ram.h"
#include "base/sys.h"
#include "format/serial.h"

#include <errno.h>
#include <string.h>

enum place { AT_STREAM, AT_BLOCK, AT_INDEX, ANYWHERE };

struct xz_parallel {
	/* the reader's */
	enum place place;
	uint64_t index_left;		/* of an index and a footer */
	uint64_t block_left;		/* of a block that is cut into pieces */
	size_t piece;
	uint64_t held, held_max;	/* memory of blocks in slots */
	unsigned workers;
	uint64_t limit;
	uint32_t flags;
	lzma_check check;
	lzma_index_hash *index;

	/* the joiner's */
	struct xz_reader *reader;
};

struct xz_notes {
	bool cut;			/* the piece is a block */
	bool decoded;
	lzma_check check;
	bool ignore_check;
	uint64_t unpadded, plain;
	uint64_t joiner, worker;	/* what a decoder of the block needs there,
					 * beside its data */
};
SLOT_NOTES(xz_notes)

uint64_t
xz_parallel_held(uint64_t asked, unsigned threads, uint64_t usable)
{
	uint64_t least = (uint64_t)threads << 27, most = 4 * least;
	uint64_t quarter = usable / 4;

	return asked != 0 ? asked : quarter < least ? least :
	    quarter < most ? quarter : most;
}

int
xz_parallel_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes, uint64_t limit,
    uint32_t flags)
{
	struct xz_parallel *j = sys_calloc(1, sizeof(*j));
	int rc;

	if (j == NULL)
		return -ENOMEM;
	j->limit = limit;
	j->flags = flags;
	j->piece = p->block;
	j->workers = o->threads;
	j->held_max = xz_parallel_held(codec_number(o, "threads-memory"),
	    o->threads, ram_usable());
	rc = xz_reader_open(&j->reader, limit, flags, notes,
	    p->slots * p->slot_B + p->fixed_B);
	if (rc != 0) {
		sys_free(j);
		return rc;
	}
	*job = j;
	return 0;
}

void
xz_parallel_close(void *job)
{
	struct xz_parallel *j = job;

	if (j == NULL)
		return;
	xz_reader_close(j->reader);
	lzma_index_hash_end(j->index, NULL);
	sys_free(j);
}

/* Reads len bytes into s, or fewer at the end. */
static int
read_piece(struct input *in, struct slot *s, size_t len)
{
	int rc = buf_reserve(&s->in, len);
	ssize_t n;

	if (rc != 0)
		return rc;
	n = input_read(in, s->in.data, len);
	if (n < 0)
		return (int)n;
	s->in.len = (size_t)n;
	s->last = in->eof;
	return 0;
}

/* Returns the space for a block that s lacks. */
static uint64_t
lacking(const struct buf *b, uint64_t want)
{
	return want > b->cap ? want - b->cap : 0;
}

/*
 * Decodes the header p of a block of which n bytes are known.  Returns the
 * block's length if its header has both sizes, or 0.
 */
static uint64_t
block_extent(struct xz_parallel *j, const uint8_t *p, size_t n,
    struct xz_notes *note)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block b = { .version = 1, .check = j->check, .filters = filters };
	uint64_t need;
	bool ours;

	b.header_size = lzma_block_header_size_decode(p[0]);
	if (b.header_size > n ||
	    lzma_block_header_decode(&b, NULL, p) != LZMA_OK)
		return 0;
	b.ignore_check = (j->flags & LZMA_IGNORE_CHECK) != 0;
	need = lzma_raw_decoder_memusage(filters);
	ours = xz_is_ours(&b);
	lzma_filters_free(filters, NULL);
	if (need > j->limit || b.compressed_size == LZMA_VLI_UNKNOWN ||
	    b.uncompressed_size == LZMA_VLI_UNKNOWN ||
	    lzma_block_unpadded_size(&b) == 0)
		return 0;
	note->joiner = need;
	note->worker = ours ? 0 : need;
	note->check = j->check;
	note->ignore_check = b.ignore_check;
	note->unpadded = lzma_block_unpadded_size(&b);
	note->plain = b.uncompressed_size;
	return lzma_block_total_size(&b);
}

/* Reads what comes next where a block or the index begins. */
static int
fill_block(struct xz_parallel *j, struct input *in, struct slot *s)
{
	struct xz_notes *note = xz_notes(s);
	uint64_t total, more, beside;
	const uint8_t *p;
	ssize_t n = input_peek(in, INPUT_PEEK, &p);
	int rc;

	if (n < 0)
		return (int)n;
	if (n > 0 && p[0] == 0) {
		j->index_left = lzma_index_hash_size(j->index) +
		    LZMA_STREAM_HEADER_SIZE;
		j->place = AT_INDEX;
		return read_piece(in, s, 1);
	}
	total = n == 0 ? 0 : block_extent(j, p, (size_t)n, note);
	if (total == 0 || lzma_index_hash_append(j->index, note->unpadded,
	    note->plain) != LZMA_OK) {
		j->place = ANYWHERE;
		return read_piece(in, s, j->piece);
	}
	more = j->held_max + 1;
	if (total < j->held_max && note->plain < j->held_max &&
	    total < SIZE_MAX && note->plain < SIZE_MAX)
		more = lacking(&s->in, total) + lacking(&s->out, note->plain);
	/* the joiner may have to decode it again */
	beside = note->joiner + note->worker * j->workers;
	if (beside > j->held_max - j->held ||
	    more > j->held_max - j->held - beside) {
		j->block_left = total;
		return 0;
	}
	rc = buf_reserve(&s->in, total);
	if (rc == 0)
		rc = buf_reserve(&s->out, note->plain);
	if (rc != 0) {
		/* the joiner needs less */
		j->block_left = total;
		return 0;
	}
	j->held += more;
	note->cut = true;
	return read_piece(in, s, (size_t)total);
}

int
xz_parallel_fill(void *job, struct input *in, struct slot *s)
{
	struct xz_parallel *j = job;
	uint64_t *left = j->place == AT_INDEX ? &j->index_left :
	    &j->block_left;
	lzma_stream_flags flags;
	const uint8_t *p;
	ssize_t n;
	int rc;

	if (j->place == AT_STREAM) {
		n = input_peek(in, LZMA_STREAM_HEADER_SIZE, &p);
		if (n < 0)
			return (int)n;
		j->place = ANYWHERE;
		if (n < LZMA_STREAM_HEADER_SIZE ||
		    lzma_stream_header_decode(&flags, p) != LZMA_OK)
			return read_piece(in, s, j->piece);
		j->index = lzma_index_hash_init(j->index, NULL);
		if (j->index == NULL)
			return -ENOMEM;
		j->check = flags.check;
		j->place = AT_BLOCK;
		return read_piece(in, s, LZMA_STREAM_HEADER_SIZE);
	}
	if (j->place == ANYWHERE)
		return read_piece(in, s, j->piece);
	if (*left == 0) {
		rc = fill_block(j, in, s);
		if (rc != 0 || s->in.len > 0 || *left == 0) {
			/* the index's first byte is read */
			j->index_left -= j->place == AT_INDEX;
			return rc;
		}
	}
	rc = read_piece(in, s, *left < j->piece ? (size_t)*left : j->piece);
	*left -= s->in.len;
	if (rc == 0 && j->place == AT_INDEX && *left == 0)
		j->place = j->flags & LZMA_CONCATENATED ? AT_STREAM : ANYWHERE;
	return rc;
}

int
xz_parallel_worker_open(void *job, void **ctx)
{
	struct unlzma *u;
	int rc = unlzma_open(&u);

	(void)job;
	*ctx = rc == 0 ? u : NULL;
	return rc;
}

void
xz_parallel_worker_close(void *ctx)
{
	unlzma_close(ctx);
}

int
xz_parallel_work(void *job, void *ctx, struct slot *s)
{
	struct xz_notes *note = xz_notes(s);
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block b = { .version = 1, .check = note->check,
	    .ignore_check = note->ignore_check, .filters = filters };
	size_t in_at, out_at = 0;
	int64_t n = -EBADMSG;

	(void)job;
	if (!note->cut || s->in.len == 0)
		return 0;
	in_at = b.header_size = lzma_block_header_size_decode(s->in.data[0]);
	if (in_at > s->in.len ||
	    lzma_block_header_decode(&b, NULL, s->in.data) != LZMA_OK)
		return 0;
	if (xz_is_ours(&b))
		n = xz_block_data(ctx, &b, s->in.data + in_at,
		    s->in.len - in_at, s->out.data, (size_t)note->plain);
	else if (lzma_block_buffer_decode(&b, NULL, s->in.data, &in_at,
	    s->in.len, s->out.data, &out_at, (size_t)note->plain) == LZMA_OK)
		n = (int64_t)out_at;
	lzma_filters_free(filters, NULL);
	note->decoded = n == (int64_t)note->plain &&
	    lzma_block_total_size(&b) == s->in.len;
	s->out.len = note->decoded ? (size_t)n : 0;
	return 0;
}

int
xz_parallel_join(void *job, struct slot *s, struct sink *out)
{
	struct xz_parallel *j = job;
	struct xz_notes *note = xz_notes(s);
	int rc = s->last ? -ENODATA : 0, wrote;

	if (!note->decoded || !xz_reader_skip(j->reader, note->unpadded,
	    note->plain))
		return xz_reader_join(j->reader, s, out);
	wrote = note->plain > 0 ? sink_slot(out, s) : 0;
	return wrote != 0 ? wrote : rc;
}

/*
 * xz_blocks.c - the blocks of an xz file, by the LZMA2 encoder of our own
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker makes a block; the joiner adds the headers and the index of the
 * stream.  Blocks are three times the size of the dictionary, as liblzma's
 * threads make them, and like these say in their headers how long they are.
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "xz_impl.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/lzma/lzma_encode.h"
#include "format/cutter.h"

#include <errno.h>
#include <string.h>

struct blocks_job {
	struct cutter cut;	/* first, for cutter_fill() */
	struct lzma2_params params;
	lzma_stream_flags flags;
	lzma_index *index;
	bool begun;
};

struct blocks_notes {
	uint64_t unpadded;	/* work: as the index has it; 0: no block */
	uint64_t plain;
};
SLOT_NOTES(blocks_notes)

static size_t
blocks_size(const struct codec_options *o)
{
	struct lzma2_params p;
	size_t n;

	lzma2_params_of(&p, (unsigned)o->level);
	n = o->block != 0 ? o->block : 3 * (size_t)p.dict_B;
	return o->block == 0 && n < 1 << 20 ? 1 << 20 : n;
}

bool
xz_blocks_can(const struct codec_options *o)
{
	const char *encoder = codec_text(o, "encoder");
	lzma_check check;

	/* liblzma has SHA-256 only for itself */
	return (encoder == NULL || strcmp(encoder, "liblzma") != 0) &&
	    codec_text(o, "filters") == NULL &&
	    codec_text(o, "block-list") == NULL &&
	    codec_number(o, "single-thread") == 0 &&
	    codec_number(o, "extreme") == 0 && o->flush_ms <= 0 &&
	    !o->rsyncable && !o->independent && xz_check_asked(o, &check) &&
	    check != LZMA_CHECK_SHA256 && blocks_size(o) <= LZMA2_BLOCK_MAX;
}

/* The most bytes that a block takes, with headers. */
static size_t
blocks_bound(size_t plain)
{
	return LZMA_BLOCK_HEADER_SIZE_MAX + lzma2_bound(plain) + 3 +
	    LZMA_CHECK_SIZE_MAX;
}

static int
blocks_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	struct lzma2_params params;

	(void)why;
	lzma2_params_of(&params, (unsigned)o->level);
	*p = (struct memory_plan){ .block = blocks_size(o),
	    /* one to read into; the input of a block is large */
	    .slots = o->threads + 1, .fixed_B = 2 << 20 };
	p->slot_B = p->block + blocks_bound(p->block);
	p->worker_B = lzma2_encoder_memory(&params, (uint32_t)p->block);
	return 0;
}

static void
blocks_close(void *job)
{
	struct blocks_job *j = job;

	if (j == NULL)
		return;
	lzma_index_end(j->index, NULL);
	cutter_close(&j->cut);
	sys_free(j);
}

static int
blocks_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, struct codec_notes *notes)
{
	struct blocks_job *j = sys_calloc(1, sizeof(*j));

	(void)notes;
	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	lzma2_params_of(&j->params, (unsigned)o->level);
	j->index = lzma_index_init(NULL);
	if (j->index == NULL || !xz_check_asked(o, &j->flags.check)) {
		blocks_close(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

static int
blocks_worker_open(void *job, void **ctx)
{
	const struct blocks_job *j = job;

	*ctx = lzma2_encoder_new(&j->params);
	return *ctx == NULL ? -ENOMEM : 0;
}

static void
blocks_worker_close(void *ctx)
{
	lzma2_encoder_free(ctx);
}

static int
blocks_work(void *job, void *ctx, struct slot *s)
{
	const struct blocks_job *j = job;
	struct blocks_notes *note = blocks_notes(s);
	lzma_options_lzma lzma = { .dict_size = j->params.dict_B };
	lzma_filter filters[] = { { LZMA_FILTER_LZMA2, &lzma },
	    { LZMA_VLI_UNKNOWN, NULL } };
	/* the header is as long as the longest block needs */
	lzma_block block = { .version = 1, .check = j->flags.check,
	    .filters = filters, .uncompressed_size = s->in.len,
	    .compressed_size = lzma2_bound(s->in.len) };
	lzma_ret r = lzma_block_header_size(&block);
	uint8_t *p;
	ssize_t n;
	int rc;

	/* an empty file, or the end of one that consists of whole blocks */
	if (s->in.len == 0)
		return 0;
	rc = buf_reserve(&s->out, blocks_bound(s->in.len));
	if (rc != 0 || r != LZMA_OK)
		return rc != 0 ? rc : xz_error(r);
	p = s->out.data + block.header_size;
	n = lzma2_encode(ctx, s->in.data, s->in.len, p,
	    lzma2_bound(s->in.len));
	if (n < 0)
		return (int)n;
	block.compressed_size = (lzma_vli)n;
	r = lzma_block_header_encode(&block, s->out.data);
	if (r != LZMA_OK)
		return xz_error(r);
	p += n;
	for (; (p - s->out.data) % 4 != 0; p++)
		*p = 0;
	if (block.check == LZMA_CHECK_CRC32)
		store_le32(p, lzma_crc32(s->in.data, s->in.len, 0));
	if (block.check == LZMA_CHECK_CRC64)
		store_le64(p, lzma_crc64(s->in.data, s->in.len, 0));
	p += lzma_check_size(block.check);
	s->out.len = (size_t)(p - s->out.data);
	note->unpadded = lzma_block_unpadded_size(&block);
	note->plain = s->in.len;
	return 0;
}

/* Writes the index and the footer. */
static int
blocks_end(struct blocks_job *j, struct sink *out)
{
	size_t len = (size_t)lzma_index_size(j->index), pos = 0;
	uint8_t edge[LZMA_STREAM_HEADER_SIZE], *p = sys_malloc(len);
	lzma_ret r;
	int rc;

	if (p == NULL)
		return -ENOMEM;
	r = lzma_index_buffer_encode(j->index, p, &pos, len);
	j->flags.backward_size = len;
	if (r == LZMA_OK)
		r = lzma_stream_footer_encode(&j->flags, edge);
	rc = xz_error(r);
	if (rc == 0)
		rc = sink_write(out, p, pos);
	if (rc == 0)
		rc = sink_write(out, edge, sizeof(edge));
	sys_free(p);
	return rc;
}

static int
blocks_join(void *job, struct slot *s, struct sink *out)
{
	struct blocks_job *j = job;
	const struct blocks_notes *note = blocks_notes(s);
	uint8_t edge[LZMA_STREAM_HEADER_SIZE];
	bool last = s->last;	/* sink_slot() takes s */
	int rc = 0;

	if (!j->begun) {
		rc = xz_error(lzma_stream_header_encode(&j->flags, edge));
		if (rc == 0)
			rc = sink_write(out, edge, sizeof(edge));
		j->begun = true;
	}
	if (rc == 0 && note->unpadded > 0)
		rc = xz_error(lzma_index_append(j->index, NULL,
		    note->unpadded, note->plain));
	if (rc == 0 && note->unpadded > 0)
		rc = sink_slot(out, s);
	return rc == 0 && last ? blocks_end(j, out) : rc;
}

const struct coder xz_blocks_encoder = {
	.plan = blocks_plan, .open = blocks_open, .close = blocks_close,
	.ops = { .fill = cutter_fill, .work = blocks_work,
	    .join = blocks_join, .worker_open = blocks_worker_open,
	    .worker_close = blocks_worker_close },
};

/*
 * xz_reader.c - decoding .xz streams with one thread
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * liblzma decodes the headers, indexes and footers.  Our decoder, which is
 * faster, decodes the blocks, unless they have other filters than LZMA2 or a
 * check other than a CRC; then liblzma decodes them, too.
 *
 * Source: the .xz file format, 1.1.0.
 */
#include "xz_reader.h"

#include "base/sys.h"
#include "engine/lzma/unlzma.h"
#include "xz_impl.h"

#include <errno.h>
#include <string.h>

enum place { STREAM_HEADER, BLOCK_HEADER, BLOCK, PADDING, CHECK, BLOCK_FOREIGN,
    INDEX, FOOTER, STREAM_PADDING };

struct xz_reader {
	enum place place;
	uint64_t limit;
	uint32_t flags;
	struct codec_notes *notes;
	uint64_t beside;		/* memory that is used elsewhere */
	bool ended;

	uint8_t head[LZMA_BLOCK_HEADER_SIZE_MAX];
	size_t have;			/* bytes in head */
	size_t padding;			/* bytes of stream padding, modulo 4 */

	lzma_stream_flags stream;
	lzma_index_hash *index;
	lzma_block block;
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	uint64_t packed, plain;		/* bytes of this block */
	uint64_t check;
	lzma_stream foreign;		/* decodes what is not for unlzma */
	struct unlzma *unlzma;
};

int
xz_reader_open(struct xz_reader **out, uint64_t limit, uint32_t flags,
    struct codec_notes *notes, uint64_t beside)
{
	struct xz_reader *r = sys_calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return -ENOMEM;
	rc = unlzma_open(&r->unlzma);
	if (rc != 0) {
		sys_free(r);
		return rc;
	}
	r->limit = limit;
	r->flags = flags;
	r->notes = notes;
	r->beside = beside;
	r->filters[0].id = LZMA_VLI_UNKNOWN;
	*out = r;
	return 0;
}

void
xz_reader_close(void *job)
{
	struct xz_reader *r = job;

	if (r == NULL)
		return;
	lzma_filters_free(r->filters, NULL);
	lzma_index_hash_end(r->index, NULL);
	lzma_end(&r->foreign);
	unlzma_close(r->unlzma);
	sys_free(r);
}

/* Collects `want` bytes in head.  Returns whether they are complete. */
static bool
collect(struct xz_reader *r, struct unlzma_io *io, size_t want)
{
	size_t n = want - r->have;

	if (n > io->in_len)
		n = io->in_len;
	memcpy(r->head + r->have, io->in, n);
	r->have += n;
	io->in += n;
	io->in_len -= n;
	if (r->have < want)
		return false;
	r->have = 0;
	return true;
}

static int
begin_stream(struct xz_reader *r)
{
	lzma_ret rc = lzma_stream_header_decode(&r->stream, r->head);

	if (rc != LZMA_OK)
		return xz_error(rc);
	r->notes->unchecked |= !lzma_check_is_supported(r->stream.check);
	/* keeps the memory, and starts anew */
	r->index = lzma_index_hash_init(r->index, NULL);
	r->place = BLOCK_HEADER;
	return r->index == NULL ? -ENOMEM : 0;
}

static int
begin_block(struct xz_reader *r)
{
	lzma_ret rc;
	uint64_t need;

	lzma_filters_free(r->filters, NULL);
	r->block = (lzma_block){ .version = 1, .check = r->stream.check,
	    .header_size = lzma_block_header_size_decode(r->head[0]),
	    .filters = r->filters };
	rc = lzma_block_header_decode(&r->block, NULL, r->head);
	if (rc != LZMA_OK) {
		r->filters[0].id = LZMA_VLI_UNKNOWN;
		return xz_error(rc);
	}
	r->block.ignore_check = (r->flags & LZMA_IGNORE_CHECK) != 0;
	need = lzma_raw_decoder_memusage(r->filters);
	if (need == UINT64_MAX)
		return -ENOTSUP;
	if (need > r->limit) {
		r->notes->need = need + r->beside;
		return -EFBIG;
	}
	r->packed = r->plain = r->check = 0;
	if (!xz_is_ours(&r->block)) {
		r->place = BLOCK_FOREIGN;
		return xz_error(lzma_block_decoder(&r->foreign, &r->block));
	}
	if (lzma_block_unpadded_size(&r->block) == 0)
		return -EBADMSG;
	r->place = BLOCK;
	return unlzma_start(r->unlzma, xz_lzma2_dictionary(r->filters));
}

static int
block_bytes(struct xz_reader *r, struct unlzma_io *io, struct sink *out)
{
	lzma_block *b = &r->block;
	const uint8_t *before = io->in;
	int rc = unlzma_run(r->unlzma, io), wrote;

	r->packed += (uint64_t)(io->in - before);
	if (b->uncompressed_size != LZMA_VLI_UNKNOWN &&
	    io->out_len > b->uncompressed_size - r->plain) {
		io->out_len = (size_t)(b->uncompressed_size - r->plain);
		rc = -EBADMSG;
	}
	r->plain += io->out_len;
	r->check = xz_check_add(b, r->check, io->out, io->out_len);
	wrote = sink_write(out, io->out, io->out_len);
	if (wrote != 0)
		return wrote;
	if (rc == STREAM_MORE && b->compressed_size != LZMA_VLI_UNKNOWN &&
	    r->packed >= b->compressed_size)
		return -EBADMSG;
	if (rc != STREAM_END)
		return rc;
	if ((b->compressed_size != LZMA_VLI_UNKNOWN &&
	    b->compressed_size != r->packed) ||
	    (b->uncompressed_size != LZMA_VLI_UNKNOWN &&
	    b->uncompressed_size != r->plain))
		return -EBADMSG;
	b->compressed_size = r->packed;
	b->uncompressed_size = r->plain;
	r->place = PADDING;
	return 0;
}

/* Adds a block to the index to be compared. */
static int
block_end(struct xz_reader *r)
{
	r->place = BLOCK_HEADER;
	return xz_error(lzma_index_hash_append(r->index,
	    lzma_block_unpadded_size(&r->block), r->block.uncompressed_size));
}

bool
xz_reader_skip(struct xz_reader *r, uint64_t unpadded, uint64_t plain)
{
	return r->place == BLOCK_HEADER && r->have == 0 &&
	    lzma_index_hash_append(r->index, unpadded, plain) == LZMA_OK;
}

static int
block_check(struct xz_reader *r)
{
	if (!xz_check_is(&r->block, r->check, r->head))
		return -EBADMSG;
	return block_end(r);
}

static int
block_foreign(struct xz_reader *r, struct unlzma_io *io, struct sink *out)
{
	size_t room;
	lzma_ret rc;
	int err;

	r->foreign.next_out = sink_space(out, &room, &err);
	if (r->foreign.next_out == NULL)
		return err;
	r->foreign.avail_out = room;
	r->foreign.next_in = io->in;
	r->foreign.avail_in = io->in_len;
	rc = lzma_code(&r->foreign, io->eof ? LZMA_FINISH : LZMA_RUN);
	sink_advance(out, room - r->foreign.avail_out);
	io->in = r->foreign.next_in;
	io->in_len = r->foreign.avail_in;
	/* all input was taken, and there is no output left */
	if (rc == LZMA_BUF_ERROR && !io->eof)
		return -EAGAIN;
	return rc == LZMA_STREAM_END ? block_end(r) : xz_error(rc);
}

static int
index_bytes(struct xz_reader *r, struct unlzma_io *io)
{
	size_t used = 0;
	lzma_ret rc = lzma_index_hash_decode(r->index, io->in, &used,
	    io->in_len);

	io->in += used;
	io->in_len -= used;
	if (rc == LZMA_STREAM_END)
		r->place = FOOTER;
	return xz_error(rc);
}

static int
end_stream(struct xz_reader *r)
{
	lzma_stream_flags flags;
	lzma_ret rc = lzma_stream_footer_decode(&flags, r->head);

	if (rc != LZMA_OK)
		return xz_error(rc);
	if (lzma_index_hash_size(r->index) != flags.backward_size)
		return -EBADMSG;
	rc = lzma_stream_flags_compare(&r->stream, &flags);
	if (rc != LZMA_OK)
		return xz_error(rc);
	r->place = STREAM_PADDING;
	r->padding = 0;
	return r->flags & LZMA_CONCATENATED ? 0 : STREAM_END;
}

/* Returns 0, -EAGAIN if more input is needed, STREAM_END, or -errno. */
static int
step(struct xz_reader *r, struct unlzma_io *io, struct sink *out)
{
	size_t check_size;

	switch (r->place) {
	case STREAM_HEADER:
		return collect(r, io, LZMA_STREAM_HEADER_SIZE) ?
		    begin_stream(r) : -EAGAIN;
	case BLOCK_HEADER:
		if (r->have == 0 && io->in_len == 0)
			return -EAGAIN;
		if (r->have == 0 && io->in[0] == 0) {
			r->place = INDEX;
			return 0;
		}
		return collect(r, io, lzma_block_header_size_decode(
		    r->have > 0 ? r->head[0] : io->in[0])) ?
		    begin_block(r) : -EAGAIN;
	case BLOCK:
		return block_bytes(r, io, out);
	case BLOCK_FOREIGN:
		return block_foreign(r, io, out);
	case PADDING:
		for (; r->packed % 4 != 0; r->packed++) {
			if (io->in_len == 0)
				return -EAGAIN;
			if (*io->in != 0)
				return -EBADMSG;
			io->in++;
			io->in_len--;
		}
		r->place = CHECK;
		return 0;
	case CHECK:
		check_size = lzma_check_size(r->stream.check);
		return collect(r, io, check_size) ? block_check(r) : -EAGAIN;
	case INDEX:
		if (io->in_len == 0)
			return -EAGAIN;
		return index_bytes(r, io);
	case FOOTER:
		return collect(r, io, LZMA_STREAM_HEADER_SIZE) ?
		    end_stream(r) : -EAGAIN;
	case STREAM_PADDING:
		for (; io->in_len > 0 && *io->in == 0; io->in_len--) {
			io->in++;
			r->padding = (r->padding + 1) % 4;
		}
		if (io->in_len == 0)
			return -EAGAIN;
		r->place = STREAM_HEADER;
		return r->padding == 0 ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

int
xz_reader_join(void *job, struct slot *s, struct sink *out)
{
	struct xz_reader *r = job;
	struct unlzma_io io = { .in = s->in.data, .in_len = s->in.len,
	    .eof = s->last };
	int rc = r->ended ? STREAM_END : 0;

	while (rc == 0) {
		rc = step(r, &io, out);
		/* a block is done with the input when there is no output */
		if (rc == 0 && r->place == BLOCK && io.in_len == 0 &&
		    io.out_len == 0 && !io.eof)
			rc = -EAGAIN;
	}
	if (rc == -EAGAIN && !io.eof)
		return 0;
	if (rc == -EAGAIN)
		rc = r->place != STREAM_PADDING ? -ENODATA :
		    r->padding != 0 ? -EBADMSG : STREAM_END;
	r->ended = rc == STREAM_END;
	return r->ended ? 0 : rc;
}

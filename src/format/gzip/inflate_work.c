/*
 * inflate_work.c - pieces of gzip, zlib and zip, as workers decode them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A piece is decoded as what the reader thought it to be.  If it is not, it
 * is left to the joiner, and only memory that is lacking is an error.
 */
#include "deflate_decode.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "engine/deflate/inflate_piece.h"
#include "gzip.h"

#include <errno.h>
#include <libdeflate.h>

struct worker {
	struct piece_inflater *piece;
	struct libdeflate_decompressor *whole;
};

void
inflate_worker_close(void *ctx)
{
	struct worker *w = ctx;

	piece_inflater_close(w->piece);
	libdeflate_free_decompressor(w->whole);
	sys_free(w);
}

int
inflate_worker_open(void *job, void **ctx)
{
	struct worker *w = sys_calloc(1, sizeof(*w));

	(void)job;
	if (w == NULL)
		return -ENOMEM;
	w->whole = libdeflate_alloc_decompressor();
	if (w->whole == NULL || piece_inflater_open(&w->piece) != 0) {
		inflate_worker_close(w);
		return -ENOMEM;
	}
	*ctx = w;
	return 0;
}

size_t
inflate_most(const struct inflate_job *j, int kind)
{
	if (kind == PIECE_MEMBERS)
		return MEMBERS_OUT + MEMBER_MAX;
	return j->reader.block != 0 ? j->reader.block : UNMARKED_OUT;
}

static int
work_sync(struct inflate_job *j, struct worker *w, struct slot *s)
{
	size_t cap = inflate_most(j, PIECE_SYNC);
	struct inflated r;

	if (buf_reserve(&s->out, cap + PIECE_OUT_SPARE) != 0)
		return -ENOMEM;
	if (inflate_piece(w->piece, s->in.data + s->skip,
	    s->in.len - s->skip, s->out.data, cap, &r) != 0)
		return 0;
	s->ok = true;
	s->used = r.used;
	s->final = r.final;
	s->out.len = r.made;
	return 0;
}

/* Every member must end where its header says, and leave nothing over. */
static int
work_members(const struct inflate_job *j, struct worker *w, struct slot *s)
{
	size_t pos = 0, most = inflate_most(j, PIECE_MEMBERS);

	while (pos < s->used) {
		const uint8_t *p = s->in.data + pos;
		struct gzip_header h;
		size_t made, used, want;

		if (gzip_header_parse(&h, p, s->used - pos) != 1 ||
		    h.member > s->used - pos)
			return 0;
		want = load_le32(p + h.member - 4);
		if (want > most)
			return 0;
		if (buf_reserve(&s->out, s->out.len + want + 1) != 0)
			return -ENOMEM;
		if (libdeflate_gzip_decompress_ex(w->whole, p, h.member,
		    s->out.data + s->out.len, want, &used, &made) !=
		    LIBDEFLATE_SUCCESS || used != h.member)
			return 0;
		s->out.len += made;
		pos += used;
	}
	s->ok = s->used > 0;
	s->final = true;
	return 0;
}

int
inflate_work(void *job, void *ctx, struct slot *s)
{
	struct inflate_job *j = job;
	int rc = 0;

	if (s->kind == PIECE_SYNC)
		rc = work_sync(j, ctx, s);
	else if (s->kind == PIECE_MEMBERS)
		rc = work_members(j, ctx, s);
	if (s->ok && s->kind == PIECE_SYNC)
		s->check = j->wrap->check->add(j->wrap->check->start,
		    s->out.data, s->out.len);
	if (!s->ok)
		s->out.len = 0;
	return rc;
}

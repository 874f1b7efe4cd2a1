/*
 * inflate_work.c - pieces of gzip, zlib and zip, as workers decode them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A piece is decoded as what the reader thought it to be.  If it is not, it
 * is left to the joiner, and only memory that is lacking is an error.
 */
#include "deflate_decode.h"

#include "base/bytes.h"
#include "gzip.h"

#include <errno.h>
#include <libdeflate.h>

void
inflate_worker_close(void *ctx)
{
	inflater_close(ctx);
}

int
inflate_worker_open(void *job, void **ctx)
{
	struct inflater *f;
	int rc = inflater_open(&f);

	(void)job;
	if (rc == 0)
		*ctx = f;
	return rc;
}

size_t
inflate_most(const struct inflate_job *j, int kind)
{
	if (kind == PIECE_MEMBERS)
		return MEMBERS_OUT + MEMBER_MAX;
	return j->reader.block != 0 ? j->reader.block : UNMARKED_OUT;
}

static int
work_sync(struct inflate_job *j, struct inflater *f, struct slot *s)
{
	size_t cap = inflate_most(j, PIECE_SYNC);
	struct inflated r;

	if (buf_reserve(&s->out, cap + INFLATER_SPARE) != 0)
		return -ENOMEM;
	if (inflater_piece(f, s->in.data + s->skip,
	    s->in.len - s->skip, s->out.data, cap, &r) != 0)
		return 0;
	s->ok = true;
	s->used = r.used;
	s->final = r.final;
	s->out.len = r.made;
	return 0;
}

/* The member at p: 1 if it is whole and right, else 0, or -ENOMEM. */
static int
work_member(struct inflater *f, const uint8_t *p, const struct gzip_header *h,
    size_t most, struct slot *s)
{
	const uint8_t *trailer = p + h->member - GZIP_TRAILER;
	size_t want = load_le32(trailer + 4), body;
	struct inflated r;
	uint8_t *out;

	if (h->member < h->len + GZIP_TRAILER || want > most)
		return 0;
	if (buf_reserve(&s->out, s->out.len + want + INFLATER_SPARE) != 0)
		return -ENOMEM;
	out = s->out.data + s->out.len;
	body = h->member - h->len - GZIP_TRAILER;
	if (inflater_piece(f, p + h->len, body, out, want, &r) != 0 ||
	    !r.final || r.used != body || r.made != want ||
	    libdeflate_crc32(0, out, want) != load_le32(trailer))
		return 0;
	s->out.len += want;
	return 1;
}

/* Every member must end where its header says, and leave nothing over. */
static int
work_members(const struct inflate_job *j, struct inflater *f, struct slot *s)
{
	size_t pos = 0, most = inflate_most(j, PIECE_MEMBERS);

	while (pos < s->used) {
		const uint8_t *p = s->in.data + pos;
		struct gzip_header h;
		int rc;

		if (gzip_header_parse(&h, p, s->used - pos) != 1 ||
		    h.member > s->used - pos)
			return 0;
		rc = work_member(f, p, &h, most, s);
		if (rc != 1)
			return rc;
		pos += h.member;
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

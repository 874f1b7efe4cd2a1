/*
 * inflate_work.c - decoding gzip, zlib and zip pieces in the workers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A piece is decoded as the type that the reader presumed.  If that fails, the
 * joiner decodes it; only a lack of memory is an error.
 */
#include "deflate_decode.h"

#include "base/bytes.h"
#include "format/gzip/gzip.h"

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
		return j->reader.member_max < MEMBER_MAX ? MEMBERS_OUT :
		    MEMBERS_OUT + MEMBER_MAX;
	return j->reader.block != 0 ? j->reader.block : UNMARKED_OUT;
}

static int
work_sync(struct inflate_job *j, struct inflater *f, struct slot *s)
{
	struct inflate_notes *note = inflate_notes(s);
	size_t cap = inflate_most(j, PIECE_SYNC);
	struct inflated r;

	if (buf_reserve(&s->out, cap + INFLATER_SPARE) != 0)
		return -ENOMEM;
	if (inflater_piece(f, s->in.data + note->skip,
	    s->in.len - note->skip, s->out.data, cap, &r) != 0)
		return 0;
	note->ok = true;
	note->used = r.used;
	note->final = r.final;
	note->check = j->wrap->check->add(j->wrap->check->start,
	    s->out.data, r.made);
	s->out.len = r.made;
	return 0;
}

/*
 * Decodes the member at p.  Returns its length if it is complete and valid,
 * otherwise 0.
 */
static size_t
work_member(struct inflater *f, const uint8_t *p, size_t len, size_t cap,
    struct slot *s)
{
	uint8_t *out = s->out.data + s->out.len;
	struct gzip_header h;
	struct inflated r;

	if (gzip_header_parse(&h, p, len) != 1 ||
	    inflater_piece(f, p + h.len, len - h.len, out,
	    cap - s->out.len, &r) != 0 || !r.final)
		return 0;
	r.used += h.len;
	if (len - r.used < GZIP_TRAILER ||
	    load_le32(p + r.used) != libdeflate_crc32(0, out, r.made) ||
	    load_le32(p + r.used + 4) != (uint32_t)r.made)
		return 0;
	s->out.len += r.made;
	return r.used + GZIP_TRAILER;
}

/*
 * Decodes members, which must make up the whole piece and match their trailers.
 */
static int
work_members(const struct inflate_job *j, struct inflater *f, struct slot *s)
{
	struct inflate_notes *note = inflate_notes(s);
	size_t pos = 0;

	if (note->most > inflate_most(j, PIECE_MEMBERS))
		return 0;
	if (buf_reserve(&s->out, note->most + INFLATER_SPARE) != 0)
		return -ENOMEM;
	while (pos < note->used) {
		size_t n = work_member(f, s->in.data + pos, note->used - pos,
		    note->most, s);

		if (n == 0)
			return 0;
		pos += n;
	}
	note->ok = note->used > 0;
	note->final = true;
	return 0;
}

int
inflate_work(void *job, void *ctx, struct slot *s)
{
	struct inflate_job *j = job;
	int rc = 0;

	if (inflate_notes(s)->kind == PIECE_SYNC)
		rc = work_sync(j, ctx, s);
	else if (inflate_notes(s)->kind == PIECE_MEMBERS)
		rc = work_members(j, ctx, s);
	if (!inflate_notes(s)->ok)
		s->out.len = 0;
	return rc;
}

/*
 * deflate_decode.c - decompressing gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The joiner has the truth: a machine that has consumed every byte up to some
 * point, and knows there whether it stands in a header, within a deflate
 * block, between two blocks, in a trailer or between members.  Where it
 * stands between blocks, or before a member, and the next piece was decoded
 * from its first byte by a worker, it takes the worker's result; otherwise it
 * decodes the piece itself.  So a false sync point, a stream whose blocks
 * depend on each other or a length that lies costs the time of one try.
 */
#include "deflate_decode.h"

#include "bytes.h"
#include "formats.h"
#include "gzip.h"
#include "inflate_piece.h"
#include "sys.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

enum { HEADER_MAX = 1 << 20 };

enum state { HEAD, BODY, TRAILER, BETWEEN, PADDING, REST };

struct job {
	struct deflate_reader reader;
	const struct deflate_unwrap *wrap;
	struct codec_notes *notes;
	atomic_llong debt;

	enum state state;
	struct buf held;		/* a header or trailer so far */
	uint32_t check;
	uint64_t total;			/* output of this member */
	struct inflater *inflater;
	bool inflating;			/* within a block, by inflater */
	bool checking;			/* the sink has the check */
	bool any;			/* a member has ended */
	bool front;			/* the trailer was in the header */
	uint8_t trailer[8];		/* then */
};

/* Workers */

struct worker {
	struct piece_inflater *piece;
	struct libdeflate_decompressor *whole;
};

static void
worker_close(void *ctx)
{
	struct worker *w = ctx;

	piece_inflater_close(w->piece);
	libdeflate_free_decompressor(w->whole);
	sys_free(w);
}

static int
worker_open(void *job, void **ctx)
{
	struct worker *w = sys_calloc(1, sizeof(*w));

	(void)job;
	if (w == NULL)
		return -ENOMEM;
	w->whole = libdeflate_alloc_decompressor();
	if (w->whole == NULL || piece_inflater_open(&w->piece) != 0) {
		worker_close(w);
		return -ENOMEM;
	}
	*ctx = w;
	return 0;
}

/* What a worker makes of a piece at most. */
static size_t
most_output(const struct job *j, int kind)
{
	if (kind == PIECE_MEMBERS)
		return MEMBERS_OUT + MEMBER_MAX;
	return j->reader.block != 0 ? j->reader.block : UNMARKED_OUT;
}

static int
work_sync(struct job *j, struct worker *w, struct slot *s)
{
	size_t cap = most_output(j, PIECE_SYNC);
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
work_members(const struct job *j, struct worker *w, struct slot *s)
{
	size_t pos = 0, most = most_output(j, PIECE_MEMBERS);

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

static int
work(void *job, void *ctx, struct slot *s)
{
	struct job *j = job;
	int rc = 0;

	if (s->kind == PIECE_SYNC)
		rc = work_sync(j, ctx, s);
	else if (s->kind == PIECE_MEMBERS)
		rc = work_members(j, ctx, s);
	if (s->ok && s->kind == PIECE_SYNC)
		s->check = j->wrap->check(j->wrap->check_start, s->out.data,
		    s->out.len);
	if (!s->ok)
		s->out.len = 0;
	return rc;
}

/* Joiner */

static int
hold(struct job *j, const uint8_t *p, size_t len)
{
	size_t need = j->held.len + len;
	int rc = need <= j->held.cap ? 0 :
	    buf_reserve(&j->held, need < 512 ? 512 : 2 * need);

	if (rc == 0) {
		memcpy(j->held.data + j->held.len, p, len);
		j->held.len += len;
	}
	return rc;
}

/* These take what they need of the len bytes at p: a number, or -errno. */

static ssize_t
take_head(struct job *j, const uint8_t *p, size_t len)
{
	size_t before = j->held.len;
	int rc = hold(j, p, len < HEADER_MAX ? len : HEADER_MAX);
	ssize_t n;

	if (rc != 0)
		return rc;
	n = j->wrap->head(j->held.data, j->held.len);
	if (n < 0 && j->any && j->held.len > 1 && j->held.data[1] != 0x8b) {
		j->notes->trailing_garbage = true;
		j->state = REST;
		return (ssize_t)len;
	}
	if (n < 0)
		return n;
	if (n > 0 && j->wrap->front != NULL)
		j->front = j->wrap->front(j->held.data, j->trailer);
	if (n == 0)
		return j->held.len > HEADER_MAX ? -EBADMSG :
		    (ssize_t)(j->held.len - before);
	j->held.len = 0;
	j->state = BODY;
	j->check = j->wrap->check_start;
	j->total = 0;
	inflater_start(j->inflater);
	return n - (ssize_t)before;
}

static ssize_t
take_trailer(struct job *j, const uint8_t *p, size_t len)
{
	size_t want = j->front ? 0 : j->wrap->trailer - j->held.len;
	size_t n = want < len ? want : len;
	int rc = hold(j, p, n);

	if (rc != 0 || n < want)
		return rc != 0 ? rc : (ssize_t)n;
	rc = j->wrap->verify(j->front ? j->trailer : j->held.data, j->check,
	    j->total);
	j->held.len = 0;
	j->any = true;
	j->state = j->wrap->ignore_rest ? REST : BETWEEN;
	return rc != 0 ? rc : (ssize_t)n;
}

/* Behind a member: another one, zeros to the end, or something to ignore. */
static ssize_t
take_between(struct job *j, const uint8_t *p, size_t len)
{
	size_t n = 0;

	if (j->state == BETWEEN && j->wrap->members && p[0] == 0x1f) {
		j->state = HEAD;
		return 0;
	}
	while (n < len && p[n] == 0)
		n++;
	j->state = PADDING;
	if (n < len) {
		j->notes->trailing_garbage = true;
		j->state = REST;
	}
	return (ssize_t)len;
}

static ssize_t
take(struct job *j, const uint8_t *p, size_t len)
{
	switch (j->state) {
	case HEAD:
		return take_head(j, p, len);
	case TRAILER:
		return take_trailer(j, p, len);
	case REST:
		return (ssize_t)len;
	default:
		return take_between(j, p, len);
	}
}

/* What the inflater had taken in beyond the end: at most a trailer's bytes. */
static int
take_unused(struct job *j)
{
	uint8_t unused[8];
	size_t len = inflater_unused(j->inflater, unused);

	for (size_t pos = 0; pos < len;) {
		ssize_t n = take(j, unused + pos, len - pos);

		if (n < 0)
			return (int)n;
		pos += (size_t)n;
	}
	return 0;
}

/* The check of what the inflater makes, taken back from the sink. */
static void
end_check(struct job *j, struct sink *out)
{
	if (j->checking)
		j->check = sink_check_end(out);
	j->checking = false;
}

static int
take_body(struct job *j, struct stream_io *io, struct sink *out)
{
	size_t room, made;
	int rc = 0;

	j->inflating = true;
	if (!j->checking)
		sink_check_begin(out, j->wrap->check, j->check);
	j->checking = true;
	io->out = sink_space(out, &room, &rc);
	if (io->out == NULL)
		return rc;
	io->out_len = room;
	rc = inflater_run(j->inflater, io);
	if (rc < 0)
		return rc;
	made = room - io->out_len;
	j->total += made;
	sink_advance(out, made);
	if (rc == STREAM_END) {
		end_check(j, out);
		j->state = TRAILER;
		j->inflating = false;
		return take_unused(j);
	}
	return 0;
}

/* The serial way: everything, byte by byte as far as need be. */
static int
feed(struct job *j, const uint8_t *p, size_t len, struct sink *out)
{
	struct stream_io io = { .in = p, .in_len = len, .out_len = 1 };
	ssize_t n;

	/* a full buffer may hide output whose input is all taken */
	while (io.in_len > 0 || (j->inflating && io.out_len == 0)) {
		if (j->state == BODY) {
			int rc = take_body(j, &io, out);

			if (rc != 0)
				return rc;
			continue;
		}
		n = take(j, io.in, io.in_len);
		if (n < 0)
			return (int)n;
		io.in += n;
		io.in_len -= (size_t)n;
	}
	if (j->inflating && inflater_at_boundary(j->inflater))
		j->inflating = false;
	return 0;
}

/* Whether the machine stands where the piece's unit was thought to begin. */
static bool
accepts(const struct job *j, const struct slot *s)
{
	if (!s->ok)
		return false;
	if (s->kind == PIECE_MEMBERS)
		return (j->state == HEAD || j->state == BETWEEN) &&
		    j->held.len == 0;
	return j->state == BODY && !j->inflating;
}

/* Takes a worker's result; what is behind the unit is fed afterwards. */
static int
accept(struct job *j, struct slot *s, struct sink *out)
{
	uint8_t rest[64];
	size_t at = s->skip + s->used, len = s->in.len - at;
	int rc;

	if (s->kind == PIECE_MEMBERS) {
		j->state = BETWEEN;
		j->any = true;
	} else {
		end_check(j, out);
		j->check = j->wrap->combine(j->check, s->check,
		    (off_t)s->out.len);
		j->total += s->out.len;
		inflater_saw(j->inflater, s->out.data, s->out.len);
		if (s->final)
			j->state = TRAILER;
	}
	if (len > sizeof(rest)) {
		rc = sink_write(out, s->out.data, s->out.len);
		return rc != 0 ? rc : feed(j, s->in.data + at, len, out);
	}
	memcpy(rest, s->in.data + at, len);
	rc = sink_slot(out, s);
	return rc != 0 ? rc : feed(j, rest, len, out);
}

/* All input is in: is it a good place to end? */
static int
at_end(const struct job *j)
{
	return j->state == BETWEEN || j->state == PADDING ||
	    j->state == REST ? 0 : -ENODATA;
}

/* What the piece cost in vain, or earned. */
static void
account(struct job *j, const struct slot *s, bool accepted)
{
	long long debt = atomic_load(&j->debt), len = (long long)s->in.len;

	if (accepted || s->kind == PIECE_PLAIN)
		debt -= debt < len ? debt : len;
	else
		debt += len + (long long)most_output(j, s->kind);
	atomic_store(&j->debt, debt);
}

static int
join(void *job, struct slot *s, struct sink *out)
{
	struct job *j = job;
	bool last = s->last, accepted;
	int rc = 0;

	if (s->skip > 0)
		rc = feed(j, s->in.data, s->skip, out);
	if (rc != 0)
		return rc;
	accepted = accepts(j, s);
	account(j, s, accepted);
	rc = accepted ? accept(j, s, out) :
	    feed(j, s->in.data + s->skip, s->in.len - s->skip, out);
	return rc == 0 && last ? at_end(j) : rc;
}

static void
close_job(void *job)
{
	struct job *j = job;

	if (j == NULL)
		return;
	inflater_close(j->inflater);
	carry_close(&j->reader.carry);
	sys_free(j->held.data);
	sys_free(j);
}

static int
open_job(void **job, const struct deflate_unwrap *wrap,
    struct codec_notes *notes)
{
	struct job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->wrap = wrap;
	j->notes = notes;
	j->reader.debt = &j->debt;
	if (inflater_open(&j->inflater) != 0) {
		close_job(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

static int
fill(void *job, struct input *in, struct slot *s)
{
	struct job *j = job;

	return deflate_scan(&j->reader, in, s);
}

static int
plan(const struct codec_options *o, struct plan *p, const char **why)
{
	(void)why;
	*p = (struct plan){ .slots = pipeline_slots(o->threads),
	    .slot_B = UNMARKED_OUT + PLAIN_LEN, .worker_B = 128 << 10,
	    .fixed_B = 1 << 20 };
	return 0;
}

static int
open_gzip(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	(void)o;
	(void)p;
	return open_job(job, &unwrap_gzip, notes);
}

static int
open_gzip_part(void **job, const struct codec_options *o,
    const struct plan *p, struct codec_notes *notes)
{
	(void)o;
	(void)p;
	return open_job(job, &unwrap_gzip_part, notes);
}

static int
open_zlib(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	(void)o;
	(void)p;
	return open_job(job, &unwrap_zlib, notes);
}

static int
open_zip(void **job, const struct codec_options *o, const struct plan *p,
    struct codec_notes *notes)
{
	(void)o;
	(void)p;
	return open_job(job, &unwrap_zip, notes);
}

#define DECODE_OPS { .fill = fill, .work = work, .join = join,		\
    .worker_open = worker_open, .worker_close = worker_close }

const struct coder gzip_decoder = { .plan = plan, .open = open_gzip,
    .close = close_job, .ops = DECODE_OPS };
const struct coder gzip_part_decoder = { .plan = plan,
    .open = open_gzip_part, .close = close_job, .ops = DECODE_OPS };
const struct coder zlib_decoder = { .plan = plan, .open = open_zlib,
    .close = close_job, .ops = DECODE_OPS };
const struct coder zip_decoder = { .plan = plan, .open = open_zip,
    .close = close_job, .ops = DECODE_OPS };

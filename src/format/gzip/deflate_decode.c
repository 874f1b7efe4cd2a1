/*
 * deflate_decode.c - decompressing gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The formats differ in the header and trailer around the deflate stream, and
 * in the checksum: struct deflate_unwrap.  A worker decodes a piece as the type
 * that the reader presumed.  If that fails, the joiner decodes it; only a lack
 * of memory is an error.
 *
 * The joiner is a state machine that has consumed every byte up to the current
 * position, and knows whether that is in a header, within a deflate block,
 * between two blocks, in a trailer or between members.  Between blocks, or
 * before a member, it uses the worker's result if the next piece was decoded
 * from its first byte; otherwise it decodes the piece itself.  A false sync
 * point, a stream whose blocks depend on each other, or a wrong length
 * therefore only costs the time of one attempt.
 *
 * Sources: RFC 1952, RFC 1950, PKWARE's APPNOTE.TXT 6.3.10 (4.3.7, 4.3.9).
 */
#include "deflate_scan.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "deflate_codec.h"
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

enum {
	SINK = 3 << 19,		/* the pipeline's output buffers */
	HEADER_MAX = 1 << 20
};

/* The contents of a header. */
struct deflate_head {
	bool front;		/* the header contains the trailer's values */
	uint8_t trailer[8];	/* valid if front */
	bool stored;		/* stored: `left` bytes, not deflated */
	uint64_t left;
	const char *why;	/* reason for -ENOTSUP, or for a later -EBADMSG;
				 * or NULL */
};

/* How the header and the trailer around a deflate stream are read. */
struct deflate_unwrap {
	/*
	 * Returns the length of the header at p, 0 if more than len bytes are
	 * needed, -EBADMSG or -ENOTSUP.  Fills in h, which must be zeroed.
	 */
	ssize_t (*head)(const uint8_t *p, size_t len, struct deflate_head *h);

	/* The trailer's length; verify() returns 0 or -EBADMSG. */
	size_t trailer;
	int (*verify)(const uint8_t *trailer, uint32_t check, uint64_t total);

	const struct deflate_check *check;
	bool members;		/* other members or zeros may follow */
	bool ignore_rest;	/* a directory follows */
};

struct inflate_job {
	struct deflate_reader reader;
	const struct deflate_unwrap *wrap;
	struct codec_notes *notes;
	atomic_llong debt;		/* cost of wrong guesses, in bytes */

	/* used only by the joiner */
	int state;
	struct buf held;		/* the part of a header or trailer
					 * read so far */
	uint32_t check;
	uint64_t total;			/* output of the current member */
	struct inflater *inflater;
	bool inflating;			/* inside a block, using inflater */
	bool checking;			/* the sink computes the check */
	bool any;			/* a member has ended */
	bool copy_rest;
	struct deflate_head head;	/* header of the current member */
};

/* Headers and trailers */

static ssize_t
gzip_head(const uint8_t *p, size_t len, struct deflate_head *unused)
{
	struct gzip_header h;
	int rc = gzip_header_parse(&h, p, len);

	(void)unused;
	return rc == 1 ? (ssize_t)h.len : rc;
}

static int
gzip_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	return load_le32(t) == check && load_le32(t + 4) == (uint32_t)total ?
	    0 : -EBADMSG;
}

static const struct deflate_unwrap unwrap_gzip = {
	.head = gzip_head, .trailer = GZIP_TRAILER, .verify = gzip_verify,
	.check = &check_crc32,
	.members = true,
};

static int
part_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)check;
	return load_le32(t + 4) == (uint32_t)total ? 0 : -EBADMSG;
}

/* The CRC is not known. */
static const struct deflate_unwrap unwrap_gzip_part = {
	.head = gzip_head, .trailer = GZIP_TRAILER, .verify = part_verify,
	.check = &check_crc32,
};

static ssize_t
zlib_head(const uint8_t *p, size_t len, struct deflate_head *h)
{
	if (len < 2)
		return 0;
	if ((p[0] & 15) != 8 || p[0] >> 4 > 7 || load_be16(p) % 31 != 0)
		return -EBADMSG;
	h->why = "the stream needs a preset dictionary";
	return p[1] & 0x20 ? -ENOTSUP : 2;
}

static int
zlib_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)total;
	return load_be32(t) == check ? 0 : -EBADMSG;
}

static const struct deflate_unwrap unwrap_zlib = {
	.head = zlib_head, .trailer = 4, .verify = zlib_verify,
	.check = &check_adler32,
};

enum {
	ZIP_LOCAL = 30,
	ZIP_ENCRYPTED = 1, ZIP_DESCRIPTOR = 8,	/* flags */
	ZIP_STORED = 0, ZIP_DEFLATED = 8	/* methods */
};

/*
 * Parses the first entry of an archive.  Its checksum is in its header, or in a
 * descriptor after it, as in all archives written to a pipe.  Deflated data
 * contains an end marker; the length of stored data must be in the header.
 */
static ssize_t
zip_head(const uint8_t *p, size_t len, struct deflate_head *h)
{
	uint16_t method, name, flags;
	size_t n;

	if (len < ZIP_LOCAL)
		return 0;
	if (load_le32(p) != 0x04034b50)
		return -EBADMSG;
	flags = load_le16(p + 6);
	method = load_le16(p + 8);
	name = load_le16(p + 26);
	n = ZIP_LOCAL + (size_t)name + load_le16(p + 28);
	if (len < n)
		return 0;
	if (name > 0 && p[ZIP_LOCAL + name - 1] == '/')
		h->why = "the first entry of the archive is a directory";
	else if (flags & ZIP_ENCRYPTED)
		h->why = "the first entry of the archive is encrypted";
	else if (method != ZIP_STORED && method != ZIP_DEFLATED)
		h->why = "the first entry of the archive is neither deflated "
		    "nor stored";
	if (h->why != NULL)
		return -ENOTSUP;
	h->front = (flags & ZIP_DESCRIPTOR) == 0;
	memcpy(h->trailer, p + 14, 8);
	h->stored = method == ZIP_STORED;
	if (!h->stored)
		return (ssize_t)n;
	h->left = load_le32(p + 22);
	if (h->left == UINT32_MAX)
		h->left = zip_size64(p + ZIP_LOCAL + name,
		    n - ZIP_LOCAL - name);
	/* a truly empty entry has the checksum of empty data */
	if (h->left == 0 && !h->front)
		h->why = "the first entry of the archive is stored, but its "
		    "header does not record its length";
	return (ssize_t)n;
}

/*
 * Verifies a data descriptor: signature, CRC, and the lower 32 bits of the
 * sizes.
 */
static int
zip_verify(const uint8_t *t, uint32_t check, uint64_t total)
{
	(void)total;
	return (load_le32(t) == 0x08074b50 && load_le32(t + 4) == check) ||
	    load_le32(t) == check ? 0 : -EBADMSG;
}

static const struct deflate_unwrap unwrap_zip = {
	.head = zip_head, .trailer = 8, .verify = zip_verify,
	.check = &check_crc32,
	.ignore_rest = true,
};

/* The job */

static void
inflate_close(void *job)
{
	struct inflate_job *j = job;

	if (j == NULL)
		return;
	inflater_close(j->inflater);
	carry_close(&j->reader.carry);
	sys_free(j->held.data);
	sys_free(j);
}

static int
inflate_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, const struct deflate_unwrap *wrap,
    struct codec_notes *notes)
{
	struct inflate_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->wrap = wrap;
	j->copy_rest = wrap->members && codec_number(o, "copy-rest");
	j->notes = notes;
	j->reader.debt = &j->debt;
	j->reader.block_max = p->block;
	j->reader.member_max = o->memory != 0 ? MEMBER_LEAST : MEMBER_MAX;
	if (inflater_open(&j->inflater) != 0) {
		inflate_close(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

/* The workers */

static void
inflate_worker_close(void *ctx)
{
	inflater_close(ctx);
}

static int
inflate_worker_open(void *job, void **ctx)
{
	struct inflater *f;
	int rc = inflater_open(&f);

	(void)job;
	if (rc == 0)
		*ctx = f;
	return rc;
}

/*
 * Returns the maximum output of a worker, in bytes, for a piece of this type.
 */
static size_t
inflate_most(const struct inflate_job *j, int kind)
{
	if (kind == PIECE_MEMBERS)
		return j->reader.member_max < MEMBER_MAX ? MEMBERS_OUT :
		    MEMBERS_OUT + MEMBER_MAX;
	return j->reader.block != 0 ? j->reader.block : UNMARKED_OUT;
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
		const uint8_t *p = s->in.data + pos;
		uint8_t *out = s->out.data + s->out.len;
		size_t len = note->used - pos;
		struct gzip_header h;
		struct inflated r;

		if (gzip_header_parse(&h, p, len) != 1 ||
		    inflater_piece(f, p + h.len, len - h.len, out,
		    note->most - s->out.len, &r) != 0 || !r.final)
			return 0;
		r.used += h.len;
		if (len - r.used < GZIP_TRAILER || gzip_verify(p + r.used,
		    libdeflate_crc32(0, out, r.made), r.made) != 0)
			return 0;
		s->out.len += r.made;
		pos += r.used + GZIP_TRAILER;
	}
	note->ok = note->used > 0;
	note->final = true;
	return 0;
}

/* Decodes data up to a sync point. */
static int
work_sync(const struct inflate_job *j, struct inflater *f, struct slot *s)
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

static int
inflate_work(void *job, void *ctx, struct slot *s)
{
	int kind = inflate_notes(s)->kind, rc = 0;

	if (kind == PIECE_SYNC)
		rc = work_sync(job, ctx, s);
	else if (kind == PIECE_MEMBERS)
		rc = work_members(job, ctx, s);
	if (!inflate_notes(s)->ok)
		s->out.len = 0;
	return rc;
}

/* The joiner */

/*
 * inflate_job.state: BETWEEN is after a member, REST is data to be skipped, and
 * JUNK is unexpected data.
 */
enum { HEAD, BODY, STORED, TRAILER, BETWEEN, PADDING, REST, JUNK };

static int
hold_bytes(struct inflate_job *j, const uint8_t *p, size_t len)
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

/*
 * Each function consumes as many of the len bytes at p as it needs.  Returns
 * the number of bytes consumed, or -errno.
 */

static ssize_t
take_head(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t before = j->held.len;
	int rc = hold_bytes(j, p, len < HEADER_MAX ? len : HEADER_MAX);
	ssize_t n;

	if (rc != 0)
		return rc;
	j->head = (struct deflate_head){ .why = NULL };
	n = j->wrap->head(j->held.data, j->held.len, &j->head);
	if (n < 0 && j->any && j->held.len > 1 && j->held.data[1] != 0x8b) {
		j->state = JUNK;
		return (ssize_t)(j->held.len - before);
	}
	j->notes->why = n < 0 || j->head.stored ? j->head.why : NULL;
	if (n < 0)
		return n;
	if (n == 0)
		return j->held.len > HEADER_MAX ? -EBADMSG :
		    (ssize_t)(j->held.len - before);
	j->held.len = 0;
	j->check = j->wrap->check->start;
	j->total = 0;
	if (!j->head.stored)
		j->state = BODY;
	else
		j->state = j->head.left > 0 ? STORED : TRAILER;
	inflater_start(j->inflater);
	return n - (ssize_t)before;
}

static ssize_t
take_trailer(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t want = j->head.front ? 0 : j->wrap->trailer - j->held.len;
	size_t n = want < len ? want : len;
	int rc = hold_bytes(j, p, n);

	if (rc != 0 || n < want)
		return rc != 0 ? rc : (ssize_t)n;
	rc = j->wrap->verify(j->head.front ? j->head.trailer : j->held.data,
	    j->check, j->total);
	j->held.len = 0;
	j->any = true;
	j->notes->has_check = true;
	j->notes->check = j->check;
	j->state = j->wrap->ignore_rest ? REST : BETWEEN;
	return rc != 0 ? rc : (ssize_t)n;
}

static void
note_trailing(struct inflate_job *j, const uint8_t *p, size_t len)
{
	struct codec_notes *n = j->notes;

	for (size_t i = 0; i < len && n->trailing_B + i < 2; i++)
		n->trailing[n->trailing_B + i] = p[i];
	n->trailing_B += len;
}

/* Records trailing junk, and copies all of it, zeros included, if requested. */
static int
put_junk(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out)
{
	note_trailing(j, p, len);
	j->notes->trailing_garbage = true;
	return j->copy_rest ? sink_write(out, p, len) : 0;
}

/* Gets the checksum of the inflater's output from the sink. */
static void
end_check(struct inflate_job *j, struct sink *out)
{
	if (j->checking)
		j->check = sink_check_end(out);
	j->checking = false;
}

/* Processes everything serially, byte by byte if necessary. */
static int
feed_bytes(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out)
{
	struct stream_io io = { .in = p, .in_len = len, .out_len = 1 };
	uint8_t unused[8];
	size_t room;
	ssize_t n;
	int rc = 0;

	/* if the buffer is full, there may be more output without more input */
	while (io.in_len > 0 || (j->inflating && io.out_len == 0)) {
		switch (j->state) {
		case HEAD:
			n = take_head(j, io.in, io.in_len);
			break;
		case BODY:
			j->inflating = true;
			if (!j->checking)
				sink_check_begin(out, j->wrap->check->add,
				    j->check);
			j->checking = true;
			io.out = sink_space(out, &room, &rc);
			if (io.out == NULL)
				return rc;
			io.out_len = room;
			rc = inflater_run(j->inflater, &io);
			if (rc < 0)
				return rc;
			j->total += room - io.out_len;
			sink_advance(out, room - io.out_len);
			if (rc != STREAM_END)
				continue;
			end_check(j, out);
			j->state = TRAILER;
			j->inflating = false;
			/* at most a trailer was read past the end */
			rc = feed_bytes(j, unused,
			    inflater_unused(j->inflater, unused), out);
			if (rc != 0)
				return rc;
			continue;
		case STORED:
			n = (ssize_t)(io.in_len < j->head.left ? io.in_len :
			    j->head.left);
			j->check = j->wrap->check->add(j->check, io.in,
			    (size_t)n);
			j->total += (size_t)n;
			j->head.left -= (size_t)n;
			if (j->head.left == 0)
				j->state = TRAILER;
			rc = sink_write(out, io.in, (size_t)n);
			if (rc != 0)
				return rc;
			break;
		case TRAILER:
			n = take_trailer(j, io.in, io.in_len);
			break;
		case REST:
			n = (ssize_t)io.in_len;
			break;
		case JUNK:
			rc = put_junk(j, j->held.data, j->held.len, out);
			j->held.len = 0;
			return rc != 0 ? rc :
			    put_junk(j, io.in, io.in_len, out);
		default:
			/* another member, zeros to the end, or other data */
			n = 0;
			if (j->state == BETWEEN && j->wrap->members &&
			    io.in[0] == 0x1f) {
				j->state = HEAD;
				break;
			}
			while ((size_t)n < io.in_len && io.in[n] == 0 &&
			    !j->copy_rest)
				n++;
			note_trailing(j, io.in, (size_t)n);
			j->state = (size_t)n < io.in_len ? JUNK : PADDING;
		}
		if (n < 0)
			return (int)n;
		io.in += n;
		io.in_len -= (size_t)n;
	}
	if (j->inflating && inflater_at_boundary(j->inflater))
		j->inflating = false;
	return 0;
}

/* Accepts a worker's result; data after the unit is fed in later. */
static int
accept(struct inflate_job *j, struct slot *s, struct sink *out)
{
	const struct inflate_notes *note = inflate_notes(s);
	size_t at = note->skip + note->used, len = s->in.len - at;
	uint8_t rest[64];
	int rc;

	if (note->kind == PIECE_MEMBERS) {
		j->state = BETWEEN;
		j->any = true;
		j->notes->has_check = true;
		j->notes->check = load_le32(s->in.data + at - GZIP_TRAILER);
	} else {
		end_check(j, out);
		j->check = (uint32_t)j->wrap->check->combine(j->check,
		    note->check, (off_t)s->out.len);
		j->total += s->out.len;
		inflater_saw(j->inflater, s->out.data, s->out.len);
		if (note->final)
			j->state = TRAILER;
	}
	if (len > sizeof(rest)) {
		rc = sink_write(out, s->out.data, s->out.len);
		return rc != 0 ? rc : feed_bytes(j, s->in.data + at, len, out);
	}
	memcpy(rest, s->in.data + at, len);
	rc = sink_slot(out, s);
	return rc != 0 ? rc : feed_bytes(j, rest, len, out);
}

static int
inflate_join(void *job, struct slot *s, struct sink *out)
{
	struct inflate_job *j = job;
	const struct inflate_notes *note = inflate_notes(s);
	long long debt, len = (long long)s->in.len;
	size_t skip = note->skip;
	bool last = s->last, accepted;
	int rc = skip == 0 ? 0 : feed_bytes(j, s->in.data, skip, out);

	if (rc != 0)
		return rc;
	/* the state must match the presumed start of the piece's unit */
	if (note->kind == PIECE_MEMBERS)
		accepted = note->ok && j->held.len == 0 &&
		    (j->state == HEAD || j->state == BETWEEN);
	else
		accepted = note->ok && j->state == BODY && !j->inflating;
	debt = atomic_load(&j->debt);
	if (accepted || note->kind == PIECE_PLAIN)
		debt -= debt < len ? debt : len;
	else
		debt += len + (long long)inflate_most(j, note->kind);
	atomic_store(&j->debt, debt);
	rc = accepted ? accept(j, s, out) :
	    feed_bytes(j, s->in.data + skip, s->in.len - skip, out);
	if (rc != 0 || !last)
		return rc;
	/*
	 * a single byte that could be the start of a header, or junk that
	 * starts like one
	 */
	if (j->state == JUNK || (j->state == HEAD && j->copy_rest && j->any &&
	    j->held.len == 1))
		return put_junk(j, j->held.data, j->held.len, out);
	return j->state == BETWEEN || j->state == PADDING ||
	    j->state == REST ? 0 : -ENODATA;
}

/* The coders */

/*
 * Returns the slot size in bytes, under a memory limit, for units as described
 * by the stream's header h.
 */
static size_t
slot_bytes(const struct gzip_header *h)
{
	if (h->member != 0)
		return PLAIN_LEN + READ_LEN + 2 * MEMBER_LEAST + MEMBERS_OUT;
	if (h->block_max == 0)
		return PLAIN_LEN + READ_LEN + UNMARKED_OUT;
	return h->block_max + h->block_max / 8 + 2 * READ_LEN + h->block_max;
}

/*
 * Under a memory limit, plans for units as large as the first one.  Larger
 * units are decoded serially; if not even one fits, all of them are.
 */
static int
inflate_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	struct gzip_header h, none = { .len = 0 };

	(void)why;
	*p = (struct memory_plan){ .block = GZIP_BLOCK_MAX,
	    .slots = pipeline_slots(o->threads),
	    .slot_B = slot_bytes(&none), .worker_B = 128 << 10,
	    .fixed_B = SINK + 2 * HEADER_MAX };
	if (o->memory == 0)
		return 0;
	p->block = UNMARKED_OUT;
	if (o->head == NULL || gzip_header_parse(&h, o->head,
	    o->head_len) != 1 || h.block_max > GZIP_BLOCK_MAX ||
	    slot_bytes(&h) + p->worker_B + p->fixed_B > o->memory)
		return 0;
	if (h.block_max != 0)
		p->block = h.block_max;
	p->slot_B = slot_bytes(&h);
	return 0;
}

#define DECODER(format)							\
static int								\
format##_open(void **job, const struct codec_options *o,		\
    const struct memory_plan *p, struct codec_notes *notes)		\
{									\
	return inflate_open(job, o, p, &unwrap_##format, notes);	\
}									\
									\
const struct coder format##_decoder = {					\
	.plan = inflate_plan, .open = format##_open,			\
	    .close = inflate_close,					\
	.ops = { .fill = deflate_scan, .work = inflate_work,		\
	    .join = inflate_join, .worker_open = inflate_worker_open,	\
	    .worker_close = inflate_worker_close },			\
}

DECODER(gzip);
DECODER(gzip_part);
DECODER(zlib);
DECODER(zip);

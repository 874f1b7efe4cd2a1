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
 * from there; otherwise it decodes the piece itself.  A false sync
 * point, a stream whose blocks depend on each other, or a wrong length
 * therefore only costs the time of one attempt.
 *
 * Sources: RFC 1952, RFC 1950, PKWARE's APPNOTE.TXT 6.3.10 (4.3.7, 4.3.9).
 */
#include "deflate_scan.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "deflate_codec.h"
#include "deflate_guess.h"
#include "deflate_marks.h"
#include "engine/deflate/inflater.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <pthread.h>
#include <string.h>

enum {
	SINK = 3 << 19,		/* the pipeline's output buffers */
	GUESS_COST = 6,		/* of a wrong guess, in bytes decoded for each
				 * byte of input */
	/*
	 * The more an input expands, the faster it is decoded by one thread, and
	 * the more of it would be left open: up to which factor guesses pay.
	 */
	EXPANDS_FEW = 5, EXPANDS_MANY = 16,
	THREADS_MANY = 3,
	RECENT = 8 << 20,		/* bytes of input considered */
	GUESS_WORTH = 4,	/* the part of a piece that a guess must get */
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

	const struct sink_check *check;
	bool members;		/* other members or zeros may follow */
	bool ignore_rest;	/* a directory follows */
};

struct inflate_job {
	struct deflate_reader reader;
	const struct deflate_unwrap *wrap;
	struct codec_notes *notes;

	/* used only by the joiner */
	struct deflate_marks marks;	/* but for the pointer in it */
	uint64_t begin, at;		/* offsets in the file: of the piece,
					 * and of the next byte */
	int state;
	struct buf held;		/* the part of a header or trailer
					 * read so far */
	uint32_t check;
	uint64_t total;			/* output of the current member */
	uint64_t ahead;			/* bits of the next piece that have been
					 * decoded already */
	struct buf rest;		/* input after a guess */
	unsigned expands;		/* guesses pay up to this factor */
	struct {
		uint64_t in, out, copied;	/* bytes; copied: from stored
						 * blocks */
	} recent, seen;			/* the pieces joined last; the totals */

	/* the next piece, for the worker that is decoding it */
	pthread_mutex_t lock;
	uint64_t next;			/* its number; 0: none, */
	struct deflate_known known;	/* and its beginning */
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
	pthread_mutex_destroy(&j->lock);
	sys_free(j->held.data);
	sys_free(j->rest.data);
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
	pthread_mutex_init(&j->lock, NULL);
	j->wrap = wrap;
	j->copy_rest = wrap->members && codec_number(o, "copy-rest");
	j->marks.to = o->marks;
	j->notes = notes;
	j->reader.block_max = p->block;
	j->reader.plain = codec_number(o, "piece") != 0 ?
	    (size_t)codec_number(o, "piece") : PLAIN_LEN;
	j->expands = o->threads < THREADS_MANY ? EXPANDS_FEW : EXPANDS_MANY;
	j->reader.guess = o->threads > 1 && o->memory == 0;
	j->reader.member_max = o->memory != 0 ? MEMBER_LEAST : MEMBER_MAX;
	if (inflater_open(&j->inflater) != 0) {
		inflate_close(j);
		return -ENOMEM;
	}
	*job = j;
	return 0;
}

/* The workers */

struct inflate_worker {
	struct inflater *inflater;
	struct deflate_finder *finder;	/* NULL until there is a guess */
};

static void
inflate_worker_close(void *ctx)
{
	struct inflate_worker *w = ctx;

	inflater_close(w->inflater);
	deflate_finder_close(w->finder);
	sys_free(w);
}

static int
inflate_worker_open(void *job, void **ctx)
{
	struct inflate_worker *w = sys_calloc(1, sizeof(*w));
	int rc = w == NULL ? -ENOMEM : inflater_open(&w->inflater);

	(void)job;
	if (rc == 0)
		*ctx = w;
	else
		sys_free(w);
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
 * Decodes the deflate stream at byte `from` of the piece, up to its end or,
 * with whole blocks, to byte `to`.  The output is stored after that in s->out,
 * which has room for cap bytes and INFLATER_SPARE.  Returns 0, -EBADMSG or
 * -ENOMEM.
 */
static int
work_stream(const struct inflate_job *j, struct inflater *f, struct slot *s,
    size_t from, size_t to, size_t cap, struct inflated *r)
{
	uint8_t *out = s->out.data + s->out.len;
	struct inflate_block b = { .bit = 8 * (uint64_t)from, .begin = out,
	    .out = out, .end = out + cap + INFLATER_SPARE, .unit = 1 };
	int rc = INFLATER_BLOCK;

	if (j->marks.to == NULL)
		return inflater_piece(f, s->in.data + from, to - from, out,
		    cap, r);
	while (rc == INFLATER_BLOCK && b.bit < 8 * (uint64_t)to &&
	    !deflate_marks_full(s)) {
		rc = inflater_block(f, s->in.data, to, &b);
		if (rc == INFLATER_BLOCK && deflate_marks_note(s, PLACE_BLOCK,
		    b.bit, (size_t)(b.out - s->out.data)) != 0)
			return -ENOMEM;
	}
	r->final = rc == STREAM_END;
	r->used = (size_t)((b.bit + 7) / 8) - from;
	r->made = (size_t)(b.out - out);
	return r->made <= cap && (r->final || b.bit == 8 * (uint64_t)to) ?
	    0 : -EBADMSG;
}

/* Notes that a member begins or ends at this byte of the piece. */
static int
work_note(const struct inflate_job *j, struct slot *s,
    enum deflate_place place, size_t at)
{
	return j->marks.to == NULL ? 0 :
	    deflate_marks_note(s, place, 8 * (uint64_t)at, s->out.len);
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
		int rc;

		if (gzip_header_parse(&h, p, len) != 1)
			return 0;
		rc = work_note(j, s, PLACE_BEGIN, pos);
		if (rc == 0)
			rc = work_stream(j, f, s, pos + h.len, note->used,
			    note->most - s->out.len, &r);
		if (rc != 0 || !r.final)
			return rc == -ENOMEM ? rc : 0;
		p = s->in.data + pos;
		r.used += h.len;
		if (len - r.used < GZIP_TRAILER || gzip_verify(p + r.used,
		    libdeflate_crc32(0, out, r.made), r.made) != 0)
			return 0;
		s->out.len += r.made;
		pos += r.used + GZIP_TRAILER;
		rc = work_note(j, s, PLACE_END, pos);
		if (rc != 0)
			return rc;
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
	int rc = buf_reserve(&s->out, cap + INFLATER_SPARE);

	if (rc == 0)
		rc = work_stream(j, f, s, note->skip, s->in.len, cap, &r);
	if (rc != 0)
		return rc == -ENOMEM ? rc : 0;
	note->ok = true;
	note->used = r.used;
	note->final = r.final;
	note->check = j->wrap->check->add(j->wrap->check->start,
	    s->out.data, r.made);
	s->out.len = r.made;
	return 0;
}

/* Implements deflate_guesser.know. */
static bool
know_begin(void *arg, const struct slot *s, struct deflate_known *known)
{
	struct inflate_job *j = arg;
	bool is;

	pthread_mutex_lock(&j->lock);
	is = j->next == s->seq;
	if (is)
		*known = j->known;
	pthread_mutex_unlock(&j->lock);
	return is;
}

static int
work_guess(struct inflate_job *j, struct inflate_worker *w, struct slot *s)
{
	int rc = w->finder != NULL ? 0 : deflate_finder_open(&w->finder);
	const struct deflate_guesser g = { w->finder, w->inflater, know_begin,
	    j, j->marks.to != NULL };

	return rc != 0 ? rc : deflate_guess(&g, s);
}

static int
inflate_work(void *job, void *ctx, struct slot *s)
{
	struct inflate_worker *w = ctx;
	int kind = inflate_notes(s)->kind, rc = 0;

	if (kind == PIECE_SYNC)
		rc = work_sync(job, w->inflater, s);
	else if (kind == PIECE_MEMBERS)
		rc = work_members(job, w->inflater, s);
	else if (kind == PIECE_GUESS)
		rc = work_guess(job, w, s);
	if (!inflate_notes(s)->ok)
		s->out.len = 0;
	return rc;
}

static uint32_t
inflate_finish(void *job, void *ctx, struct slot *s)
{
	const struct sink_check *check = ((struct inflate_job *)job)->wrap->check;

	(void)ctx;
	deflate_guess_fill(s);
	return check->add(check->start, s->out.data, s->out.len);
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
take_head(struct inflate_job *j, const uint8_t *p, size_t len,
    const struct sink *out)
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
	rc = deflate_marks_begin(&j->marks, j->at - before, sink_bytes(out));
	return rc != 0 ? rc : n - (ssize_t)before;
}

static ssize_t
take_trailer(struct inflate_job *j, const uint8_t *p, size_t len,
    const struct sink *out)
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
	if (rc == 0)
		rc = deflate_marks_end(&j->marks, j->at + n, sink_bytes(out));
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

static void
begin_check(struct inflate_job *j, struct sink *out)
{
	if (!j->checking)
		sink_check_begin(out, j->wrap->check, j->check);
	j->checking = true;
}

static int feed_bytes(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out);

/*
 * Decodes as much as the sink has room for, or up to a block: see
 * inflater_stop_after().  Returns a result of inflater_run(), or -errno.
 */
static int
take_body(struct inflate_job *j, struct stream_io *io, size_t stop_after,
    struct sink *out)
{
	const uint8_t *from = io->in;
	uint8_t unused[8];
	size_t room;
	int rc;

	j->inflating = true;
	begin_check(j, out);
	io->out = sink_space(out, &room, &rc);
	if (io->out == NULL)
		return rc;
	io->out_len = room;
	inflater_stop_after(j->inflater, stop_after);
	rc = inflater_run(j->inflater, io);
	if (rc < 0)
		return rc;
	j->at += (size_t)(io->in - from);
	j->total += room - io->out_len;
	sink_advance(out, room - io->out_len);
	if (rc == INFLATER_BLOCK) {
		rc = deflate_marks_block(&j->marks, 8 * j->at -
		    inflater_ahead(j->inflater), sink_bytes(out));
		return rc != 0 ? rc : INFLATER_BLOCK;
	}
	if (rc != STREAM_END)
		return rc;
	end_check(j, out);
	j->state = TRAILER;
	j->inflating = false;
	/* at most a trailer was read past the end */
	room = inflater_unused(j->inflater, unused);
	j->at -= room;
	rc = feed_bytes(j, unused, room, out);
	return rc != 0 ? rc : STREAM_END;
}

/* Processes everything serially, byte by byte if necessary. */
static int
feed_bytes(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out)
{
	struct stream_io io = { .in = p, .in_len = len, .out_len = 1 };
	ssize_t n;
	int rc = INFLATER_BLOCK;

	/*
	 * if the buffer is full, or after a block, there may be more output
	 * without more input
	 */
	while (io.in_len > 0 || (j->inflating &&
	    (io.out_len == 0 || rc == INFLATER_BLOCK))) {
		switch (j->state) {
		case HEAD:
			n = take_head(j, io.in, io.in_len, out);
			break;
		case BODY:
			rc = take_body(j, &io, deflate_marks_left(&j->marks,
			    sink_bytes(out)), out);
			if (rc < 0)
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
			n = take_trailer(j, io.in, io.in_len, out);
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
		j->at += (size_t)n;
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
	int rc = deflate_marks_noted(&j->marks, s, j->begin, sink_bytes(out));

	if (rc != 0)
		return rc;
	j->at = j->begin + at;
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

/* Guesses */

/*
 * Skips what was decoded together with the piece before.  Returns the number of
 * bytes.
 */
static size_t
skip_decoded(struct inflate_job *j, const uint8_t *p, size_t len)
{
	size_t at = (size_t)(j->ahead / 8);
	unsigned bits = j->ahead % 8;

	if (at >= len) {
		j->ahead -= 8 * (uint64_t)len;
		j->at += len;
		return len;
	}
	j->ahead = 0;
	if (bits != 0) {
		inflater_prime(j->inflater, 8 - bits, p[at++]);
		j->inflating = true;
	}
	j->at += at;
	return at;
}

static int
feed_piece(struct inflate_job *j, const uint8_t *p, size_t len,
    struct sink *out)
{
	size_t at = skip_decoded(j, p, len);

	return feed_bytes(j, p + at, len - at, out);
}

/*
 * Decodes block after block, from byte *at of the piece, until the next is the
 * one guessed, or the guess proves wrong.  Returns 1, 0 or -errno.
 */
static int
reach_guess(struct inflate_job *j, struct slot *s, size_t *at,
    struct sink *out)
{
	const struct inflate_notes *note = inflate_notes(s);
	const uint8_t *p = s->in.data;
	struct stream_io io = { .in = p + *at, .in_len = note->used - *at,
	    .out_len = 1 };
	int rc = 0;

	while (note->ok && j->state == BODY) {
		int64_t bit = 8 * (int64_t)*at - inflater_ahead(j->inflater);
		size_t window;

		if (inflater_between(j->inflater) && deflate_guessed(s, bit)) {
			/* the worker assumed a whole window before it */
			inflater_window(j->inflater, &window);
			return window == INFLATER_WINDOW;
		}
		if (bit >= note->from || (io.in_len == 0 && io.out_len > 0))
			break;
		rc = take_body(j, &io, 0, out);
		if (rc < 0)
			return rc;
		*at = (size_t)(io.in - p);
	}
	return 0;
}

/* Accepts a guess, and decodes what the worker left of the piece. */
static int
accept_guess(struct inflate_job *j, struct slot *s, struct sink *out)
{
	const struct inflate_notes *note = inflate_notes(s);
	uint8_t after[INFLATER_WINDOW];
	bool final = note->final;
	size_t at, used = note->used, len;
	int rc = deflate_marks_noted(&j->marks, s, j->begin, sink_bytes(out));

	if (rc != 0)
		return rc;
	begin_check(j, out);
	deflate_guess_window(s, inflater_window(j->inflater, &len), after,
	    &len);
	inflater_move(j->inflater);
	inflater_saw(j->inflater, after, len);
	j->inflating = false;
	j->total += s->out.len;
	j->ahead = final ? (note->to + 7) / 8 * 8 : note->to;
	at = (size_t)(j->ahead / 8);
	j->rest.len = at < used ? used - at : 0;
	if (at < used) {
		rc = buf_reserve(&j->rest, j->rest.len);
		if (rc != 0)
			return rc;
		memcpy(j->rest.data, s->in.data + at, j->rest.len);
		used = at;
	}
	rc = sink_slot_later(out, s);
	if (rc != 0)
		return rc;
	if (final) {
		end_check(j, out);
		j->state = TRAILER;
	}
	j->ahead -= 8 * (uint64_t)used;
	j->at = j->begin + used;
	return j->rest.len == 0 ? 0 :
	    feed_piece(j, j->rest.data, j->rest.len, out);
}

/* Limits what wrong guesses cost: see deflate_scan.h. */
static void
add_debt(struct inflate_job *j, bool wrong, size_t len, size_t most)
{
	long long debt = atomic_load(&j->reader.debt), had = (long long)len;

	if (wrong)
		debt += had + (long long)most;
	else
		debt -= debt < had ? debt : had;
	atomic_store(&j->reader.debt, debt);
}

static int
join_guess(struct inflate_job *j, struct slot *s, struct sink *out)
{
	const struct inflate_notes *note = inflate_notes(s);
	size_t len = note->used, at = skip_decoded(j, s->in.data, len);
	int rc = reach_guess(j, s, &at, out);

	if (rc < 0)
		return rc;
	add_debt(j, rc == 0 || note->to - note->from < 8 * len / GUESS_WORTH,
	    len, GUESS_COST * len);
	return rc != 0 ? accept_guess(j, s, out) :
	    feed_bytes(j, s->in.data + at, len - at, out);
}

static int
join_unit(struct inflate_job *j, struct slot *s, struct sink *out)
{
	const struct inflate_notes *note = inflate_notes(s);
	size_t skip = note->skip, len = s->in.len;
	bool accepted;
	int rc = skip == 0 ? 0 : feed_bytes(j, s->in.data, skip, out);

	if (rc != 0)
		return rc;
	if (note->kind == PIECE_PLAIN) {
		add_debt(j, false, len, 0);
		return feed_piece(j, s->in.data + skip, len - skip, out);
	}
	/* the state must match the presumed start of the piece's unit */
	if (note->kind == PIECE_MEMBERS)
		accepted = note->ok && j->held.len == 0 &&
		    (j->state == HEAD || j->state == BETWEEN);
	else
		accepted = note->ok && j->state == BODY && !j->inflating;
	add_debt(j, !accepted, len, inflate_most(j, note->kind));
	return accepted ? accept(j, s, out) :
	    feed_bytes(j, s->in.data + skip, len - skip, out);
}

/* Decides whether guesses pay, after a piece of len bytes. */
static void
weigh_guesses(struct inflate_job *j, size_t len, size_t copied,
    const struct sink *out)
{
	uint64_t here = inflater_copied(j->inflater);

	j->recent.in += len;
	j->recent.out += sink_bytes(out) - j->seen.out;
	j->recent.copied += copied + here - j->seen.copied;
	j->seen.out = sink_bytes(out);
	j->seen.copied = here;
	/* copying what is stored takes less time than the search for a block */
	atomic_store(&j->reader.fast,
	    j->recent.out > j->expands * j->recent.in ||
	    j->recent.copied > j->recent.out / 2);
	if (j->recent.in > RECENT) {
		j->recent.in /= 2;
		j->recent.out /= 2;
		j->recent.copied /= 2;
	}
}

/* Tells the worker that has the next piece how it begins. */
static void
tell_begin(struct inflate_job *j, uint64_t next)
{
	size_t len;
	const uint8_t *window = inflater_window(j->inflater, &len);

	pthread_mutex_lock(&j->lock);
	j->next = 0;
	if (j->state == BODY && len == INFLATER_WINDOW &&
	    inflater_between(j->inflater)) {
		j->next = next;
		j->known.bit = (int64_t)j->ahead -
		    inflater_ahead(j->inflater);
		memcpy(j->known.window, window, len);
	}
	pthread_mutex_unlock(&j->lock);
}

static int
inflate_join(void *job, struct slot *s, struct sink *out)
{
	struct inflate_job *j = job;
	bool last = s->last;
	uint64_t next = s->seq + 1;
	bool guess = inflate_notes(s)->kind == PIECE_GUESS;
	size_t len = guess ? inflate_notes(s)->used : s->in.len;
	size_t copied = inflate_notes(s)->copied;
	int rc;

	j->at = j->begin;
	rc = guess ? join_guess(j, s, out) : join_unit(j, s, out);
	if (rc != 0)
		return rc;
	j->begin += len;
	if (!last && j->reader.guess) {
		weigh_guesses(j, len, copied, out);
		tell_begin(j, next);
	}
	if (!last)
		return 0;
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
	if (o->memory == 0 && o->threads > 1)
		p->slot_B = PLAIN_LEN + PLAIN_LEN / GUESS_MORE +
		    DEFLATE_GUESS_B;
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
	    .join = inflate_join, .finish = inflate_finish,		\
	    .worker_open = inflate_worker_open,				\
	    .worker_close = inflate_worker_close },			\
}

DECODER(gzip);
DECODER(gzip_part);
DECODER(zlib);
DECODER(zip);

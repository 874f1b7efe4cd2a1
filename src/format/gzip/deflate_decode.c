/*
 * deflate_decode.c - decompressing gzip, zlib and zip: the job and its workers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The formats differ in the header and trailer around the deflate stream, and
 * in the checksum: struct deflate_unwrap.  A worker decodes a piece as the type
 * that the reader presumed.  If that fails, the joiner decodes it; only a lack
 * of memory is an error.
 *
 * Sources: RFC 1952, RFC 1950, PKWARE's APPNOTE.TXT 6.3.10 (4.3.7, 4.3.9).
 */
#include "deflate_decode.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/gzip/gzip.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>

enum {
	SINK = 3 << 19,		/* the pipeline's output buffers */
	HELD = 1 << 20		/* maximum size of a header */
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
		h->left = zip64_size(p + ZIP_LOCAL + name,
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

/* Workers */

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

size_t
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
	    .fixed_B = SINK + 2 * HELD };
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

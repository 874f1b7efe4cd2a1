/*
 * deflate_encode.c - compressing to gzip, zlib and zip
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The three formats differ in the header and trailer around the deflate stream,
 * and in the checksum: struct deflate_wrap.  The layout of the stream is
 * described in gzip.h.
 *
 * Sources: RFC 1952, RFC 1950, PKWARE's APPNOTE.TXT 6.3.10.
 */
#include "deflate_codec.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "format/cutter.h"
#include "format/gzip/deflate_engine.h"
#include "format/gzip/gzip.h"
#include "gzip_link.h"
#include "pipeline/adapt.h"

#include <errno.h>
#include <libdeflate.h>
#include <string.h>
#include <time.h>

enum { HEADER_ROOM = 64 };

struct deflate_job;

struct deflate_wrap {
	const struct sink_check *check;
	/* only_block: nothing follows the first block */
	int (*head)(struct deflate_job *j, bool only_block, struct sink *out);
	int (*tail)(struct deflate_job *j, struct sink *out);
};

struct deflate_job {
	struct cutter cut;	/* first, for cutter_fill() */
	const struct codec_options *options;
	const struct deflate_wrap *wrap;
	bool begun;
	uint32_t check;
	uint64_t total;		/* uncompressed bytes so far */
	uint64_t body_at;	/* offset of the deflate stream */
	struct gzip_linker linker;
};

struct deflate_notes {
	bool hole;		/* fill: `in` has no data, which is zero */
	uint32_t check;		/* work: CRC-32 or Adler-32 of `in` */
};
SLOT_NOTES(deflate_notes)

static int
deflate_plan(const struct codec_options *o, struct memory_plan *p,
    const char **why)
{
	if (o->block > (size_t)1 << 30) {
		*why = "this format limits blocks to 1 GiB";
		return -ENOTSUP;
	}
	p->block = o->block != 0 ? o->block :
	    (size_t)(o->level >= 9 ? 1408 : o->level >= 6 ? 1024 : 512) << 10;
	p->slots = pipeline_slots(o->threads);
	p->slot_B = p->block + deflate_engine_bound(p->block) + HEADER_ROOM;
	p->worker_B = deflate_engine_memory(o);
	p->fixed_B = (uint64_t)768 << 10;
	return 0;
}

static int
deflate_open(void **job, const struct codec_options *o,
    const struct memory_plan *p, const struct deflate_wrap *wrap)
{
	struct deflate_job *j = sys_calloc(1, sizeof(*j));

	if (j == NULL)
		return -ENOMEM;
	j->cut.block = p->block;
	j->cut.rsyncable = o->rsyncable;
	j->options = o;
	j->wrap = wrap;
	j->check = wrap->check->start;
	*job = j;
	return 0;
}

static void
deflate_close(void *job)
{
	struct deflate_job *j = job;

	if (j == NULL)
		return;
	cutter_close(&j->cut);
	sys_free(j);
}

static int
deflate_fill(void *job, struct input *in, struct slot *s)
{
	struct deflate_job *j = job;
	int rc = cutter_hole(&j->cut, in, s);

	deflate_notes(s)->hole = rc == 1;
	return rc == 0 ? cutter_fill(job, in, s) : rc < 0 ? rc : 0;
}

/* A worker's state: an engine, its level, and a hole compressed. */
struct deflate_worker {
	struct deflate_engine *engine;
	int level;
	struct cutter_zeros zeros;
};

static int
deflate_worker_open(void *job, void **ctx)
{
	struct deflate_job *j = job;
	struct deflate_worker *w = sys_calloc(1, sizeof(*w));
	int rc = w == NULL ? -ENOMEM :
	    deflate_engine_open(&w->engine, j->options);

	if (rc != 0) {
		sys_free(w);
		return rc;
	}
	w->level = j->options->level;
	*ctx = w;
	return 0;
}

static void
deflate_worker_close(void *ctx)
{
	struct deflate_worker *w = ctx;

	if (w->engine != NULL)
		deflate_engine_close(w->engine);
	cutter_zeros_free(&w->zeros);
	sys_free(w);
}

/* Deflates a block at the job's level or, with --adapt, the current one. */
static ssize_t
run_engine(struct deflate_job *j, struct deflate_worker *w, struct slot *s,
    bool last, uint8_t *out, size_t cap)
{
	struct codec_options o = *j->options;
	int rc = 0;

	if (o.adapt != NULL)
		o.level = adapt_take(o.adapt);
	if (o.level != w->level || w->engine == NULL) {
		if (w->engine != NULL)
			deflate_engine_close(w->engine);
		w->engine = NULL;
		rc = deflate_engine_open(&w->engine, &o);
		w->level = o.level;
	}
	return rc != 0 ? rc : deflate_engine_run(w->engine, s->in.data,
	    s->in.len, last, out, cap);
}

/* last: end with the final block. */
static int
deflate_block(struct deflate_job *j, void *ctx, struct slot *s, bool last)
{
	ssize_t n;
	int rc = buf_reserve(&s->out, deflate_engine_bound(s->in.len));

	if (rc != 0)
		return rc;
	deflate_notes(s)->check = j->wrap->check->add(j->wrap->check->start,
	    s->in.data, s->in.len);
	n = run_engine(j, ctx, s, last, s->out.data, s->out.cap);
	if (n < 0)
		return (int)n;
	s->out.len = (size_t)n;
	return 0;
}

static int
deflate_work(void *job, void *ctx, struct slot *s)
{
	return deflate_block(job, ctx, s, s->last);
}

/*
 * Writes the header, the blocks and the trailer; the header is written with the
 * first block.
 */
static int
deflate_join(void *job, struct slot *s, struct sink *out)
{
	struct deflate_job *j = job;
	bool last = s->last;
	int rc = 0;

	if (!j->begun) {
		j->begun = true;
		rc = j->wrap->head(j, last, out);
		j->body_at = sink_bytes(out);
	}
	j->check = (uint32_t)j->wrap->check->combine(j->check,
	    deflate_notes(s)->check, (off_t)s->in.len);
	j->total += s->in.len;
	if (rc == 0)
		rc = sink_slot(out, s);
	return rc == 0 && last ? j->wrap->tail(j, out) : rc;
}

/*
 * Does the work, or takes what was made of an equal hole before; the first
 * block may have more around it.
 */
static int
deflate_any(void *job, void *ctx, struct slot *s,
    int (*work)(void *job, void *ctx, struct slot *s))
{
	static const struct cutter_zeros none;
	struct deflate_worker *w = ctx;
	int rc;

	if (!deflate_notes(s)->hole)
		return work(job, ctx, s);
	rc = cutter_zeros_get(s->seq == 0 ? &none : &w->zeros, s, w->level);
	if (rc == 1) {
		deflate_notes(s)->check = w->zeros.check;
		return 0;
	}
	if (rc == 0)
		rc = work(job, ctx, s);
	if (rc != 0 || s->seq == 0)
		return rc;
	w->zeros.check = deflate_notes(s)->check;
	return cutter_zeros_keep(&w->zeros, s, w->level);
}

/* Defines the encoder of a format, with its own work and join functions. */
#define ENCODER(format, work_it, join_it)				\
static int								\
format##_any(void *job, void *ctx, struct slot *s)			\
{									\
	return deflate_any(job, ctx, s, work_it);			\
}									\
									\
static int								\
format##_open(void **job, const struct codec_options *o,		\
    const struct memory_plan *p, struct codec_notes *notes)		\
{									\
	(void)notes;							\
	return deflate_open(job, o, p, &format##_wrap);			\
}									\
									\
const struct coder format##_encoder = {					\
	.plan = deflate_plan, .open = format##_open,			\
	    .close = deflate_close,					\
	.ops = { .fill = deflate_fill, .work = format##_any,		\
	    .join = join_it,						\
	    .worker_open = deflate_worker_open,				\
	    .worker_close = deflate_worker_close },			\
}

/* gzip */

static struct gzip_fields
gzip_fields_of(const struct codec_options *o)
{
	return (struct gzip_fields){ .mtime = o->mtime, .name = o->name,
	    .comment = codec_text(o, "comment"), .fastest = o->level <= 1,
	    .slowest = o->level >= 9 };
}

/* Returns whether the blocks are linked, and thus of equal size. */
static bool
gzip_linked(const struct deflate_job *j)
{
	return j->options->flush_ms <= 0 && !j->cut.rsyncable;
}

static int
gzip_head(struct deflate_job *j, bool only_block, struct sink *out)
{
	struct gzip_fields f = gzip_fields_of(j->options);
	uint8_t mark[GZIP_MARK_MAX], *p;
	int rc;

	p = sys_malloc(gzip_header_size(&f));
	if (p == NULL)
		return -ENOMEM;
	rc = sink_write(out, p, gzip_header_write(&f, p));
	sys_free(p);
	/* a single block, as any gzip would write it, needs no mark */
	if (rc != 0 || only_block)
		return rc;
	if (gzip_linked(j)) {
		gzip_link_open(j->cut.block, mark);
		return sink_write(out, mark, GZIP_LINK_LEN);
	}
	return sink_write(out, mark, gzip_mark_write(j->options->flush_ms > 0 ?
	    GZIP_ANY : GZIP_QUARTER, j->cut.block, mark));
}

static int
gzip_tail(struct deflate_job *j, struct sink *out)
{
	uint8_t t[GZIP_TRAILER];

	store_le32(t, j->check);
	store_le32(t + 4, (uint32_t)j->total);
	return sink_write(out, t, sizeof(t));
}

static const struct deflate_wrap gzip_wrap = {
	.check = &check_crc32, .head = gzip_head, .tail = gzip_tail,
};

/*
 * With --independent, writes a block as a separate member, with its length in
 * the header.  The first member contains the name.  The last member is omitted
 * if it is empty because the input ends with a full block.
 */
static int
gzip_work(void *job, void *ctx, struct slot *s)
{
	struct deflate_job *j = job;
	struct gzip_fields f = gzip_fields_of(j->options);
	size_t head;
	ssize_t n;
	int rc;

	if (!j->options->independent)
		return deflate_block(j, ctx, s, s->last &&
		    (s->seq == 0 || !gzip_linked(j)));
	f.member = 1;
	if (s->seq > 0)
		f.name = f.comment = NULL;
	head = gzip_header_size(&f);
	rc = buf_reserve(&s->out, head + deflate_engine_bound(s->in.len) +
	    GZIP_TRAILER);
	if (rc != 0)
		return rc;
	n = run_engine(j, ctx, s, true, s->out.data + head,
	    s->out.cap - head - GZIP_TRAILER);
	if (n < 0)
		return (int)n;
	s->out.len = head + (size_t)n + GZIP_TRAILER;
	if (s->out.len > UINT32_MAX)
		return -EFBIG;
	f.member = (uint32_t)s->out.len;
	gzip_header_write(&f, s->out.data);
	store_le32(s->out.data + head + n,
	    libdeflate_crc32(0, s->in.data, s->in.len));
	store_le32(s->out.data + head + n + 4, (uint32_t)s->in.len);
	return 0;
}

/* Writes a block with its link; a last block without data is left out. */
static int
link_block(struct deflate_job *j, struct slot *s, struct sink *out)
{
	static const uint8_t final[GZIP_FINAL] = { 3, 0 };
	uint32_t check = deflate_notes(s)->check;
	size_t in = s->in.len, len = s->out.len;
	uint8_t link[GZIP_LINK_MAX];
	bool last = s->last;
	int rc = 0;

	if (s->seq == 0)
		rc = gzip_head(j, false, out);
	if (rc == 0 && in > 0) {
		j->check = (uint32_t)j->wrap->check->combine(j->check, check,
		    (off_t)in);
		j->total += in;
		rc = sink_slot(out, s);
		if (rc == 0)
			rc = sink_write(out, link, gzip_linker_next(
			    &j->linker, len, check, link));
	}
	if (rc != 0 || !last)
		return rc;
	rc = sink_write(out, final, sizeof(final));
	return rc != 0 ? rc : gzip_tail(j, out);
}

static int
gzip_join(void *job, struct slot *s, struct sink *out)
{
	struct deflate_job *j = job;

	if (j->options->independent)
		return s->seq > 0 && s->in.len == 0 ? 0 : sink_slot(out, s);
	return gzip_linked(j) && !(s->last && s->seq == 0) ?
	    link_block(j, s, out) : deflate_join(j, s, out);
}

ENCODER(gzip, gzip_work, gzip_join);

/* zlib (RFC 1950) */

/*
 * Writes CMF for a 32 KiB window, FLEVEL, and FCHECK, which makes the two bytes
 * a multiple of 31.
 */
static int
zlib_head(struct deflate_job *j, bool only_block, struct sink *out)
{
	int level = j->options->level;
	unsigned v = 0x7800 | (level >= 7 ? 3U : level >= 6 ? 2U :
	    level >= 2 ? 1U : 0U) << 6;
	uint8_t h[2];

	(void)only_block;
	store_be16(h, (uint16_t)(v + 31 - v % 31));
	return sink_write(out, h, sizeof(h));
}

static int
zlib_tail(struct deflate_job *j, struct sink *out)
{
	uint8_t t[4];

	store_be32(t, j->check);
	return sink_write(out, t, sizeof(t));
}

static const struct deflate_wrap zlib_wrap = {
	.check = &check_adler32, .head = zlib_head, .tail = zlib_tail,
};

ENCODER(zlib, deflate_work, deflate_join);

/*
 * zip: an archive with one entry.  The sizes are not known in advance, so they
 * are written in a data descriptor after the data.  If they exceed 32 bits, the
 * descriptor has 64-bit fields, and the directory contains a ZIP64 record.
 */

enum { LOCAL = 30, CENTRAL = 46, ZIP64_FIELD = 20, END = 22,
    END64 = 56, LOCATOR64 = 20, NAME_MAX_B = 1024 };

static const char *
entry_name(const struct deflate_job *j)
{
	return j->options->name != NULL ? j->options->name : "-";
}

static uint16_t
name_len(const struct deflate_job *j)
{
	size_t n = strlen(entry_name(j));

	return (uint16_t)(n < NAME_MAX_B ? n : NAME_MAX_B);
}

/*
 * Writes the fields shared by the local header and the directory, from "version
 * needed" to "file name length".
 */
static void
put_common(const struct deflate_job *j, uint8_t *p, bool big)
{
	uint32_t dos = 1U << 21 | 1U << 16;	/* 1980-01-01, for no time */
	time_t t = j->options->mtime;
	struct tm tm;

	if (t != 0 && localtime_r(&t, &tm) != NULL && tm.tm_year >= 80)
		dos = (uint32_t)(tm.tm_year - 80) << 25 |
		    (uint32_t)(tm.tm_mon + 1) << 21 |
		    (uint32_t)tm.tm_mday << 16 | (uint32_t)tm.tm_hour << 11 |
		    (uint32_t)tm.tm_min << 5 | (uint32_t)tm.tm_sec >> 1;
	store_le16(p, big ? 45 : 20);
	store_le16(p + 2, 8);		/* sizes follow the data */
	store_le16(p + 4, 8);		/* deflated */
	store_le32(p + 6, dos);
	store_le16(p + 22, name_len(j));
}

static int
zip_head(struct deflate_job *j, bool only_block, struct sink *out)
{
	uint8_t h[LOCAL] = { 'P', 'K', 3, 4 };
	int rc;

	(void)only_block;
	put_common(j, h + 4, false);
	rc = sink_write(out, h, sizeof(h));
	return rc != 0 ? rc : sink_write(out, entry_name(j), name_len(j));
}

/* Writes the descriptor, the directory and the end records. */
static int
zip_tail(struct deflate_job *j, struct sink *out)
{
	uint64_t packed = sink_bytes(out) - j->body_at, total = j->total;
	bool big = packed >= UINT32_MAX || total >= UINT32_MAX ||
	    sink_bytes(out) >= UINT32_MAX - 64;
	uint8_t d[24] = { 'P', 'K', 7, 8 };
	uint8_t c[CENTRAL] = { 'P', 'K', 1, 2, 45, 3 };
	uint8_t x[ZIP64_FIELD] = { 1, 0, 16, 0 };
	uint8_t e[END64 + LOCATOR64 + END] = { 0 }, *p = e;
	uint64_t at, len;
	int rc;

	store_le32(d + 4, j->check);
	if (big) {
		store_le64(d + 8, packed);
		store_le64(d + 16, total);
	} else {
		store_le32(d + 8, (uint32_t)packed);
		store_le32(d + 12, (uint32_t)total);
	}
	rc = sink_write(out, d, big ? 24 : 16);
	if (rc != 0)
		return rc;

	at = sink_bytes(out);
	put_common(j, c + 6, big);
	store_le32(c + 16, j->check);
	store_le32(c + 20, big ? UINT32_MAX : (uint32_t)packed);
	store_le32(c + 24, big ? UINT32_MAX : (uint32_t)total);
	store_le16(c + 30, big ? sizeof(x) : 0);
	store_le32(c + 38, 0100644U << 16);
	store_le64(x + 4, total);
	store_le64(x + 12, packed);
	rc = sink_write(out, c, sizeof(c));
	if (rc == 0)
		rc = sink_write(out, entry_name(j), name_len(j));
	if (rc == 0 && big)
		rc = sink_write(out, x, sizeof(x));
	if (rc != 0)
		return rc;

	len = sink_bytes(out) - at;
	if (big) {
		memcpy(p, "PK\6\6", 4);
		store_le64(p + 4, END64 - 12);
		store_le16(p + 12, 45);
		store_le16(p + 14, 45);
		store_le64(p + 24, 1);
		store_le64(p + 32, 1);
		store_le64(p + 40, len);
		store_le64(p + 48, at);
		p += END64;
		memcpy(p, "PK\6\7", 4);
		store_le64(p + 8, at + len);
		store_le32(p + 16, 1);
		p += LOCATOR64;
	}
	memcpy(p, "PK\5\6", 4);
	store_le16(p + 8, 1);
	store_le16(p + 10, 1);
	store_le32(p + 12, (uint32_t)len);
	store_le32(p + 16, big ? UINT32_MAX : (uint32_t)at);
	return sink_write(out, e, (size_t)(p - e) + END);
}

static const struct deflate_wrap zip_wrap = {
	.check = &check_crc32, .head = zip_head, .tail = zip_tail,
};

ENCODER(zip, deflate_work, deflate_join);

/*
 * pack_estargz.c - eStargz: gzip members, and an index as the last entry
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: docs/estargz.md in containerd/stargz-snapshotter.  The table of
 * contents is one gzip member, compressed in blocks by all threads.
 */
#include "pack_impl.h"

#include "base/bytes.h"
#include "format/gzip/deflate_engine.h"
#include "format/tar/tar_header.h"

#include <errno.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER = 10, TRAILER = 8,
	FEXTRA = 4,			/* flag in the header */
	FOOTER = 51, FOOTER_EXTRA = 26,
	TOC_BLOCK = 1 << 20
};

static void
put_gzip_header(uint8_t *p, int flags)
{
	memset(p, 0, HEADER);
	p[0] = 0x1f;
	p[1] = 0x8b;
	p[2] = 8;			/* deflate */
	p[3] = (uint8_t)flags;
	p[9] = 0xff;			/* OS: unknown */
}

static int
encoder_open(void **e, int level)
{
	struct deflate_engine *engine = NULL;
	int rc = deflate_engine_open_steady(&engine, level);

	*e = engine;
	return rc;
}

static void
encoder_close(void *e)
{
	deflate_engine_close(e);
}

static size_t
bound(size_t len)
{
	return HEADER + deflate_engine_bound(len) + TRAILER;
}

static ssize_t
encode_member(void *e, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	ssize_t n;

	put_gzip_header(out, 0);
	n = deflate_engine_run(e, in, len, true, out + HEADER,
	    cap - HEADER - TRAILER);
	if (n < 0)
		return n;
	out += HEADER + n;
	store_le32(out, libdeflate_crc32(0, in, len));
	store_le32(out + 4, (uint32_t)len);
	return HEADER + n + TRAILER;
}

/* The table of contents */

/* A pipeline that compresses the table's archive entry as one member. */
struct toc_job {
	struct pack *p;
	struct pack_reader reader;
	uint64_t content;		/* length of the text */
	uint32_t crc;
	uint64_t len;
};

static int
toc_fill(void *job, struct input *in, struct slot *s)
{
	struct toc_job *j = job;
	struct tar_entry e = { .path = LAYER_TOC, .mode = 0644,
		.size = j->content, .link = "", .uname = "", .gname = "" };
	struct strbuf header = { 0 };
	size_t n = 0;
	int rc = buf_reserve(&s->in, TOC_BLOCK + 8 * TAR_BLOCK);

	(void)in;
	if (rc == 0 && s->seq == 0) {
		tar_header_file(&header, &e);
		rc = header.failed ? -ENOMEM : 0;
		if (rc == 0)
			memcpy(s->in.data, header.data, s->in.len = header.len);
		strbuf_free(&header);
	}
	if (rc == 0)
		rc = pack_reader_next(&j->reader, s->in.data + s->in.len,
		    TOC_BLOCK, &n);
	if (rc != 0)
		return rc;
	s->in.len += n;
	if (n < TOC_BLOCK) {
		/* the ends of the entry and of the archive */
		n = (size_t)(-j->content % TAR_BLOCK) + 2 * TAR_BLOCK;
		memset(s->in.data + s->in.len, 0, n);
		s->in.len += n;
		s->last = true;
	}
	return digest_add(j->p->content, s->in.data, s->in.len);
}

static int
toc_worker_open(void *job, void **ctx)
{
	const struct toc_job *j = job;

	return encoder_open(ctx, pack_toc_level(j->p));
}

static int
toc_work(void *job, void *ctx, struct slot *s)
{
	ssize_t n;
	int rc = buf_reserve(&s->out, deflate_engine_bound(s->in.len));

	(void)job;
	if (rc != 0)
		return rc;
	n = deflate_engine_run(ctx, s->in.data, s->in.len, s->last,
	    s->out.data, s->out.cap);
	s->out.len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

static int
toc_write(struct toc_job *j, struct sink *sink, const void *data, size_t len)
{
	int rc = digest_add(j->p->out.digest, data, len);

	j->p->out.at += len;
	return rc != 0 ? rc : sink_write(sink, data, len);
}

static int
toc_join(void *job, struct slot *s, struct sink *sink)
{
	struct toc_job *j = job;
	uint8_t header[HEADER], trailer[TRAILER];
	int rc = 0;

	j->crc = libdeflate_crc32(j->crc, s->in.data, s->in.len);
	j->len += s->in.len;
	put_gzip_header(header, 0);
	if (s->seq == 0)
		rc = toc_write(j, sink, header, sizeof(header));
	if (rc == 0)
		rc = toc_write(j, sink, s->out.data, s->out.len);
	store_le32(trailer, j->crc);
	store_le32(trailer + 4, (uint32_t)j->len);
	if (rc == 0 && s->last)
		rc = toc_write(j, sink, trailer, sizeof(trailer));
	return rc;
}

static int
finish_estargz(struct pack *p)
{
	static const struct pipeline_ops ops = {
		.fill = toc_fill, .worker_open = toc_worker_open,
		.worker_close = encoder_close, .work = toc_work,
		.join = toc_join,
	};
	struct toc_job j = { .p = p };
	struct pack_result *r = p->r;
	uint8_t footer[FOOTER] = { 0 };
	char field[23];
	int rc = pack_toc_finish(p, NULL);

	j.content = p->toc.store.content;
	r->index_offset = p->out.at;
	r->index_content = j.content;
	if (rc != 0)
		return rc;
	memcpy(r->index_digest, r->toc_digest, LAYER_DIGEST);
	rc = pack_reader_open(&j.reader, &p->toc.store);
	if (rc == 0)
		rc = pack_run(p, &ops, &j);
	pack_reader_close(&j.reader);
	r->content_size += j.len;
	r->index_length = p->out.at - r->index_offset;
	if (rc != 0)
		return rc;

	put_gzip_header(footer, FEXTRA);
	snprintf(field, sizeof(field), "%016" PRIx64 "STARGZ", r->index_offset);
	store_le16(footer + HEADER, FOOTER_EXTRA);
	memcpy(footer + HEADER + 2, "SG", 2);
	store_le16(footer + HEADER + 4, FOOTER_EXTRA - 4);
	memcpy(footer + HEADER + 6, field, FOOTER_EXTRA - 4);
	/* an empty final stored block */
	memcpy(footer + HEADER + 2 + FOOTER_EXTRA, "\1\0\0\377\377", 5);
	return pack_out_write(&p->out, footer, sizeof(footer));
}

const struct pack_format pack_estargz = {
	.kind = LAYER_ESTARGZ, .levels = { 1, 12, 9 }, .chunk = 4 << 20,
	.in_archive = true, .store_level = 1,
	.encoder_open = encoder_open, .encoder_close = encoder_close,
	.bound = bound, .encode = encode_member,
	.finish = finish_estargz,
};

/*
 * pack.c - writing a layer that can be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_impl.h"

#include "base/hex.h"
#include "base/fdio.h"
#include "base/sys.h"
#include "format/tar/tar_archive.h"
#include "lazy/cvmfs/cas.h"
#include "pack_order.h"
#include "lazy/pack/pack_tree.h"
#include "pack_ztoc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct pack_format *
format_of(enum layer_kind kind)
{
	return kind == LAYER_ESTARGZ ? &pack_estargz :
	    kind == LAYER_ZSTD_CHUNKED ? &pack_zstd_chunked : NULL;
}

struct pack_levels
pack_levels(enum layer_kind kind)
{
	static const struct pack_levels ztoc = { 1, 19, ZTOC_LEVEL };
	static const struct pack_levels cas = { 0, CAS_LEVEL_MAX, CAS_LEVEL };
	const struct pack_format *f = format_of(kind);

	return kind == LAYER_ZTOC ? ztoc : kind == LAYER_CAS ? cas :
	    f == NULL ? (struct pack_levels){ 0 } : f->levels;
}

uint64_t
pack_chunk(const struct pack_options *o)
{
	const struct pack_format *f = format_of(o->kind);

	if (o->chunk != 0)
		return o->chunk;
	if (o->kind == LAYER_ZTOC)
		return o->windows == PACK_WINDOWS_PACKED ? ZTOC_SPAN_PACKED :
		    ZTOC_SPAN;
	return f == NULL ? 0 : f->chunk;
}

/* The output */

int
pack_out_write(struct pack_out *out, const void *data, size_t len)
{
	int rc = digest_add(out->digest, data, len);

	if (rc == 0 && out->also != NULL)
		rc = digest_add(out->also, data, len);
	out->at += len;
	return rc != 0 ? rc : fdio_write(out->fd, data, len);
}

int
pack_out_wrapped(struct pack *p, const void *data, size_t len)
{
	uint8_t around[TOC_WRAPPING_AROUND];
	int rc;

	toc_wrapping_head(p->wrapping, around, len);
	rc = pack_out_write(&p->out, around, p->wrapping->before);
	if (rc == 0)
		rc = pack_out_write(&p->out, data, len);
	return rc != 0 ? rc : pack_out_write(&p->out, p->wrapping->tail,
	    p->wrapping->after);
}

void
pack_put_base64(struct strbuf *b, const void *data, size_t len)
{
	char *to;

	strbuf_char(b, '"');
	to = strbuf_room(b, base64_len(len) + 1);
	if (to == NULL)
		return;
	base64_write(to, data, len);
	b->len += base64_len(len);
	strbuf_char(b, '"');
}

int
pack_run(struct pack *p, const struct pipeline_ops *ops, void *job)
{
	struct pipeline_params params = { .threads = p->o->threads,
		.slots = (unsigned)p->slots, .out_fd = p->out.fd,
		.progress = job == p ? p->o->progress : NULL };
	struct pipeline_stats stats = { 0 };

	return pipeline_run(ops, job, NULL, &params, &stats);
}

/* Packing a layer */

static int
archive_end(void *arg)
{
	return tar_archive_end(arg);
}

/* Opens what a layer needs; pack_layer() closes it, even after an error. */
static int
open_pack(struct pack *p)
{
	int rc;

	p->slots = pipeline_slots(p->o->threads);
	p->batches = sys_calloc(p->slots, sizeof(*p->batches));
	if (p->batches == NULL)
		return -ENOMEM;
	rc = digest_new_sha256(&p->content);
	if (rc == 0)
		rc = digest_new_sha256(&p->out.digest);
	if (rc != 0)
		return rc;
	rc = digest_start(p->content);
	if (rc == 0)
		rc = digest_start(p->out.digest);
	if (rc != 0)
		return rc;
	rc = pack_toc_open(&p->toc, p);
	if (rc == 0)
		rc = pack_tree_open(&p->tree);
	return rc != 0 ? rc : pack_cut_open(&p->cut, p);
}

int
pack_layer(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY])
{
	struct pack p = { .o = o, .format = format_of(o->kind),
		.wrapping = toc_wrapping_of(o->kind),
		.out = { .fd = out }, .r = r, .why_text = why };
	uint8_t content[DIGEST_MAX], blob[DIGEST_MAX];
	struct tar_archive a;
	const char *read_why;
	int rc;

	*why = '\0';
	*r = (struct pack_result){ 0 };
	if (o->kind == LAYER_ZTOC)
		return pack_ztoc(o, in, out, r, why);
	if (p.format == NULL) {
		snprintf(why, LAYER_WHY, "this format cannot be written");
		return -EINVAL;
	}
	p.level = o->level >= 0 ? o->level : p.format->levels.usual;
	p.chunk = pack_chunk(o);
	rc = open_pack(&p);
	if (rc == 0 && o->order_count > 0)
		rc = pack_order_open(&p.order, o, in, why);
	if (rc != 0)
		goto out;

	if (p.order == NULL) {
		struct tar_archive_options ao = { .threads = o->threads,
			.raw = pack_cut_raw, .raw_arg = p.cut,
			.refuse_empty = o->refuse_empty };

		rc = tar_archive_open(&a, in, &ao);
		if (rc == 0)
			p.source = (struct pack_source){ .tar = a.tar,
				.end = archive_end, .arg = &a };
	} else {
		rc = pack_order_begin(p.order, &p.source, p.cut);
	}
	if (rc == 0)
		rc = pack_units(&p);
	if (rc != 0 && p.why == NULL && *why == '\0') {
		read_why = p.order == NULL ? tar_archive_why(&a, rc) :
		    pack_order_why(p.order, rc);
		snprintf(why, LAYER_WHY, "%s", read_why);
	}
	if (p.order == NULL)
		tar_archive_close(&a);
	if (rc != 0)
		goto out;

	/* what follows the archive, and the result */
	rc = p.format->finish(&p);
	if (rc == 0)
		rc = digest_end(p.content, content);
	if (rc == 0)
		rc = digest_end(p.out.digest, blob);
	if (rc != 0)
		goto out;
	memcpy(r->content_digest, content, LAYER_DIGEST);
	memcpy(r->blob_digest, blob, LAYER_DIGEST);
	r->blob_size = p.out.at;
out:
	if (rc != 0 && *why == '\0')
		snprintf(why, LAYER_WHY, "%s", p.why != NULL ? p.why :
		    strerror(-rc));
	pack_order_close(p.order);
	pack_cut_close(p.cut);
	pack_tree_close(p.tree);
	pack_toc_close(&p.toc);
	for (size_t i = 0; p.batches != NULL && i < p.slots; i++) {
		struct pack_batch *b = &p.batches[i];

		sys_free(b->units);
		sys_free(b->pieces);
		sys_free(b->items);
		strbuf_free(&b->text);
	}
	sys_free(p.batches);
	digest_free(p.content);
	digest_free(p.out.digest);
	return rc;
}

/*
 * pack_ztoc.c - creating the ztoc of a layer in one pass
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The layer is decompressed while its tar headers are read; every byte of the
 * layer is added to the digest of its span, and a window is stored for every
 * point.
 */
#include "pack_ztoc.h"

#include "base/bytes.h"
#include "base/fdio.h"
#include "base/progress.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "lazy/format.h"
#include "format/gzip/gzip_points.h"
#include "lazy/pack/pack_tree.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum { ZTOC_HEAD = 4 };		/* bytes that identify the compression */

/* A layer whose ztoc is being created. */
struct ztoc_job {
	const struct pack_options *o;
	struct pack_result *r;
	char *why;
	bool plain, packed;
	int level;			/* for the windows and the index */
	int in;
	uint8_t head[ZTOC_HEAD];	/* first bytes of the layer, read in
					 * advance */
	size_t head_at, head_len;
	struct digest_algo *sha256;
	struct ztoc_output out;
	struct pack_ztoc_entries *entries;
	struct pack_ztoc_spans *spans;
	struct pack_tree *tree;
	struct gzip_points *points;
	struct tar *tar;
	uint64_t archive;		/* archive size as SOCI counts it */
};

static const char tool[] = "coldpress " COLDPRESS_VERSION;

int
ztoc_output_put(void *output, const void *data, size_t len)
{
	struct ztoc_output *o = output;
	int rc = fdio_write(o->fd, data, len);

	o->len += len;
	return rc != 0 ? rc : digest_add(o->digest, data, len);
}

/* The layer */

static ssize_t
read_layer(void *arg, void *buf, size_t len)
{
	struct ztoc_job *j = arg;
	size_t n = j->head_len - j->head_at;
	ssize_t got;

	if (n == 0) {
		got = fdio_read(j->in, buf, len);
		if (got > 0 && j->o->progress != NULL) {
			progress_add(j->o->progress, (uint64_t)got);
			progress_draw(j->o->progress);
		}
		return got;
	}
	n = n < len ? n : len;
	memcpy(buf, j->head + j->head_at, n);
	j->head_at += n;
	return (ssize_t)n;
}

static int
taken(void *arg, const uint8_t *data, size_t len)
{
	struct ztoc_job *j = arg;

	return pack_ztoc_spans_taken(j->spans, data, len);
}

static int
point(void *arg, const struct gzip_point *p)
{
	struct ztoc_job *j = arg;

	return pack_ztoc_spans_point(j->spans, p);
}

static int
sparse(void *arg, const uint8_t *window, size_t len)
{
	struct ztoc_job *j = arg;

	return pack_ztoc_spans_window(j->spans, window, len);
}

static ssize_t
read_archive(void *arg, void *buf, size_t len)
{
	struct ztoc_job *j = arg;
	ssize_t n;
	int rc = 0;

	if (!j->plain)
		return gzip_points_read(j->points, buf, len);
	n = read_layer(j, buf, len);
	if (n > 0)
		rc = taken(j, buf, (size_t)n);
	return rc != 0 ? rc : n;
}

static int
recognize(struct ztoc_job *j)
{
	ssize_t n = fdio_read(j->in, j->head, ZTOC_HEAD);
	uint32_t magic;

	if (n < 0)
		return (int)n;
	j->head_len = (size_t)n;
	magic = n == ZTOC_HEAD ? load_le32(j->head) : 0;
	j->plain = (magic & 0xffff) != 0x8b1f;
	if (magic == ZSTD_MAGICNUMBER || (magic & 0xfffffff0) ==
	    ZSTD_MAGIC_SKIPPABLE_START)
		return layer_refuse(j->why, -EINVAL, "compressed by zstd; a "
		    "ztoc can only be made for a gzip or uncompressed archive");
	return 0;
}

/* Writing the index */

static int
write_index(struct ztoc_job *j, struct flatbuf_writer *w,
    int (*put)(void *arg, const void *data, size_t len), void *arg)
{
	uint32_t version, name, toc = 0, compression = 0;
	int rc;

	version = flatbuf_put_string(w, ZTOC_THE_VERSION,
	    strlen(ZTOC_THE_VERSION));
	name = flatbuf_put_string(w, tool, strlen(tool));
	rc = pack_ztoc_entries_write(j->entries, w, &toc);
	if (rc == 0)
		rc = pack_ztoc_spans_write(j->spans, w, &compression);
	if (rc != 0)
		return rc;
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, ZTOC_VERSION, version);
	flatbuf_put_ref(w, ZTOC_TOOL, name);
	flatbuf_put_ref(w, ZTOC_TOC, toc);
	flatbuf_put_u64(w, ZTOC_STORED, pack_ztoc_spans_stored(j->spans));
	flatbuf_put_u64(w, ZTOC_CONTENT, j->archive);
	flatbuf_put_ref(w, ZTOC_COMPRESSION, compression);
	return flatbuf_finish(w, flatbuf_table_end(w), put, arg);
}

/* Compressing the index of the packed variant */

struct packer {
	struct ztoc_job *j;
	ZSTD_CCtx *z;
	struct digest *digest;		/* digest of the frame */
	uint8_t room[64 << 10];
};

static int
pack_bytes(struct packer *p, const void *data, size_t len,
    ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { p->room, sizeof(p->room), 0 };
		int rc;

		left = ZSTD_compressStream2(p->z, &out, &in, end);
		if (ZSTD_isError(left))
			return -ENOMEM;
		rc = digest_add(p->digest, p->room, out.pos);
		if (rc == 0)
			rc = ztoc_output_put(&p->j->out, p->room, out.pos);
		if (rc != 0)
			return rc;
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static int
put_packed(void *arg, const void *data, size_t len)
{
	struct packer *p = arg;

	p->j->r->index_content += len;
	return pack_bytes(p, data, len, ZSTD_e_continue);
}

static int
write_packed(struct ztoc_job *j, struct flatbuf_writer *w)
{
	struct packer *p = sys_calloc(1, sizeof(*p));
	uint8_t footer[ZTOC_FOOTER];
	int rc;

	if (p == NULL)
		return -ENOMEM;
	p->j = j;
	p->z = ZSTD_createCCtx();
	rc = p->z == NULL ? -ENOMEM : digest_new(&p->digest, j->sha256);
	if (rc != 0)
		goto out;
	if (ZSTD_isError(ZSTD_CCtx_setParameter(p->z,
	    ZSTD_c_compressionLevel, j->level))) {
		rc = -EINVAL;
		goto out;
	}
	rc = digest_start(p->digest);
	if (rc != 0)
		goto out;
	j->r->index_offset = j->out.len;
	rc = write_index(j, w, put_packed, p);
	if (rc == 0)
		rc = pack_bytes(p, NULL, 0, ZSTD_e_end);
	if (rc != 0)
		goto out;
	j->r->index_length = j->out.len - j->r->index_offset;
	rc = digest_end(p->digest, j->r->index_digest);
	if (rc != 0)
		goto out;
	store_le32(footer, ZTOC_FOOTER_MAGIC);
	store_le32(footer + 4, ZTOC_FOOTER - 8);
	store_le64(footer + 8, j->r->index_offset);
	store_le64(footer + 16, j->r->index_length);
	store_le64(footer + 24, j->r->index_content);
	store_le64(footer + 32, ZTOC_MAGIC);
	rc = ztoc_output_put(&j->out, footer, sizeof(footer));
out:
	ZSTD_freeCCtx(p->z);
	digest_free(p->digest);
	sys_free(p);
	return rc;
}

/* Creating a ztoc */

int
pack_ztoc(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY])
{
	struct ztoc_job j = { .o = o, .r = r, .why = why, .in = in,
		.packed = o->windows == PACK_WINDOWS_PACKED,
		.level = o->level < 0 ? ZTOC_LEVEL : o->level,
		.out = { .fd = out } };
	struct tar_source tar = { .read = read_archive, .arg = &j,
		.refuse_empty = o->refuse_empty };
	struct gzip_points_source points = { .read = read_layer,
		.taken = taken, .point = point, .arg = &j,
		.sparse = j.packed ? sparse : NULL,
		.spacing = pack_chunk(o) };
	struct pack_ztoc_spans_options spans = { .span = pack_chunk(o),
		.level = j.level, .tmpdir = o->tmpdir, .out = &j.out };
	struct flatbuf_writer *w = NULL;
	struct tar_entry e;
	const char *tar_reason;
	uint64_t end;
	int rc;

	*why = '\0';
	*r = (struct pack_result){ 0 };
	rc = digest_algo_open(&j.sha256, "sha256");
	if (rc != 0)
		goto out;
	rc = digest_new(&j.out.digest, j.sha256);
	if (rc != 0)
		goto out;
	rc = digest_start(j.out.digest);
	if (rc != 0)
		goto out;
	rc = recognize(&j);
	if (rc != 0)
		goto out;
	spans.plain = j.plain;
	spans.packed = j.packed && !j.plain;
	rc = pack_ztoc_spans_open(&j.spans, &spans);
	if (rc != 0)
		goto out;
	rc = j.plain ? 0 : gzip_points_open(&j.points, &points);
	if (rc != 0)
		goto out;
	rc = pack_ztoc_entries_open(&j.entries, o->tmpdir);
	if (rc != 0)
		goto out;
	rc = pack_tree_open(&j.tree);
	if (rc != 0)
		goto out;
	rc = tar_open(&j.tar, &tar);
	if (rc != 0)
		goto out;
	while ((rc = tar_next(j.tar, &e)) == 1) {
		r->entries++;
		r->files_B += e.type == TAR_FILE ? e.size : 0;
		rc = pack_tree_add(j.tree, &e, why);
		if (rc == 0)
			rc = pack_ztoc_entries_add(j.entries, &e, j.packed,
			    why);
		if (rc != 0)
			goto out;
	}
	if (rc == 0)
		rc = pack_tree_end(j.tree, r, why);
	if (rc != 0)
		goto out;

	/*
	 * In SOCI's format, the archive size includes the second block of zeros
	 * and nothing after it.
	 */
	end = tar_offset(j.tar) + TAR_BLOCK;
	rc = tar_drain(j.tar);
	r->flaw = tar_flaw(j.tar);
	r->content_size = tar_offset(j.tar);
	j.archive = r->content_size < end ? r->content_size : end;
	if (rc == 0)
		rc = pack_ztoc_spans_end(j.spans);
	if (rc == 0)
		rc = flatbuf_writer_open(&w, o->tmpdir);
	if (rc != 0)
		goto out;
	rc = j.packed ? write_packed(&j, w) :
	    write_index(&j, w, ztoc_output_put, &j.out);
	if (rc == -EFBIG)
		layer_refuse(why, rc, "the index would exceed the 2 GiB limit "
		    "of a FlatBuffer; larger spans (-c) make it smaller");
	if (rc == 0)
		rc = digest_end(j.out.digest, r->blob_digest);
	if (rc != 0)
		goto out;
	r->blob_size = j.out.len;
	r->units = pack_ztoc_spans_count(j.spans);
	if (!j.packed) {
		memcpy(r->index_digest, r->blob_digest, LAYER_DIGEST);
		r->index_length = r->index_content = r->blob_size;
	}
out:
	tar_reason = j.tar == NULL ? NULL : tar_why(j.tar);
	if (rc != 0 && *why == '\0')
		layer_refuse(why, rc, "%s", tar_reason != NULL ? tar_reason :
		    rc == -EBADMSG ? "the compressed data is damaged" :
		    rc == -ENODATA ? "the compressed data is truncated" :
		    strerror(-rc));
	flatbuf_writer_close(w);
	tar_close(j.tar);
	pack_ztoc_entries_close(j.entries);
	pack_tree_close(j.tree);
	gzip_points_close(j.points);
	pack_ztoc_spans_close(j.spans);
	digest_free(j.out.digest);
	digest_algo_close(j.sha256);
	return rc;
}

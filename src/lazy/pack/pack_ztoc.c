/*
 * pack_ztoc.c - creating the ztoc of a layer in one pass
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The layer is decompressed while its tar headers are read; every byte of the
 * layer is added to the digest of its span, and a window is stored for every
 * point.  The FlatBuffer is written back to front, so the checkpoints are kept
 * in a spool; packed windows are at the beginning of the file, so they are
 * written immediately.
 */
#include "pack_ztoc.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/fdio.h"
#include "base/hex.h"
#include "base/progress.h"
#include "base/strbuf.h"
#include "base/sys.h"
#include "engine/digest/digest.h"
#include "lazy/format.h"
#include "format/gzip/gzip_points.h"
#include "lazy/pack/pack_tree.h"
#include "spool.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

enum {
	MAGIC = 4,			/* bytes that identify the compression */
	ROOM = 64 << 10
};

/* A layer whose ztoc is being created. */
struct ztoc_job {
	const struct pack_options *o;
	struct pack_result *r;
	char *why;
	bool plain;			/* the layer is not compressed */
	bool packed;
	int level;			/* for the windows and the index */
	uint64_t spacing;		/* of the spans */
	ZSTD_CCtx *packer;		/* of the packed variant */

	/* the input */
	int in;
	uint8_t head[MAGIC];		/* first bytes of the layer, read in
					 * advance */
	size_t head_at, head_len;
	struct gzip_points *points;
	struct tar *tar;
	struct pack_tree *tree;
	struct pack_ztoc_entries *entries;
	uint64_t archive;		/* archive size as SOCI counts it */

	/* the spans */
	struct digest *span;		/* digest of the current span */
	uint64_t stored;		/* layer bytes added so far */
	uint8_t last;			/* the last byte */
	uint64_t count;			/* number of spans begun */
	uint8_t (*digests)[LAYER_DIGEST];
	size_t digest_count, digest_cap;
	struct spool *checkpoints;
	struct strbuf packed_points;
	uint8_t checkpoint[ZTOC_CHECKPOINT];

	/* the output */
	int out;
	uint64_t written;
	struct digest *whole;		/* digest of the file */
	struct digest *part;		/* digest of a packed window, or of the
					 * packed index */
	uint8_t room[ROOM];		/* for packed bytes */
};

static const char tool[] = "coldpress " COLDPRESS_VERSION;

/* Appends to the file, as flatbuf_finish() expects. */
static int
put_output(void *arg, const void *data, size_t len)
{
	struct ztoc_job *j = arg;
	int rc = fdio_write(j->out, data, len);

	j->written += len;
	return rc != 0 ? rc : digest_add(j->whole, data, len);
}

/* Spans */

/* Ends the current span, if there is one. */
static int
end_span(struct ztoc_job *j)
{
	void *items = j->digests;
	int rc;

	if (j->count == 0)
		return 0;
	rc = array_grow(&items, j->digest_count, &j->digest_cap, LAYER_DIGEST);
	j->digests = items;
	return rc != 0 ? rc : digest_end(j->span,
	    j->digests[j->digest_count++]);
}

/* Begins a span, which includes the last byte if that is shared. */
static int
begin_span(struct ztoc_job *j, bool shared)
{
	int rc = digest_start(j->span);

	j->count++;
	return rc == 0 && shared ? digest_add(j->span, &j->last, 1) : rc;
}

/*
 * Adds bytes to the current span; bytes before the first span are not part of
 * any span.
 */
static int
add_span(void *arg, const uint8_t *data, size_t len)
{
	struct ztoc_job *j = arg;

	if (len == 0)
		return 0;
	j->stored += len;
	j->last = data[len - 1];
	return j->count == 0 ? 0 : digest_add(j->span, data, len);
}

static int
add_point(void *arg, const struct gzip_point *p)
{
	struct ztoc_job *j = arg;
	uint8_t *to = j->checkpoint, *window = to + ZTOC_CHECKPOINT_HEAD;
	size_t zeros = ZTOC_WINDOW - p->window_len;
	int rc = end_span(j);

	if (rc != 0)
		return rc;
	store_le64(to, p->in);
	store_le64(to + 8, p->out);
	to[16] = (uint8_t)p->bits;
	if (j->packed) {
		/* add_window() adds the compressed window */
		memset(window, 0, ZTOC_POINT - ZTOC_CHECKPOINT_HEAD);
		strbuf_add(&j->packed_points, to, ZTOC_POINT);
		rc = j->packed_points.failed ? -ENOMEM : 0;
	} else {
		memset(window, 0, zeros);
		memcpy(window + zeros, p->window, p->window_len);
		rc = spool_push(j->checkpoints, to, ZTOC_CHECKPOINT);
	}
	return rc != 0 ? rc : begin_span(j, p->bits != 0);
}

static int
add_window(void *arg, const uint8_t *window, size_t len)
{
	struct ztoc_job *j = arg;
	uint8_t *point = (uint8_t *)j->packed_points.data +
	    j->packed_points.len - ZTOC_POINT;
	size_t n = len == 0 ? 0 : ZSTD_compressCCtx(j->packer, j->room,
	    sizeof(j->room), window, len, j->level);
	int rc;

	if (ZSTD_isError(n))
		return -ENOMEM;
	store_le32(point + ZTOC_CHECKPOINT_HEAD, (uint32_t)n);
	rc = digest_once(j->part, j->room, n, point + ZTOC_CHECKPOINT_HEAD + 4);
	return rc != 0 ? rc : put_output(j, j->room, n);
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

/* Reads the archive; in an uncompressed layer all spans have one length. */
static ssize_t
read_archive(void *arg, void *buf, size_t len)
{
	struct ztoc_job *j = arg;
	const uint8_t *data = buf;
	ssize_t n;
	int rc = 0;

	if (!j->plain)
		return gzip_points_read(j->points, buf, len);
	n = read_layer(j, buf, len);
	for (size_t left = n < 0 ? 0 : (size_t)n, some; left > 0;
	    left -= some) {
		uint64_t room = j->spacing - j->stored % j->spacing;

		some = left < room ? left : (size_t)room;
		if (room == j->spacing) {
			rc = end_span(j);
			if (rc == 0)
				rc = begin_span(j, false);
		}
		if (rc == 0)
			rc = add_span(j, data, some);
		if (rc != 0)
			return rc;
		data += some;
	}
	return n;
}

static int
recognize(struct ztoc_job *j)
{
	ssize_t n = fdio_read(j->in, j->head, MAGIC);
	uint32_t magic;

	if (n < 0)
		return (int)n;
	j->head_len = (size_t)n;
	magic = n == MAGIC ? load_le32(j->head) : 0;
	j->plain = (magic & 0xffff) != 0x8b1f;
	if (magic == ZSTD_MAGICNUMBER || (magic & 0xfffffff0) ==
	    ZSTD_MAGIC_SKIPPABLE_START)
		return layer_refuse(j->why, -EINVAL, "compressed by zstd; a "
		    "ztoc can only be made for a gzip or uncompressed archive");
	return 0;
}

/* Writing the index */

/* The checkpoints of a layer that is not compressed. */
struct plain {
	uint8_t data[128];
	size_t len;
};

static int
put_plain(void *arg, const void *data, size_t len)
{
	struct plain *p = arg;

	if (len > sizeof(p->data) - p->len)
		return -EOVERFLOW;
	memcpy(p->data + p->len, data, len);
	p->len += len;
	return 0;
}

static int
write_plain(const struct ztoc_job *j, struct flatbuf_writer *w, uint32_t *at)
{
	struct plain p = { .len = 0 };
	struct flatbuf_writer *own;
	int rc = flatbuf_writer_open(&own, j->o->tmpdir);

	if (rc != 0)
		return rc;
	flatbuf_table_begin(own);
	flatbuf_put_u32(own, PLAIN_VERSION, ZTOC_PLAIN_VERSION);
	flatbuf_put_u64(own, PLAIN_SPAN, j->spacing);
	flatbuf_put_u64(own, PLAIN_SIZE, j->stored);
	rc = flatbuf_finish(own, flatbuf_table_end(own), put_plain, &p);
	flatbuf_writer_close(own);
	*at = flatbuf_put_bytes(w, p.data, p.len);
	return rc;
}

/* Writes the Compression; *at is its position. */
static int
write_spans(struct ztoc_job *j, struct flatbuf_writer *w, uint32_t *at)
{
	uint64_t len = ZTOC_CHECKPOINTS_HEAD + j->count * ZTOC_CHECKPOINT;
	uint32_t checkpoints = 0, points = 0, digests;
	uint8_t head[ZTOC_CHECKPOINTS_HEAD];
	char text[HEX_SHA256];
	uint32_t *refs;
	const void *p;
	size_t n;
	int rc = 0;

	if (j->plain) {
		rc = write_plain(j, w, &checkpoints);
	} else if (j->packed) {
		points = flatbuf_put_bytes(w, j->packed_points.data,
		    j->packed_points.len);
	} else {
		flatbuf_bytes_begin(w, len);
		while ((rc = spool_pop(j->checkpoints, &p, &n)) == 1)
			flatbuf_bytes_piece(w, p, n);
		store_le32(head, (uint32_t)j->count);
		store_le64(head + 4, j->spacing);
		flatbuf_bytes_piece(w, head, sizeof(head));
		checkpoints = flatbuf_bytes_end(w, len);
	}
	if (rc != 0)
		return rc;
	refs = sys_malloc((j->digest_count + 1) * sizeof(*refs));
	if (refs == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < j->digest_count; i++) {
		hex_write_sha256(text, j->digests[i]);
		refs[i] = flatbuf_put_string(w, text, strlen(text));
	}
	digests = flatbuf_put_refs(w, refs, j->digest_count);
	sys_free(refs);
	flatbuf_table_begin(w);
	flatbuf_put_u32(w, COMPRESSION_LAST, (uint32_t)j->count - 1);
	flatbuf_put_ref(w, COMPRESSION_DIGESTS, digests);
	flatbuf_put_ref(w, COMPRESSION_CHECKPOINTS, checkpoints);
	flatbuf_put_u8(w, COMPRESSION_KIND,
	    j->plain ? ZTOC_PLAIN : ZTOC_GZIP, ZTOC_GZIP);
	flatbuf_put_ref(w, COMPRESSION_POINTS, points);
	*at = flatbuf_table_end(w);
	return 0;
}

/* Compresses a part of the index. */
static int
pack_bytes(struct ztoc_job *j, const void *data, size_t len,
    ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = { data, len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out = { j->room, sizeof(j->room), 0 };
		int rc;

		left = ZSTD_compressStream2(j->packer, &out, &in, end);
		if (ZSTD_isError(left))
			return -ENOMEM;
		rc = digest_add(j->part, j->room, out.pos);
		if (rc == 0)
			rc = put_output(j, j->room, out.pos);
		if (rc != 0)
			return rc;
	} while (end == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static int
put_packed(void *arg, const void *data, size_t len)
{
	struct ztoc_job *j = arg;

	j->r->index_content += len;
	return pack_bytes(j, data, len, ZSTD_e_continue);
}

/* Writes the index or, in the packed variant, its frame and the footer. */
static int
write_index(struct ztoc_job *j, struct flatbuf_writer *w)
{
	struct pack_result *r = j->r;
	uint32_t version, name, toc = 0, compression = 0;
	uint8_t footer[ZTOC_FOOTER];
	int rc;

	if (j->packed) {
		rc = digest_start(j->part);
		if (rc != 0)
			return rc;
		/* it compressed a window last */
		ZSTD_CCtx_reset(j->packer, ZSTD_reset_session_only);
		r->index_offset = j->written;
	}
	version = flatbuf_put_string(w, ZTOC_THE_VERSION,
	    strlen(ZTOC_THE_VERSION));
	name = flatbuf_put_string(w, tool, strlen(tool));
	rc = pack_ztoc_entries_write(j->entries, w, &toc);
	if (rc == 0)
		rc = write_spans(j, w, &compression);
	if (rc != 0)
		return rc;
	flatbuf_table_begin(w);
	flatbuf_put_ref(w, ZTOC_VERSION, version);
	flatbuf_put_ref(w, ZTOC_TOOL, name);
	flatbuf_put_ref(w, ZTOC_TOC, toc);
	flatbuf_put_u64(w, ZTOC_STORED, j->stored);
	flatbuf_put_u64(w, ZTOC_CONTENT, j->archive);
	flatbuf_put_ref(w, ZTOC_COMPRESSION, compression);
	rc = flatbuf_finish(w, flatbuf_table_end(w), j->packed ? put_packed :
	    put_output, j);
	if (rc != 0 || !j->packed)
		return rc;

	rc = pack_bytes(j, NULL, 0, ZSTD_e_end);
	if (rc != 0)
		return rc;
	r->index_length = j->written - r->index_offset;
	rc = digest_end(j->part, r->index_digest);
	if (rc != 0)
		return rc;
	store_le32(footer, ZTOC_FOOTER_MAGIC);
	store_le32(footer + 4, ZTOC_FOOTER - 8);
	store_le64(footer + 8, r->index_offset);
	store_le64(footer + 16, r->index_length);
	store_le64(footer + 24, r->index_content);
	store_le64(footer + 32, ZTOC_MAGIC);
	return put_output(j, footer, sizeof(footer));
}

/* Creating a ztoc */

/* Opens what is needed; pack_ztoc() closes it, even after an error. */
static int
open_ztoc(struct ztoc_job *j)
{
	const struct pack_options *o = j->o;
	struct tar_source tar = { .read = read_archive, .arg = j,
		.refuse_empty = o->refuse_empty };
	struct gzip_points_source points = { .read = read_layer,
		.taken = add_span, .point = add_point, .arg = j,
		.sparse = j->packed ? add_window : NULL,
		.spacing = j->spacing };
	struct digest **digests[] = { &j->whole, &j->span, &j->part };
	int rc = 0;

	for (int i = 0; rc == 0 && i < 3; i++)
		rc = digest_new_sha256(digests[i]);
	if (rc == 0)
		rc = digest_start(j->whole);
	if (rc == 0)
		rc = recognize(j);
	if (rc != 0)
		return rc;
	if (j->packed) {
		j->packer = ZSTD_createCCtx();
		if (j->packer == NULL)
			return -ENOMEM;
		if (ZSTD_isError(ZSTD_CCtx_setParameter(j->packer,
		    ZSTD_c_compressionLevel, j->level)))
			return -EINVAL;
	}
	rc = spool_open(&j->checkpoints, o->tmpdir);
	if (rc == 0 && !j->plain)
		rc = gzip_points_open(&j->points, &points);
	if (rc != 0)
		return rc;
	rc = pack_ztoc_entries_open(&j->entries, o->tmpdir);
	if (rc == 0)
		rc = pack_tree_open(&j->tree);
	return rc != 0 ? rc : tar_open(&j->tar, &tar);
}

int
pack_ztoc(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY])
{
	struct ztoc_job *j = sys_calloc(1, sizeof(*j));
	struct flatbuf_writer *w = NULL;
	struct tar_entry e;
	const char *tar_reason;
	uint64_t end;
	int rc;

	*why = '\0';
	*r = (struct pack_result){ 0 };
	if (j == NULL)
		return layer_refuse(why, -ENOMEM, "%s", strerror(ENOMEM));
	j->o = o;
	j->r = r;
	j->why = why;
	j->in = in;
	j->out = out;
	j->packed = o->windows == PACK_WINDOWS_PACKED;
	j->level = o->level < 0 ? ZTOC_LEVEL : o->level;
	j->spacing = pack_chunk(o);
	rc = open_ztoc(j);
	if (rc != 0)
		goto out;
	while ((rc = tar_next(j->tar, &e)) == 1) {
		r->entries++;
		r->files_B += e.type == TAR_FILE ? e.size : 0;
		rc = pack_tree_add(j->tree, &e, why);
		if (rc == 0)
			rc = pack_ztoc_entries_add(j->entries, &e, j->packed,
			    why);
		if (rc != 0)
			goto out;
	}
	if (rc == 0)
		rc = pack_tree_end(j->tree, r, why);
	if (rc != 0)
		goto out;

	/*
	 * In SOCI's format, the archive size includes the second block of zeros
	 * and nothing after it.
	 */
	end = tar_offset(j->tar) + TAR_BLOCK;
	rc = tar_drain(j->tar);
	r->flaw = tar_flaw(j->tar);
	r->content_size = tar_offset(j->tar);
	j->archive = r->content_size < end ? r->content_size : end;
	if (rc == 0)
		rc = end_span(j);
	if (rc == 0)
		rc = flatbuf_writer_open(&w, o->tmpdir);
	if (rc != 0)
		goto out;
	rc = write_index(j, w);
	if (rc == -EFBIG)
		layer_refuse(why, rc, "the index would exceed the 2 GiB limit "
		    "of a FlatBuffer; larger spans (-c) make it smaller");
	if (rc == 0)
		rc = digest_end(j->whole, r->blob_digest);
	if (rc != 0)
		goto out;
	r->blob_size = j->written;
	r->units = j->count;
	if (!j->packed) {
		memcpy(r->index_digest, r->blob_digest, LAYER_DIGEST);
		r->index_length = r->index_content = r->blob_size;
	}
out:
	tar_reason = j->tar == NULL ? NULL : tar_why(j->tar);
	if (rc != 0 && *why == '\0')
		layer_refuse(why, rc, "%s", tar_reason != NULL ? tar_reason :
		    rc == -EBADMSG ? "the compressed data is damaged" :
		    rc == -ENODATA ? "the compressed data is truncated" :
		    strerror(-rc));
	flatbuf_writer_close(w);
	tar_close(j->tar);
	pack_ztoc_entries_close(j->entries);
	pack_tree_close(j->tree);
	gzip_points_close(j->points);
	spool_close(j->checkpoints);
	sys_free(j->digests);
	strbuf_free(&j->packed_points);
	ZSTD_freeCCtx(j->packer);
	digest_free(j->whole);
	digest_free(j->span);
	digest_free(j->part);
	sys_free(j);
	return rc;
}

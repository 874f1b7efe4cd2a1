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

/* The file */

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
read_more(struct ztoc_job *j, void *buf, size_t len)
{
	ssize_t n = fdio_read(j->in, buf, len);

	if (n > 0 && j->o->progress != NULL) {
		progress_add(j->o->progress, (uint64_t)n);
		progress_draw(j->o->progress);
	}
	return n;
}

static ssize_t
read_layer(void *arg, void *buf, size_t len)
{
	struct ztoc_job *j = arg;
	size_t n = j->head_len - j->head_at;

	if (n == 0)
		return read_more(j, buf, len);
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

/* Reading the layer */

static int
damaged(const struct ztoc_job *j, int rc)
{
	const char *why = j->tar == NULL ? NULL : tar_why(j->tar);

	if (*j->why == '\0')
		layer_refuse(j->why, rc, "%s", why != NULL ? why :
		    rc == -EBADMSG ? "the compressed data is damaged" :
		    rc == -ENODATA ? "the compressed data is truncated" :
		    strerror(-rc));
	return rc;
}

/*
 * Reads to the end. In SOCI's format, the archive size includes the second
 * block of zeros and nothing after it.
 */
static int
end_archive(struct ztoc_job *j)
{
	uint64_t end = tar_offset(j->tar) + TAR_BLOCK;
	int rc = tar_drain(j->tar);

	j->r->flaw = tar_flaw(j->tar);
	j->r->content_size = tar_offset(j->tar);
	j->archive = j->r->content_size < end ? j->r->content_size : end;
	return rc != 0 ? rc : pack_ztoc_spans_end(j->spans);
}

static int
read_entries(struct ztoc_job *j)
{
	struct tar_entry e;
	int rc;

	while ((rc = tar_next(j->tar, &e)) == 1) {
		j->r->files_B += e.type == TAR_FILE ? e.size : 0;
		rc = pack_tree_add(j->tree, &e, j->why);
		if (rc == 0)
			rc = pack_ztoc_entries_add(j->entries, &e, j->packed,
			    j->why);
		if (rc != 0)
			return rc;
	}
	if (rc == 0)
		rc = pack_tree_end(j->tree, j->r, j->why);
	return rc != 0 ? rc : end_archive(j);
}

/* Creating a ztoc */

static int
open_spans(struct ztoc_job *j)
{
	const struct pack_options *o = j->o;
	struct pack_ztoc_spans_options s = { .span = pack_chunk(o),
		.plain = j->plain, .packed = j->packed && !j->plain,
		.level = ztoc_level(j),
		.tmpdir = o->tmpdir, .out = &j->out };

	return pack_ztoc_spans_open(&j->spans, &s);
}

static int
fill_result(struct ztoc_job *j)
{
	struct pack_result *r = j->r;
	int rc = digest_end(j->out.digest, r->blob_digest);

	r->blob_size = j->out.len;
	r->entries = pack_ztoc_entries_count(j->entries);
	r->units = pack_ztoc_spans_count(j->spans);
	if (!j->packed) {
		memcpy(r->index_digest, r->blob_digest, LAYER_DIGEST);
		r->index_length = r->index_content = r->blob_size;
	}
	return rc;
}

int
pack_ztoc(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY])
{
	struct ztoc_job j = { .o = o, .r = r, .why = why, .in = in,
		.packed = o->windows == PACK_WINDOWS_PACKED,
		.out = { .fd = out } };
	struct tar_source tar = { .read = read_archive, .arg = &j,
		.refuse_empty = o->refuse_empty };
	struct gzip_points_source points = { .read = read_layer,
		.taken = taken, .point = point, .arg = &j,
		.sparse = j.packed ? sparse : NULL,
		.spacing = pack_chunk(o) };
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
	rc = open_spans(&j);
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
	rc = read_entries(&j);
	if (rc != 0)
		goto out;
	rc = pack_ztoc_write(&j);
	if (rc == 0)
		rc = fill_result(&j);
out:
	rc = rc == 0 ? 0 : damaged(&j, rc);
	tar_close(j.tar);
	pack_ztoc_entries_close(j.entries);
	pack_tree_close(j.tree);
	gzip_points_close(j.points);
	pack_ztoc_spans_close(j.spans);
	digest_free(j.out.digest);
	digest_algo_close(j.sha256);
	return rc;
}

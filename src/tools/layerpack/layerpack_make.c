/*
 * layerpack_make.c - creating a layer from an archive, and what it cost
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack.h"

#include "base/fdio.h"
#include "base/hex.h"
#include "base/output.h"
#include "base/sys.h"
#include "base/table.h"
#include "base/utc.h"
#include "format/gzip/deflate_engine.h"
#include "walk/walk_order.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum {
	LIST_MAX = 1 << 28,		/* maximum size of a list, in bytes */
	SECTION_MIN = 64 << 10
};

static const char *const columns[] = { "format", "level", "chunk_B",
    "min_chunk_B", "threads", "entries", "units", "files_B", "archive_B",
    "layer_B", "size_pct", "index_offset_B", "index_B", "index_raw_B",
    "tar_split_B", "trace_offset_B", "trace_B", "trace_raw_B",
    "sections", "sections_B", "sections_raw_B",
    "digests_offset_B", "digests_B", "compact_offset_B", "compact_B",
    "digest", "diff_id", "index_digest", "wall_s", "user_s", "sys_s",
    "maxrss_KiB", "libraries" };

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static void
make_failed(struct layerpack *p, const char *what, int rc)
{
	msg_error(&p->msg, "%s: %s", what, strerror(-rc));
}

int
layerpack_check_orders(struct layerpack *p)
{
	const struct options_list *lists = &p->o.make.lists;

	for (size_t i = 0; i < lists->count; i++) {
		const char *missing = walk_order_missing(p->orders[i]);

		if (missing == NULL || walk_order_found(p->orders[i]) > 0)
			continue;
		msg_error(&p->msg, "%s: none of its paths names a file in the "
		    "archive, for example %s", lists->items[i], missing);
		return -ENOENT;
	}
	return 0;
}

void
layerpack_warn(struct layerpack *p, const char *archive, const char *layer,
    const struct pack_result *r)
{
	if (r->flaw != NULL)
		msg_warn(&p->msg, "%s: %s", archive, r->flaw);
	if (r->lower_links > 0)
		msg_warn(&p->msg, "%s: %s, and so can only be in a lower "
		    "layer; containerd, Podman and CRI-O refuse such a layer",
		    archive, r->lower_link);
	if (r->lower_links > 1)
		msg_warn(&p->msg, "%s: %" PRIu64 " such hard links", archive,
		    r->lower_links);
	if (r->globals > 0)
		msg_warn(&p->msg, "%s: attributes of %" PRIu64 " of its "
		    "entries are in global extended headers, which containerd, "
		    "Podman and CRI-O ignore when they unpack a layer",
		    archive, r->globals);
	if (r->trace_length > LAYER_TRACE_MAX)
		msg_warn(&p->msg, "%s: the trace of %" PRIu64 " bytes exceeds "
		    "the 256 MiB that readers accept", layer,
		    r->trace_length);
	if (r->section_longest > LAYER_TRACE_MAX)
		msg_warn(&p->msg, "%s: a section of the trace, of %" PRIu64
		    " bytes, exceeds the 256 MiB that readers accept", layer,
		    r->section_longest);
}

static int
read_order(struct layerpack *p, const char *name, struct walk_order **order)
{
	size_t len, line = 0;
	char *text;
	int fd = sys_openat(AT_FDCWD, name, O_RDONLY | O_CLOEXEC, 0);
	int rc = fd < 0 ? fd : fdio_read_all(fd, LIST_MAX, &text, &len);

	if (fd >= 0)
		sys_close(fd);
	if (rc == 0)
		rc = walk_order_read(order, text, len, p->o.make.null_ends,
		    &line);
	if (rc == -EINVAL)
		msg_error(&p->msg, "%s: line %zu: expected a path, or a "
		    "number, a path, an offset and a length separated by tabs",
		    name, line);
	else if (rc != 0)
		make_failed(p, name, rc);
	return rc;
}

int
layerpack_make_prepare(struct layerpack *p, struct pack_options *pack)
{
	const struct layerpack_make_options *o = &p->o.make;
	int rc = 0;

	*pack = (struct pack_options){ .kind = o->kind,
		.threads = p->o.threads, .level = (int)o->level,
		.chunk = o->chunk, .min_chunk = o->min_chunk,
		.orders = p->orders, .order_count = o->lists.count,
		.section_min = SECTION_MIN, .trace = !o->no_trace, .no_tar_split = o->no_tar_split,
		.stargz = o->stargz,
		.no_compact = o->no_compact,
		/* a blob is complete if it has its digest */
		.refuse_empty = p->o.mode == LAYERPACK_MAKE,
		.tmpdir = layerpack_tmpdir(p) };
	if (o->windows != NULL && strcmp(o->windows, "packed") == 0)
		pack->windows = PACK_WINDOWS_PACKED;
	for (size_t i = 0; rc == 0 && i < o->lists.count; i++)
		rc = read_order(p, o->lists.items[i], &p->orders[i]);
	return rc;
}

void
layerpack_free_orders(struct layerpack *p)
{
	for (size_t i = 0; i < PACK_LISTS_MAX; i++)
		walk_order_free(p->orders[i]);
}

static void
put_digest(struct table *t, const uint8_t digest[LAYER_DIGEST])
{
	char text[HEX_SHA256];

	hex_write_sha256(text, digest);
	table_text(t, text);
}

/* Writes the layer's row to o->stats, or to standard error. */
static int
write_stats(const struct layerpack_make_options *o,
    const struct pack_options *pack, const struct pack_result *r,
    uint64_t wall_ns)
{
	const uint64_t sizes[] = { r->entries, r->units, r->files_B,
		r->content_size, r->blob_size };
	const uint64_t places[] = { r->index_offset, r->index_length,
		r->index_content, r->tar_split_length, r->trace_offset,
		r->trace_length, r->trace_content, r->sections,
		r->sections_length, r->sections_content,
		r->compact_offset - r->digests_length, r->digests_length,
		r->compact_offset, r->compact_length };
	struct table *t;
	int e, rc = table_to_stats(&t, o->stats, columns, COLUMNS);
	char libraries[128];
	struct rusage u;

	if (rc != 0)
		return rc;
	table_text(t, layer_kind_name(pack->kind));
	table_int(t, pack->level >= 0 ? pack->level :
	    pack_levels(pack->kind).usual);
	table_int(t, (int64_t)pack_chunk(pack));
	table_int(t, (int64_t)pack->min_chunk);
	table_int(t, pack->threads);
	table_counts(t, sizes, sizeof(sizes) / sizeof(*sizes));
	table_real(t, 100.0 * (double)r->blob_size / (double)r->content_size,
	    2);
	table_counts(t, places, sizeof(places) / sizeof(*places));
	put_digest(t, r->blob_digest);
	/* not computed for the layer of a ztoc */
	if (pack->kind == LAYER_ZTOC)
		table_none(t);
	else
		put_digest(t, r->content_digest);
	put_digest(t, r->index_digest);
	getrusage(RUSAGE_SELF, &u);
	table_real(t, (double)wall_ns / 1e9, 3);
	table_real(t, (double)utc_span_us(u.ru_utime) / 1e6, 3);
	table_real(t, (double)utc_span_us(u.ru_stime) / 1e6, 3);
	table_int(t, u.ru_maxrss);
	snprintf(libraries, sizeof(libraries), "%s, zstd %s",
	    deflate_engine_versions(), ZSTD_versionString());
	table_text(t, libraries);
	rc = table_end(t);
	e = table_close(t);
	return rc != 0 ? rc : e;
}

/* Packs the archive at the current position of `in`. */
static void
pack_archive(struct layerpack *p, const struct pack_options *pack, int in,
    const char *name, uint64_t size)
{
	const struct layerpack_make_options *o = &p->o.make;
	struct sandbox_dirs d = { .reading = -1, .making = -1, .renaming = -1 };
	struct pack_annotation a[PACK_ANNOTATIONS_MAX];
	struct pack_result r = { .entries = 0 };
	bool ztoc = pack->kind == LAYER_ZTOC;
	char digest[HEX_SHA256], why[LAYER_WHY];
	uint64_t start, wall_ns;
	struct output out;
	struct stat st;
	size_t n;
	int rc = output_create(&out, o->output, p->o.force);

	if (rc != 0) {
		make_failed(p, o->output, rc);
		return;
	}
	if (sys_fstat(in, &st) == 0 && output_is(&out, &st)) {
		msg_error(&p->msg, "%s is the input; not overwritten",
		    o->output);
		output_abort(&out);
		return;
	}
	/* all files are open; the output is linked to its name later */
	d.naming = out.direct ? -1 : out.dirfd;
	layerpack_confine(p, &d);
	start = sys_now_ns();
	progress_start(pack->progress, STDERR_FILENO, size, p->msg.quiet);
	rc = pack_layer(pack, in, out.fd, &r, why);
	progress_erase(pack->progress);
	wall_ns = sys_now_ns() - start;
	if (rc != 0)
		msg_error(&p->msg, "%s: %s", name, why);
	else
		rc = layerpack_check_orders(p);
	if (rc != 0) {
		output_abort(&out);
		return;
	}
	layerpack_warn(p, name, o->output, &r);
	rc = output_commit(&out, false);
	if (rc != 0) {
		make_failed(p, o->output, rc);
		return;
	}
	/* the values needed in an image's manifest */
	hex_write_sha256(digest, r.blob_digest);
	printf("digest %s\nsize %" PRIu64 "\n", digest, r.blob_size);
	hex_write_sha256(digest, ztoc ? r.index_digest : r.content_digest);
	printf("%s %s\n", ztoc ? "index_digest" : "diff_id", digest);
	n = pack_annotations(pack, &r, a);
	for (size_t i = 0; i < n; i++)
		printf("annotation %s=%s\n", a[i].name, a[i].value);
	if (o->stats != NULL) {
		rc = write_stats(o, pack, &r, wall_ns);
		if (rc != 0)
			make_failed(p, o->stats, rc);
	}
}

void
layerpack_make(struct layerpack *p)
{
	uint64_t least = p->o.make.min_layer;
	bool from_stdin = strcmp(p->o.source, "-") == 0, sized;
	const char *name = from_stdin ? "standard input" : p->o.source;
	int in = from_stdin ? STDIN_FILENO : sys_openat(AT_FDCWD,
	    p->o.source, O_RDONLY | O_CLOEXEC, 0);
	struct progress progress;
	struct pack_options pack;
	struct stat st;

	if (in < 0) {
		make_failed(p, name, in);
		return;
	}
	if (layerpack_make_prepare(p, &pack) != 0)
		goto out;
	pack.progress = &progress;
	/* the size of a pipe is unknown */
	sized = sys_fstat(in, &st) == 0 && S_ISREG(st.st_mode);
	if (least > 0 && sized && (uint64_t)st.st_size < least)
		msg_note(&p->msg, "%s: no ztoc created: %jd bytes is less than "
		    "--min-layer", name, (intmax_t)st.st_size);
	else
		pack_archive(p, &pack, in, name, sized ?
		    (uint64_t)st.st_size : 0);
out:
	layerpack_free_orders(p);
	if (!from_stdin)
		sys_close(in);
}

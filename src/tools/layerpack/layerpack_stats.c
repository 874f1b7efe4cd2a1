/*
 * layerpack_stats.c - the cost of making a layer, in one row
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layerpack_make.h"

#include "base/hex.h"
#include "base/table.h"
#include "format/gzip/deflate_engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zstd.h>

static const char *const columns[] = { "format", "level", "chunk_B",
    "min_chunk_B", "threads", "entries", "units", "files_B", "archive_B",
    "layer_B", "size_pct", "index_offset_B", "index_B", "index_raw_B",
    "tar_split_B", "trace_offset_B", "trace_B", "trace_raw_B",
    "digests_offset_B", "digests_B", "compact_offset_B", "compact_B",
    "digest", "diff_id", "index_digest", "wall_s", "user_s", "sys_s", "maxrss_KiB",
    "libraries" };

enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static void
put_digest(struct table *t, const uint8_t digest[LAYER_DIGEST])
{
	char text[HEX_SHA256];

	hex_write_sha256(text, digest);
	table_text(t, text);
}

static void
put_options(struct table *t, const struct pack_options *o)
{
	table_text(t, layer_kind_name(o->kind));
	table_int(t, o->level >= 0 ? o->level : pack_levels(o->kind).usual);
	table_int(t, (int64_t)pack_chunk(o));
	table_int(t, (int64_t)o->min_chunk);
	table_int(t, o->threads);
}

static void
put_result(struct table *t, const struct layerpack_make *m)
{
	const struct pack_result *r = &m->result;

	table_int(t, (int64_t)r->entries);
	table_int(t, (int64_t)r->units);
	table_int(t, (int64_t)r->files_B);
	table_int(t, (int64_t)r->content_size);
	table_int(t, (int64_t)r->blob_size);
	table_real(t, 100.0 * (double)r->blob_size / (double)r->content_size,
	    2);
	table_int(t, (int64_t)r->index_offset);
	table_int(t, (int64_t)r->index_length);
	table_int(t, (int64_t)r->index_content);
	table_int(t, (int64_t)r->tar_split_length);
	table_int(t, (int64_t)r->trace_offset);
	table_int(t, (int64_t)r->trace_length);
	table_int(t, (int64_t)r->trace_content);
	table_int(t, (int64_t)(r->compact_offset - r->digests_length));
	table_int(t, (int64_t)r->digests_length);
	table_int(t, (int64_t)r->compact_offset);
	table_int(t, (int64_t)r->compact_length);
	put_digest(t, r->blob_digest);
	/* not computed for the layer of a ztoc */
	if (m->pack.kind == LAYER_ZTOC)
		table_none(t);
	else
		put_digest(t, r->content_digest);
	put_digest(t, r->index_digest);
}

static double
timeval_s(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void
put_times(struct table *t, const struct layerpack_make *m)
{
	char libraries[128];
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	table_real(t, (double)m->wall_ns / 1e9, 3);
	table_real(t, timeval_s(u.ru_utime), 3);
	table_real(t, timeval_s(u.ru_stime), 3);
	table_int(t, u.ru_maxrss);
	snprintf(libraries, sizeof(libraries), "%s, zstd %s",
	    deflate_engine_versions(), ZSTD_versionString());
	table_text(t, libraries);
}

int
layerpack_write_stats(const struct layerpack_make *m)
{
	const char *to = m->o->stats;
	struct table *t;
	int e, rc = strcmp(to, "-") == 0 ? table_to_fd(&t, STDERR_FILENO,
	    TABLE_JSON, columns, COLUMNS) : table_append(&t, to, TABLE_JSON,
	    columns, COLUMNS);

	if (rc != 0)
		return rc;
	put_options(t, &m->pack);
	put_result(t, m);
	put_times(t, m);
	rc = table_end(t);
	e = table_close(t);
	return rc != 0 ? rc : e;
}

/*
 * pack_annotations.c - a manifest's annotations for a packed layer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: docs/estargz.md in containerd/stargz-snapshotter; pkg/zstdchunked
 * there and, before 1.44, in containers/storage; pkg/chunked/internal/minimal
 * in containers/storage, whose names also contain "github"; its pkg/chunked/toc,
 * which rejects a layer with both projects' digests.
 */
#include "lazy/pack/pack.h"

#include "base/hex.h"

#include <inttypes.h>
#include <stdio.h>

static char *
annotate(struct pack_annotation *a, size_t *n, const char *name)
{
	a[*n].name = name;
	return a[(*n)++].value;
}

static void
add_digest(struct pack_annotation *a, size_t *n, const char *name,
    const uint8_t digest[LAYER_DIGEST])
{
	hex_write_sha256(annotate(a, n, name), digest);
}

static void
add_position(struct pack_annotation *a, size_t *n, const char *name,
    const struct pack_result *r)
{
	/* type 1: a table of contents */
	snprintf(annotate(a, n, name), PACK_ANNOTATION_B, "%" PRIu64 ":%" PRIu64
	    ":%" PRIu64 ":1", r->index_offset, r->index_length,
	    r->index_content);
}

size_t
pack_annotations(const struct pack_options *o, const struct pack_result *r,
    struct pack_annotation a[PACK_ANNOTATIONS_MAX])
{
	bool chunked = o->kind == LAYER_ZSTD_CHUNKED;
	char digest[HEX_SHA256];
	size_t n = 0;

	if (!chunked && o->kind != LAYER_ESTARGZ)
		return 0;
	/* containers/storage rejects a layer with the annotations of both */
	if (chunked && !o->stargz) {
		add_digest(a, &n, "io.github.containers.zstd-chunked"
		    ".manifest-checksum", r->index_digest);
		add_position(a, &n, "io.github.containers.zstd-chunked"
		    ".manifest-position", r);
		if (r->tar_split_length > 0)
			snprintf(annotate(a, &n,
			    "io.github.containers.zstd-chunked"
			    ".tarsplit-position"), PACK_ANNOTATION_B,
			    "%" PRIu64 ":%" PRIu64 ":%" PRIu64,
			    r->tar_split_offset, r->tar_split_length,
			    r->tar_split_content);
	} else {
		/* the stargz project needs these in both formats */
		add_digest(a, &n, "containerd.io/snapshot/stargz/toc.digest",
		    r->toc_digest);
		snprintf(annotate(a, &n,
		    "io.containers.estargz.uncompressed-size"),
		    PACK_ANNOTATION_B, "%" PRIu64, r->content_size);
	}
	if (chunked) {
		add_digest(a, &n, "io.containers.zstd-chunked"
		    ".manifest-checksum", r->index_digest);
		add_position(a, &n, "io.containers.zstd-chunked"
		    ".manifest-position", r);
	}
	/* "sha256:", 64 digits, ":", offset, ":", length */
	if (r->compact_length > 0) {
		hex_write_sha256(digest, r->compact_digest);
		snprintf(annotate(a, &n, LAYER_COMPACT), PACK_ANNOTATION_B,
		    "%s:%" PRIu64 ":%" PRIu64, digest, r->compact_offset,
		    r->compact_length);
	}
	return n;
}

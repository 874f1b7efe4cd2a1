/*
 * layermount_expect.c - the properties expected of a layer before it is opened
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount_expect.h"

#include "base/hex.h"

#include <inttypes.h>
#include <stdio.h>

#define ESTARGZ_DIGEST "containerd.io/snapshot/stargz/toc.digest"
/*
 * containers/storage writes the first name, and the stargz project the second.
 */
static const char *const chunked_digest[] = {
	"io.github.containers.zstd-chunked.manifest-checksum",
	"io.containers.zstd-chunked.manifest-checksum", NULL };
static const char *const chunked_place[] = {
	"io.github.containers.zstd-chunked.manifest-position",
	"io.containers.zstd-chunked.manifest-position", NULL };

/* "offset:length:content:type" */
static void
take_place(struct layer_expect *e, const char *place)
{
	unsigned type;

	if (sscanf(place, "%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%u",
	    &e->index_offset, &e->index_length, &e->index_content,
	    &type) != 4 || type != 1)
		e->index_length = 0;
}

static const char *
annotation(const struct oci_document *d, size_t which,
    const char *const *names)
{
	const char *text = NULL;

	for (; text == NULL && *names != NULL; names++)
		text = oci_annotation(d, which, *names);
	return text;
}

int
source_expect(struct layermount *m, const struct oci_document *manifest,
    size_t which, struct layer_expect *e, struct source_digests *d)
{
	const char *text = m->o.index_digest, *place = NULL, *compact = text;

	*e = (struct layer_expect){ .kind = m->o.kind,
		.key_digest = m->o.has_key ? m->o.key : NULL };
	if (manifest != NULL && text == NULL) {
		text = oci_annotation(manifest, which, ESTARGZ_DIGEST);
		place = annotation(manifest, which, chunked_place);
		if (text == NULL)
			text = annotation(manifest, which, chunked_digest);
		compact = oci_annotation(manifest, which, LAYER_COMPACT);
	}
	if (compact != NULL && layer_expect_compact(e, d->compact,
	    compact) == 0 && compact == text)
		return 0;
	if (place != NULL)
		take_place(e, place);
	if (text == NULL)
		return 0;
	e->index_digest = d->index;
	return hex_read_sha256(d->index, text);
}

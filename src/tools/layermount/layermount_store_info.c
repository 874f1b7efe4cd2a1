/*
 * layermount_store_info.c - the description of a layer in a store
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount_store.h"

#include "base/args.h"
#include "base/hex.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

bool
store_is_digest(const char *s)
{
	uint8_t digest[LAYER_DIGEST];

	return hex_read_sha256(digest, s) == 0;
}

int
store_refuse(struct layermount *m, const struct store_layer *l, int rc,
    const char *why)
{
	char name[sizeof(l->image->of.base) + sizeof(l->digest) + 8];

	snprintf(name, sizeof(name), "%s/blobs/%s", l->image->of.base,
	    l->digest);
	return layermount_refuse(m, name, rc, why);
}

/*
 * Returns the number by which containers/storage identifies the layer's
 * compression method.
 */
static int
compression_of(const struct layer *l)
{
	return layer_kind(l) == LAYER_ZSTD_CHUNKED ? 4 : 2;
}

/*
 * Returns the size of a layer's archive: the headers and data of its entries.
 * Extended headers are unknown and not counted.
 */
static int64_t
archive_size(const struct layer *l)
{
	enum { RECORD = 512 };
	uint64_t size = 2 * RECORD;
	size_t count;
	const struct layer_entry *e = layer_entries(l, &count);

	for (size_t i = 0; i < count && size < INT64_MAX / 2; i++)
		size += RECORD + (e[i].type != TAR_FILE ? 0 :
		    (e[i].size / RECORD + (e[i].size % RECORD != 0)) * RECORD);
	return size > INT64_MAX ? INT64_MAX : (int64_t)size;
}

/* See type Layer in layers.go in containers/storage. */
int
store_describe(struct layermount *m, struct store_layer *l, size_t which)
{
	const char *diff_id = oci_diff_id(l->image->config, which);
	const char *size = oci_annotation(l->image->manifest, which,
	    "io.containers.estargz.uncompressed-size");
	const struct layer *layer = l->stack.sources[0]->layer;
	int64_t length;

	if (diff_id == NULL || !store_is_digest(diff_id))
		return store_refuse(m, l, -EBADMSG, "the image's config has no "
		    "valid diff_id for the layer");
	if (size == NULL || args_int(size, 0, INT64_MAX, &length) != 0)
		length = archive_size(layer);
	l->info_length = (size_t)snprintf(l->info, sizeof(l->info),
	    "{\"compressed-diff-digest\":\"%s\",\"compressed-size\":%" PRIu64
	    ",\"diff-digest\":\"%s\",\"diff-size\":%" PRId64
	    ",\"compression\":%d}\n", l->digest, l->size, diff_id, length,
	    compression_of(layer));
	return 0;
}

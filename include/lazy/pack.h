/*
 * pack.h - writing layers that can be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The formats and their sources are described in doc/layers.md.  The same
 * archive and options give the same bytes whatever the number of threads.
 */
#ifndef COLDPRESS_LAZY_PACK_H
#define COLDPRESS_LAZY_PACK_H

#include "lazy/layer.h"

#include <stdbool.h>
#include <stdint.h>

struct walk_order;

struct pack_options {
	enum layer_kind kind;
	unsigned threads;
	int level;			/* of the compressor; -1: its default */
	uint64_t chunk;			/* bytes of a unit; 0: the format's
					 * default */
	struct walk_order *order;	/* files to put first, or NULL */
	bool trace;			/* store what order lists once more */
	const char *tmpdir;		/* for what has to wait */
};

struct pack_result {
	uint8_t blob_digest[LAYER_DIGEST];	/* of what was written */
	uint8_t content_digest[LAYER_DIGEST];	/* of the tar in it: diff_id */
	uint8_t index_digest[LAYER_DIGEST];	/* see layer_expect */
	uint64_t blob_size, content_size;
	/* see layer_expect */
	uint64_t index_offset, index_length, index_content;
	uint64_t entries, units;
};

/*
 * Reads the archive, compressed or not, that in is positioned at, and writes
 * the layer, or for LAYER_ZTOC the index, to out.  Both remain the caller's; the
 * output is complete only if this succeeds.  0, or -errno with a clause in why:
 * -EBADMSG, -ENODATA (the archive is damaged or truncated), -EINVAL (the format
 * cannot represent it, or the options do not suit it), -EFBIG, -ENOMEM, or of a
 * read or write.
 */
int pack_layer(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY]);

#endif

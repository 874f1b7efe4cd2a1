/*
 * ztoc_state.h - a ztoc in memory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_ZTOC_ZTOC_STATE_H
#define COLDPRESS_LAZY_ZTOC_ZTOC_STATE_H

#include "lazy/ztoc/flatbuf.h"
#include "lazy/format.h"

#include <stdbool.h>

/* A span is a unit of the layer. */
struct ztoc_span {
	uint64_t in, out;		/* see gzip_points.h */
	uint64_t window_at;		/* position of the span's window in the
					 * side file */
	const uint8_t *window;		/* the span's window in memory, or
					 * NULL */
	uint32_t window_len;		/* length of the window */
	uint8_t bits;
	uint8_t digest[LAYER_DIGEST];
	uint8_t window_digest[LAYER_DIGEST];	/* for a window in the side
						 * file */
};

struct ztoc {
	bool plain;			/* the layer is not compressed */
	bool packed;			/* windows are in the side file */
	struct ztoc_span *spans;
	size_t count;
	uint64_t content;		/* size of the archive */
	uint8_t *data;			/* the index, as long as it is needed */
	size_t len;
	uint64_t windows;		/* size of the windows in the side
					 * file */
};

/* The name of the side object; see struct layer_range. */
#define ZTOC_OBJECT "ztoc"

/* Returns the offset and length of a span in the layer. */
struct layer_range ztoc_span_range(const struct layer *l,
    const struct ztoc *z, size_t i);

/* Rejects the index as damaged.  Returns -EBADMSG. */
int ztoc_damaged(char why[LAYER_WHY], const char *what);

/* Reads the spans, the units of the index.  Returns 0 or -errno as above. */
int ztoc_read_spans(struct layer *l, struct ztoc *z,
    const struct flatbuf_table *compression, char why[LAYER_WHY]);

/* Reads the entries, after the spans.  Returns 0 or -errno as above. */
int ztoc_read_entries(struct layer *l, const struct ztoc *z,
    const struct flatbuf_table *toc, char why[LAYER_WHY]);

#endif

/*
 * http_spans.h - deciding which bytes to request, and storing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The requested ranges are sorted, and ranges with a small gap between them are
 * merged into one span, because a few unneeded bytes cost less than another
 * request.  A span records how much of it has been received, so a retry
 * continues from there.
 */
#ifndef COLDPRESS_HTTP_SPANS_H
#define COLDPRESS_HTTP_SPANS_H

#include "lazy/layer.h"

#include <stddef.h>
#include <stdint.h>

struct http_span {
	uint64_t offset, length;
	uint64_t got;			/* bytes received so far */
};

struct http_spans {
	const struct layer_range **sorted;	/* by offset */
	size_t range_count;
	struct http_span *spans;		/* in ascending order */
	size_t count;
	uint64_t wanted;			/* total size of the ranges */
};

/*
 * Merges count ranges, which still belong to the caller, into spans; ranges
 * less than gap bytes apart become one span, unless its length would exceed
 * longest.  Empty ranges are skipped.  Returns 0, -EINVAL (a range ends beyond
 * 2^63) or -ENOMEM.
 */
int http_spans_plan(struct http_spans *s, const struct layer_range *ranges,
    size_t count, uint64_t gap, uint64_t longest);
void http_spans_free(struct http_spans *s);	/* may be zeroed */

/*
 * Stores received bytes of the object at offset if they are requested and
 * continue their span.  Returns the number of bytes stored.
 */
uint64_t http_spans_take(struct http_spans *s, uint64_t offset,
    const void *data, size_t len);

/* Returns the number of bytes still to be received. */
uint64_t http_spans_left(const struct http_spans *s);

#endif

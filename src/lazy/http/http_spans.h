/*
 * http_spans.h - planning which bytes to request, and placing them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The ranges that a caller wants are sorted, and those with a small gap between
 * them become one span: unneeded bytes cost less than another request.  A span
 * records how much of it has arrived, so a retry continues there.
 */
#ifndef COLDPRESS_HTTP_SPANS_H
#define COLDPRESS_HTTP_SPANS_H

#include "lazy/layer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_span {
	uint64_t offset, length;
	uint64_t got;			/* bytes received, from the start */
};

struct http_spans {
	const struct layer_range **sorted;	/* by offset */
	size_t range_count;
	struct http_span *spans;		/* ascending, not touching */
	size_t count;
	uint64_t wanted;			/* bytes of all ranges together */
};

/*
 * Plans count ranges, which remain the caller's; those less than gap bytes
 * apart become one span, unless it would exceed longest.  Empty ranges are
 * skipped.  Returns 0, -EINVAL (a range ends beyond 2^63) or -ENOMEM.
 */
int http_spans_plan(struct http_spans *s, const struct layer_range *ranges,
    size_t count, uint64_t gap, uint64_t longest);
void http_spans_free(struct http_spans *s);	/* may be zeroed */

/*
 * Takes bytes of the object that arrived at offset.  Stores those that are
 * wanted and continue their span, and returns how many it stored.
 */
uint64_t http_spans_take(struct http_spans *s, uint64_t offset,
    const void *data, size_t len);

/* Returns the number of bytes yet to arrive. */
uint64_t http_spans_left(const struct http_spans *s);

#endif

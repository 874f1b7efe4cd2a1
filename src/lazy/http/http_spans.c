/*
 * http_spans.c - deciding which bytes to request, and storing them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_spans.h"

#include "base/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int
by_offset(const void *a, const void *b)
{
	const struct layer_range *const *x = a, *const *y = b;

	return ((*x)->offset > (*y)->offset) - ((*x)->offset < (*y)->offset);
}

static uint64_t
end_of(const struct layer_range *r)
{
	return r->offset + r->length;
}

/* Extends the last span, or adds one. */
static void
add_range(struct http_spans *s, const struct layer_range *r, uint64_t gap,
    uint64_t longest)
{
	struct http_span *last = s->count == 0 ? NULL :
	    &s->spans[s->count - 1];
	uint64_t end = last == NULL ? 0 : last->offset + last->length;

	/* overlaps must not be requested twice */
	if (last != NULL && (r->offset < end || (r->offset - end < gap &&
	    end_of(r) - last->offset <= longest))) {
		if (end_of(r) > end)
			last->length = end_of(r) - last->offset;
		return;
	}
	s->spans[s->count++] = (struct http_span){ .offset = r->offset,
		.length = r->length };
}

int
http_spans_plan(struct http_spans *s, const struct layer_range *ranges,
    size_t count, uint64_t gap, uint64_t longest)
{
	uint64_t end = 0;

	*s = (struct http_spans){ .range_count = 0 };
	s->sorted = sys_calloc(count + 1, sizeof(struct layer_range *));
	s->spans = sys_calloc(count + 1, sizeof(*s->spans));
	if (s->sorted == NULL || s->spans == NULL) {
		http_spans_free(s);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].offset > INT64_MAX ||
		    ranges[i].length > INT64_MAX - ranges[i].offset) {
			http_spans_free(s);
			return -EINVAL;
		}
		if (ranges[i].length > 0)
			s->sorted[s->range_count++] = &ranges[i];
	}
	qsort(s->sorted, s->range_count, sizeof(struct layer_range *),
	    by_offset);
	for (size_t i = 0; i < s->range_count; i++) {
		const struct layer_range *r = s->sorted[i];

		if (end_of(r) > end)
			s->wanted += end_of(r) - (r->offset > end ? r->offset :
			    end);
		end = end_of(r) > end ? end_of(r) : end;
		add_range(s, r, gap, longest);
	}
	return 0;
}

void
http_spans_free(struct http_spans *s)
{
	sys_free(s->sorted);
	sys_free(s->spans);
	*s = (struct http_spans){ .count = 0 };
}

/* Copies the bytes that are in the range. */
static void
copy_range(const struct layer_range *r, uint64_t offset, const char *data,
    uint64_t len)
{
	uint64_t from = r->offset > offset ? r->offset : offset;
	uint64_t end = end_of(r) < offset + len ? end_of(r) : offset + len;

	if (from < end)
		memcpy((char *)r->buf + (from - r->offset),
		    data + (from - offset), (size_t)(end - from));
}

/*
 * Copies the bytes [offset, offset + len), which are all in one span, to their
 * ranges.
 */
static void
scatter(struct http_spans *s, uint64_t offset, const char *data, uint64_t len)
{
	for (size_t i = 0; i < s->range_count &&
	    s->sorted[i]->offset < offset + len; i++)
		copy_range(s->sorted[i], offset, data, len);
}

/* Returns the first span that ends after offset. */
static size_t
span_after(const struct http_spans *s, uint64_t offset)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->spans[mid].offset + s->spans[mid].length <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint64_t
http_spans_take(struct http_spans *s, uint64_t offset, const void *data,
    size_t len)
{
	uint64_t end = offset + len, taken = 0;

	for (size_t i = span_after(s, offset); i < s->count &&
	    s->spans[i].offset < end; i++) {
		struct http_span *span = &s->spans[i];
		uint64_t next = span->offset + span->got;
		uint64_t stop = span->offset + span->length;

		if (stop > end)
			stop = end;
		if (next < offset || next >= stop)
			continue;
		scatter(s, next, (const char *)data + (next - offset),
		    stop - next);
		span->got += stop - next;
		taken += stop - next;
	}
	return taken;
}

uint64_t
http_spans_left(const struct http_spans *s)
{
	uint64_t left = 0;

	for (size_t i = 0; i < s->count; i++)
		left += s->spans[i].length - s->spans[i].got;
	return left;
}

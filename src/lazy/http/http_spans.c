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

int
http_spans_plan(struct http_spans *s, const struct layer_range *ranges,
    size_t count, uint64_t gap, uint64_t longest)
{
	struct http_span *last = NULL;
	uint64_t end = 0, last_end = 0;

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
		/* overlaps must not be requested twice */
		if (last != NULL && (r->offset < last_end ||
		    (r->offset - last_end < gap &&
		    end_of(r) - last->offset <= longest))) {
			if (end_of(r) > last_end)
				last->length = end_of(r) - last->offset;
		} else {
			last = &s->spans[s->count++];
			*last = (struct http_span){ .offset = r->offset,
				.length = r->length };
		}
		last_end = last->offset + last->length;
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

uint64_t
http_spans_take(struct http_spans *s, uint64_t offset, const void *data,
    size_t len)
{
	uint64_t end = offset + len, taken = 0;
	size_t low = 0, high = s->count;

	/* the first span that ends after offset */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->spans[mid].offset + s->spans[mid].length <= offset)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < s->count && s->spans[low].offset < end; low++) {
		struct http_span *span = &s->spans[low];
		uint64_t next = span->offset + span->got;
		uint64_t stop = span->offset + span->length;

		if (stop > end)
			stop = end;
		if (next < offset || next >= stop)
			continue;
		/* copies [next, stop) to the ranges that have a part of it */
		for (size_t i = 0; i < s->range_count &&
		    s->sorted[i]->offset < stop; i++) {
			const struct layer_range *r = s->sorted[i];
			uint64_t from = r->offset > next ? r->offset : next;
			uint64_t to = end_of(r) < stop ? end_of(r) : stop;

			if (from < to)
				memcpy((char *)r->buf + (from - r->offset),
				    (const char *)data + (from - offset),
				    (size_t)(to - from));
		}
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

/*
 * layermount_trace.c - the data touched at startup, fetched as one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pieces are decoded, as they arrive, into an unnamed file, so that they
 * use disk space instead of memory.  They are sorted by file and offset, do not
 * overlap, and are found by binary search.
 */
#include "layermount.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	uint32_t layer, entry;
	uint64_t offset, length;	/* offset in the layer's file */
	uint64_t at;			/* offset in our file */
};

struct trace {
	int fd;
	uint32_t layer;			/* layer being loaded */
	struct stream *stream;
	struct piece *pieces;
	size_t count, cap;
	uint64_t end;
};

static int
by_place(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer > y->layer ? 1 : -1;
	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static ssize_t
next(void *arg, const uint8_t **data)
{
	struct trace *t = arg;

	return stream_next(t->stream, data);
}

static int
take(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct trace *t = arg;
	void *pieces = t->pieces;
	int rc = array_grow(&pieces, t->count, &t->cap, sizeof(*t->pieces));

	t->pieces = pieces;
	if (rc == 0)
		rc = fdio_pwrite(t->fd, data, length, (off_t)t->end);
	if (rc != 0)
		return rc;
	t->pieces[t->count++] = (struct piece){ .layer = t->layer,
		.entry = (uint32_t)entry, .offset = offset, .length = length,
		.at = t->end };
	t->end += length;
	return 0;
}

/* Loads a layer's trace.  After an error, the layer is read without it. */
static int
load_layer(struct stack *k, struct trace *t)
{
	struct source *s = k->sources[t->layer];
	const struct layer_trace_io io = { .next = next, .take = take,
		.arg = t };
	size_t before = t->count;
	struct layer_range r;
	char why[LAYER_WHY];
	int rc;

	if (!layer_trace(s->layer, &r) || r.length > LAYER_TRACE_MAX)
		return 0;
	rc = stream_open(&t->stream, s, &r);
	if (rc == 0) {
		rc = layer_trace_decode(s->layer, &io);
		stream_close(t->stream, rc == -EBADMSG);
	}
	if (rc != 0) {
		t->count = before;
		snprintf(why, sizeof(why), "ignoring the trace: %s",
		    strerror(-rc));
		layermount_warn(k->m, s->name, why);
	}
	return 0;
}

static bool
has_trace(const struct stack *s)
{
	struct layer_range r;

	for (size_t i = 0; i < s->source_count; i++)
		if (layer_trace(s->sources[i]->layer, &r))
			return true;
	return false;
}

/* Trims or drops pieces that overlap an earlier piece of the same file. */
static void
separate(struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++) {
		struct piece p = t->pieces[i], *last = &t->pieces[n - (n > 0)];
		uint64_t twice = n == 0 || last->layer != p.layer ||
		    last->entry != p.entry ||
		    last->offset + last->length <= p.offset ? 0 :
		    last->offset + last->length - p.offset;

		if (twice >= p.length)
			continue;
		p.offset += twice;
		p.at += twice;
		p.length -= twice;
		t->pieces[n++] = p;
	}
	t->count = n;
}

int
trace_load(struct stack *s)
{
	struct trace *t;
	int rc = 0;

	if (!has_trace(s))
		return 0;
	t = sys_calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->fd = cache_unnamed(s->m->cache_dir);
	if (t->fd < 0) {
		rc = t->fd;
		sys_free(t);
		return rc;
	}
	for (t->layer = 0; rc == 0 && t->layer < s->source_count; t->layer++)
		rc = load_layer(s, t);
	if (rc != 0 || t->count == 0) {
		trace_free(t);
		return rc;
	}
	qsort(t->pieces, t->count, sizeof(*t->pieces), by_place);
	separate(t);
	s->trace = t;
	return 0;
}

void
trace_free(struct trace *t)
{
	if (t == NULL)
		return;
	sys_close(t->fd);
	sys_free(t->pieces);
	sys_free(t);
}

static bool
is_of(const struct piece *p, uint32_t layer, uint32_t entry)
{
	return p->layer == layer && p->entry == entry;
}

/*
 * Returns the first piece of the file that ends after offset, or a piece of
 * another file.
 */
static size_t
find(const struct trace *t, uint32_t layer, uint32_t entry, uint64_t offset)
{
	const struct piece key = { .layer = layer, .entry = entry,
		.offset = offset };
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct piece *p = &t->pieces[mid];

		if (is_of(p, layer, entry) ? p->offset + p->length <= offset :
		    by_place(p, &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t
entry_of(struct stack *s, const struct merge_node *n)
{
	size_t count;

	return (uint32_t)(n->entry - layer_entries(s->sources[n->layer]->layer,
	    &count));
}

bool
trace_read(struct stack *s, const struct merge_node *n, uint64_t offset,
    size_t size, uint8_t *buf)
{
	const struct trace *t = s->trace;
	size_t i;
	uint32_t entry = entry_of(s, n);
	uint64_t at = offset, end = offset + size;

	for (i = find(t, n->layer, entry, offset); at < end; i++) {
		const struct piece *p = &t->pieces[i];
		uint64_t len;

		if (i == t->count || !is_of(p, n->layer, entry) ||
		    p->offset > at)
			return false;
		len = p->offset + p->length - at;
		len = len < end - at ? len : end - at;
		if (fdio_pread(t->fd, buf + (at - offset), len, (off_t)(p->at +
		    (at - p->offset))) != (ssize_t)len)
			return false;
		at += len;
	}
	return true;
}

size_t
trace_next(struct stack *s, const struct merge_node *n, uint64_t *offset,
    size_t size, uint8_t *buf)
{
	const struct trace *t = s->trace;
	uint32_t entry = entry_of(s, n);
	size_t got = 0;

	for (size_t i = find(t, n->layer, entry, *offset); got < size &&
	    i < t->count && is_of(&t->pieces[i], n->layer, entry); i++) {
		const struct piece *p = &t->pieces[i];
		uint64_t len, at = *offset + got;

		if (p->offset > at && got > 0)
			break;
		if (p->offset > at)
			*offset = at = p->offset;
		len = p->offset + p->length - at;
		len = len < size - got ? len : size - got;
		if (fdio_pread(t->fd, buf + got, len, (off_t)(p->at +
		    (at - p->offset))) != (ssize_t)len)
			break;
		got += len;
	}
	return got;
}

/*
 * vfs_trace.c - the data touched at startup, fetched as one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pieces are decoded, as they arrive, into an unnamed file, so that they
 * use disk space instead of memory.  They are sorted by file and offset, do not
 * overlap, and are found by binary search.
 */
#include "vfs_private.h"

#include "lazy/vfs/cache.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trace_piece {
	uint32_t layer, entry;
	uint64_t offset, length;	/* offset in the layer's file */
	uint64_t at;			/* offset in our file */
};

struct vfs_trace {
	int fd;
	uint32_t layer;			/* layer being loaded */
	struct vfs_stream *stream;
	struct trace_piece *pieces;
	size_t count, cap;
	uint64_t end;
};

static int
by_file(const void *a, const void *b)
{
	const struct trace_piece *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer > y->layer ? 1 : -1;
	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static ssize_t
next_bytes(void *arg, const uint8_t **data)
{
	struct vfs_trace *t = arg;

	return vfs_stream_next(t->stream, data);
}

static int
add_piece(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct vfs_trace *t = arg;
	void *pieces = t->pieces;
	int rc = array_grow(&pieces, t->count, &t->cap, sizeof(*t->pieces));

	t->pieces = pieces;
	if (rc == 0)
		rc = fdio_pwrite(t->fd, data, length, (off_t)t->end);
	if (rc != 0)
		return rc;
	t->pieces[t->count++] = (struct trace_piece){ .layer = t->layer,
		.entry = (uint32_t)entry, .offset = offset, .length = length,
		.at = t->end };
	t->end += length;
	return 0;
}

int
vfs_trace_load(struct vfs_trace **out, struct vfs_source *const *sources,
    size_t count, int dir, const struct vfs_report *report)
{
	struct vfs_trace *t = sys_calloc(1, sizeof(*t));
	const struct layer_trace_io io = { .next = next_bytes,
		.take = add_piece, .arg = t };
	char why[LAYER_WHY];
	size_t n = 0;

	*out = NULL;
	if (t == NULL)
		return -ENOMEM;
	t->fd = cache_unnamed(dir);
	/* everything can be read without it */
	if (t->fd < 0) {
		snprintf(why, sizeof(why), "ignoring the trace: %s",
		    strerror(-t->fd));
		report->warn(report->arg, sources[0]->name, why);
		sys_free(t);
		return 0;
	}
	for (t->layer = 0; t->layer < count; t->layer++) {
		struct vfs_source *s = sources[t->layer];
		size_t before = t->count;
		struct layer_range r;
		int rc;

		if (!layer_trace(s->layer, &r) || r.length > LAYER_TRACE_MAX)
			continue;
		rc = vfs_stream_open(&t->stream, s, &r);
		if (rc == 0) {
			rc = layer_trace_decode(s->layer, &io);
			vfs_stream_close(t->stream, rc == -EBADMSG);
		}
		if (rc == 0)
			continue;
		t->count = before;
		snprintf(why, sizeof(why), "ignoring the trace: %s",
		    strerror(-rc));
		report->warn(report->arg, s->name, why);
	}
	if (t->count == 0) {
		vfs_trace_free(t);
		return 0;
	}
	qsort(t->pieces, t->count, sizeof(*t->pieces), by_file);
	/* trims or drops pieces that overlap an earlier one of the same file */
	for (size_t i = 0; i < t->count; i++) {
		struct trace_piece p = t->pieces[i];
		const struct trace_piece *last = &t->pieces[n - (n > 0)];
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
	*out = t;
	return 0;
}

void
vfs_trace_free(struct vfs_trace *t)
{
	sys_close(t->fd);
	sys_free(t->pieces);
	sys_free(t);
}

static bool
is_in_file(const struct trace_piece *p, uint32_t layer, uint32_t entry)
{
	return p->layer == layer && p->entry == entry;
}

/*
 * Returns the first piece of the file that ends after offset, or a piece of
 * another file.
 */
static size_t
find_piece(const struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t offset)
{
	const struct trace_piece key = { .layer = layer, .entry = entry,
		.offset = offset };
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct trace_piece *p = &t->pieces[mid];

		if (is_in_file(p, layer, entry) ?
		    p->offset + p->length <= offset : by_file(p, &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool
vfs_trace_read(const struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t offset, size_t size, uint8_t *buf)
{
	uint64_t at = offset, end = offset + size;
	size_t i;

	for (i = find_piece(t, layer, entry, offset); at < end; i++) {
		const struct trace_piece *p = &t->pieces[i];
		uint64_t len;

		if (i == t->count || !is_in_file(p, layer, entry) ||
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
vfs_trace_next(const struct vfs_trace *t, uint32_t layer, uint32_t entry,
    uint64_t *offset, size_t size, uint8_t *buf)
{
	size_t got = 0;

	for (size_t i = find_piece(t, layer, entry, *offset); got < size &&
	    i < t->count && is_in_file(&t->pieces[i], layer, entry); i++) {
		const struct trace_piece *p = &t->pieces[i];
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

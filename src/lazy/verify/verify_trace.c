/*
 * verify_trace.c - comparing a layer's trace with its files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pieces of a trace are in startup order, and comparing them in that order
 * would require decoding the same units repeatedly.  Therefore they are stored
 * in an unnamed file, and compared in the order of the archive.
 */
#include "verify_impl.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct trace_piece {
	uint32_t entry;
	uint32_t length;
	uint64_t offset;		/* offset in the layer's file */
	uint64_t at;			/* offset in our file */
};

enum { PART = 1 << 20 };

struct spooled_trace {
	const struct layer_blobs *blobs;
	struct layer_range stored;	/* range not yet read */
	uint8_t *part;
	int fd;
	struct trace_piece *pieces;
	size_t count, cap, longest;
	uint64_t end;
	uint8_t *buf;
};

static int
spool_piece(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct spooled_trace *t = arg;
	void *pieces = t->pieces;
	int rc = array_grow(&pieces, t->count, &t->cap, sizeof(*t->pieces));

	t->pieces = pieces;
	if (rc == 0)
		rc = fdio_write(t->fd, data, length);
	if (rc != 0)
		return rc;
	t->pieces[t->count++] = (struct trace_piece){ .entry = (uint32_t)entry,
		.length = (uint32_t)length, .offset = offset, .at = t->end };
	t->end += length;
	if (length > t->longest)
		t->longest = length;
	return 0;
}

/* Reports a trace that readers would not use. */
static int
refuse_trace(struct verify *v, int rc)
{
	if (rc != -EBADMSG && rc != -EFBIG)
		return rc;
	verify_fault(v, "the trace is %s", rc == -EFBIG ?
	    "larger than readers accept" : "damaged or does not fit the index");
	return 0;
}

static ssize_t
read_trace(void *arg, const uint8_t **data)
{
	struct spooled_trace *t = arg;
	struct layer_range r = { .offset = t->stored.offset, .buf = t->part,
		.length = t->stored.length < PART ? t->stored.length : PART };
	int rc = t->blobs->read(t->blobs->arg, &r, 1);

	t->stored.offset += r.length;
	t->stored.length -= r.length;
	*data = t->part;
	return rc == 0 ? (ssize_t)r.length : rc;
}

/* Decodes the trace into the file. */
static int
spool_trace(struct verify *v, struct spooled_trace *t)
{
	const struct layer_trace_io io = { .next = read_trace, .take = spool_piece,
		.arg = t };
	int rc;

	t->blobs = v->blobs;
	t->part = sys_malloc(PART);
	rc = t->part == NULL ? -ENOMEM : layer_trace_decode(v->l, &io);
	sys_free(t->part);
	return rc;
}

/* Comparing */

static int
by_entry(const void *a, const void *b)
{
	const struct trace_piece *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Compares piece i; only the first difference in a file is reported. */
static int
compare_piece(struct verify *v, struct spooled_trace *t, size_t i, uint32_t *reported)
{
	const struct trace_piece *p = &t->pieces[i];
	const struct layer_entry *e = &v->entries[p->entry];
	size_t run = layer_find_run(e, p->offset);
	ssize_t n = fdio_pread(t->fd, t->buf, p->length, (off_t)p->at);

	if (n != (ssize_t)p->length)
		return n < 0 ? (int)n : -EIO;
	if (verify_data(v, e, &run, p->offset, t->buf, p->length) ||
	    *reported == p->entry)
		return 0;
	*reported = p->entry;
	verify_fault(v, "%s: the trace differs from the file in the %" PRIu32
	    " bytes at offset %" PRIu64, e->path, p->length, p->offset);
	return 0;
}

static int
compare_trace(struct verify *v, struct spooled_trace *t)
{
	uint32_t reported = UINT32_MAX;
	int rc = 0;

	if (t->count == 0)
		return 0;
	qsort(t->pieces, t->count, sizeof(*t->pieces), by_entry);
	t->buf = sys_malloc(t->longest);
	if (t->buf == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < t->count; i++)
		rc = compare_piece(v, t, i, &reported);
	sys_free(t->buf);
	return rc;
}

int
verify_trace(struct verify *v)
{
	struct spooled_trace t = { .fd = v->o->spool };
	int rc;

	if (t.fd < 0 || !layer_trace(v->l, &t.stored))
		return 0;
	rc = spool_trace(v, &t);
	rc = rc != 0 ? refuse_trace(v, rc) : compare_trace(v, &t);
	sys_free(t.pieces);
	return rc;
}

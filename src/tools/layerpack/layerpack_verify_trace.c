/*
 * layerpack_verify_trace.c - comparing a layer's trace with its files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The pieces of a trace are in startup order, and comparing them in that order
 * would require decoding the same units repeatedly.  Therefore they are stored
 * in an unnamed file, and compared in the order of the archive.
 */
#include "layerpack_verify.h"

#include "base/array.h"
#include "base/fdio.h"
#include "base/sys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	uint32_t entry;
	uint32_t length;
	uint64_t offset;		/* offset in the layer's file */
	uint64_t at;			/* offset in our file */
};

enum { PART = 1 << 20 };

struct trace {
	const struct layer_blobs *blobs;
	struct layer_range stored;	/* range not yet read */
	uint8_t *part;
	int fd;
	struct piece *pieces;
	size_t count, cap, longest;
	uint64_t end;
	uint8_t *buf;
};

static int
take(void *arg, size_t entry, uint64_t offset, const void *data,
    size_t length)
{
	struct trace *t = arg;
	void *pieces = t->pieces;
	int rc = array_grow(&pieces, t->count, &t->cap, sizeof(*t->pieces));

	t->pieces = pieces;
	if (rc == 0)
		rc = fdio_write(t->fd, data, length);
	if (rc != 0)
		return rc;
	t->pieces[t->count++] = (struct piece){ .entry = (uint32_t)entry,
		.length = (uint32_t)length, .offset = offset, .at = t->end };
	t->end += length;
	if (length > t->longest)
		t->longest = length;
	return 0;
}

/* Reports a trace that readers would not use. */
static int
refuse(struct verify *v, int rc)
{
	if (rc != -EBADMSG && rc != -EFBIG)
		return rc;
	msg_error(&v->p->msg, "%s: the trace is %s", v->p->o.source,
	    rc == -EFBIG ? "larger than readers accept" :
	    "damaged or does not fit the index");
	return 0;
}

static ssize_t
next(void *arg, const uint8_t **data)
{
	struct trace *t = arg;
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
load(struct verify *v, struct trace *t)
{
	const struct layer_trace_io io = { .next = next, .take = take,
		.arg = t };
	int rc;

	t->blobs = blobs_file_blobs(v->s.blobs);
	t->part = sys_malloc(PART);
	rc = t->part == NULL ? -ENOMEM : layer_trace_decode(v->s.l, &io);
	sys_free(t->part);
	return rc;
}

/* Comparing */

static int
by_place(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->entry != y->entry)
		return x->entry > y->entry ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Compares piece i; only the first difference in a file is reported. */
static int
compare(struct verify *v, struct trace *t, size_t i, uint32_t *reported)
{
	const struct piece *p = &t->pieces[i];
	const struct layer_entry *e = &v->entries[p->entry];
	size_t run = layer_find_run(e, p->offset);
	ssize_t n = fdio_pread(t->fd, t->buf, p->length, (off_t)p->at);

	if (n != (ssize_t)p->length)
		return n < 0 ? (int)n : -EIO;
	if (verify_data(v, e, &run, p->offset, t->buf, p->length) ||
	    *reported == p->entry)
		return 0;
	*reported = p->entry;
	msg_error(&v->p->msg, "%s: %s: the trace differs from the file in the "
	    "%" PRIu32 " bytes at offset %" PRIu64,
	    v->p->o.source, e->path, p->length, p->offset);
	return 0;
}

static int
compare_all(struct verify *v, struct trace *t)
{
	uint32_t reported = UINT32_MAX;
	int rc = 0;

	if (t->count == 0)
		return 0;
	qsort(t->pieces, t->count, sizeof(*t->pieces), by_place);
	t->buf = sys_malloc(t->longest);
	if (t->buf == NULL)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < t->count; i++)
		rc = compare(v, t, i, &reported);
	sys_free(t->buf);
	return rc;
}

int
verify_trace(struct verify *v)
{
	struct trace t = { .fd = v->trace };
	int rc;

	if (!layer_trace(v->s.l, &t.stored))
		return 0;
	if (t.fd < 0) {
		msg_error(&v->p->msg, "%s: %s", layerpack_tmpdir(v->p),
		    strerror(-t.fd));
		return 0;
	}
	rc = load(v, &t);
	rc = rc != 0 ? refuse(v, rc) : compare_all(v, &t);
	sys_free(t.pieces);
	return rc;
}

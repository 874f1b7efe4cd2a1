/*
 * toc_trace.c - reading the data touched at startup from one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The format is described in toc_trace.h.  Data is decoded before its digest
 * is verified, so every value in it is checked; the digest is verified at the
 * end.
 */
#include "lazy/toc/toc.h"

#include "base/bytes.h"
#include "base/sys.h"
#include "toc_parts.h"
#include "lazy/toc/toc_trace.h"
#include "lazy/toc/toc_wrapping.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 128 << 10 };

struct record {
	uint32_t entry;
	uint64_t offset, length;
};

struct trace {
	const struct layer *l;
	const struct layer_trace_io *io;
	struct toc_parts parts;
	struct record *records;
	uint8_t *piece;
};

/* Returns whether this part of a file exists in the index. */
static bool
exists(const struct trace *t, const struct record *r)
{
	size_t count;
	const struct layer_entry *e = layer_entries(t->l, &count);

	return r->entry < count && e[r->entry].type == TAR_FILE &&
	    r->offset <= e[r->entry].size &&
	    r->length <= e[r->entry].size - r->offset;
}

static int
read_records(struct trace *t, uint32_t *count)
{
	uint8_t raw[TRACE_RECORD];
	uint64_t content = 0;
	int rc = toc_parts_read(&t->parts, raw, 4);

	if (rc != 0)
		return rc;
	*count = load_le32(raw);
	if (*count > TRACE_RECORDS_MAX)
		return -EBADMSG;
	t->records = sys_malloc((*count + (size_t)1) * sizeof(*t->records));
	if (t->records == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < *count; i++) {
		rc = toc_parts_read(&t->parts, raw, sizeof(raw));
		t->records[i] = (struct record){ load_le32(raw),
			load_le64(raw + 4), load_le64(raw + 12) };
		if (rc == 0 && !exists(t, &t->records[i]))
			rc = -EBADMSG;
		/* lengths are at most INT64_MAX, so this does not overflow */
		content += t->records[i].length;
		if (rc == 0 && content > LAYER_TRACE_CONTENT_MAX)
			rc = -EFBIG;
	}
	return rc;
}

static int
read_piece(struct trace *t, const struct record *r, uint64_t done)
{
	size_t n = r->length - done < PIECE ? (size_t)(r->length - done) :
	    PIECE;
	int rc = toc_parts_read(&t->parts, t->piece, n);

	return rc != 0 ? rc : t->io->take(t->io->arg, r->entry,
	    r->offset + done, t->piece, n);
}

static int
read_trace(struct trace *t)
{
	uint32_t count = 0;
	int rc = read_records(t, &count);

	for (uint32_t i = 0; rc == 0 && i < count; i++)
		for (uint64_t done = 0; rc == 0 && done <
		    t->records[i].length; done += PIECE)
			rc = read_piece(t, &t->records[i], done);
	return rc;
}

int
toc_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	const struct toc *toc = l->state;
	struct trace t = { .l = l, .io = io, .parts = { .next = io->next,
		.arg = io->arg, .left = toc->trace.length,
		.wrapping = toc_wrapping_of(layer_kind(l)) } };
	int rc = t.parts.left > LAYER_TRACE_MAX ? -EFBIG :
	    toc_parts_open(&t.parts, TRACE_WINDOW_LOG), wrong;

	t.piece = sys_malloc(PIECE);
	if (rc == 0 && t.piece == NULL)
		rc = -ENOMEM;
	if (rc == 0) {
		rc = read_trace(&t);
		/*
		 * -EFBIG is reported only for a trace whose digest is correct
		 */
		wrong = rc == 0 || rc == -EFBIG ? toc_parts_end(&t.parts,
		    toc->trace.digest) : 0;
		rc = wrong != 0 ? wrong : rc;
	}
	toc_parts_close(&t.parts);
	sys_free(t.records);
	sys_free(t.piece);
	return rc;
}

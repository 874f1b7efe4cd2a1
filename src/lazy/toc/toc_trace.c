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

enum { PIECE = 128 << 10 };

struct record {
	uint32_t entry;
	uint64_t offset, length;
};

struct trace {
	const struct layer *l;
	struct toc_parts parts;
	struct record *records;
};

static int
read_records(struct trace *t, uint32_t *count)
{
	uint8_t raw[TRACE_RECORD];
	uint64_t content = 0;
	size_t entries;
	const struct layer_entry *e = layer_entries(t->l, &entries);
	int rc = toc_parts_read(&t->parts, raw, 4);

	if (rc != 0)
		return rc;
	*count = load_le32(raw);
	if (*count > TRACE_RECORDS_MAX)
		return -EBADMSG;
	t->records = sys_malloc((*count + (size_t)1) * sizeof(*t->records));
	if (t->records == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < *count; i++) {
		struct record *r = &t->records[i];

		rc = toc_parts_read(&t->parts, raw, sizeof(raw));
		if (rc != 0)
			return rc;
		*r = (struct record){ load_le32(raw), load_le64(raw + 4),
			load_le64(raw + 12) };
		/* this part of a file must exist in the index */
		if (r->entry >= entries || e[r->entry].type != TAR_FILE ||
		    r->offset > e[r->entry].size ||
		    r->length > e[r->entry].size - r->offset)
			return -EBADMSG;
		/* lengths are at most INT64_MAX, so this does not overflow */
		content += r->length;
		if (content > LAYER_TRACE_CONTENT_MAX)
			return -EFBIG;
	}
	return 0;
}

int
toc_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	const struct toc *toc = l->state;
	struct trace t = { .l = l, .parts = { .next = io->next,
		.arg = io->arg, .left = toc->trace.length,
		.wrapping = toc_wrapping_of(layer_kind(l)) } };
	uint8_t *piece = sys_malloc(PIECE);
	uint32_t count = 0;
	int rc = t.parts.left > LAYER_TRACE_MAX ? -EFBIG :
	    toc_parts_open(&t.parts, TRACE_WINDOW_LOG), wrong;

	if (rc == 0 && piece == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto out;
	rc = read_records(&t, &count);
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const struct record *r = &t.records[i];

		for (uint64_t done = 0; rc == 0 && done < r->length;
		    done += PIECE) {
			size_t n = r->length - done < PIECE ?
			    (size_t)(r->length - done) : PIECE;

			rc = toc_parts_read(&t.parts, piece, n);
			if (rc == 0)
				rc = io->take(io->arg, r->entry,
				    r->offset + done, piece, n);
		}
	}
	/* -EFBIG is reported only for a trace whose digest is correct */
	if (rc == 0 || rc == -EFBIG) {
		wrong = toc_parts_end(&t.parts, toc->trace.digest);
		rc = wrong != 0 ? wrong : rc;
	}
out:
	toc_parts_close(&t.parts);
	sys_free(t.records);
	sys_free(piece);
	return rc;
}

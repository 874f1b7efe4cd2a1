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

int
toc_trace_decode(const struct layer *l, const struct layer_trace_io *io)
{
	const struct toc *toc = l->state;
	struct toc_parts parts = { .next = io->next, .arg = io->arg,
		.left = toc->trace.length,
		.wrapping = toc_wrapping_of(layer_kind(l)) };
	struct record *records = NULL;
	uint8_t *piece = sys_malloc(PIECE), raw[TRACE_RECORD];
	size_t entries;
	const struct layer_entry *e = layer_entries(l, &entries);
	uint64_t content = 0;
	uint32_t count;
	int rc = -EFBIG, wrong;

	if (parts.left > LAYER_TRACE_MAX)
		goto out;
	rc = toc_parts_open(&parts, TRACE_WINDOW_LOG);
	if (rc == 0 && piece == NULL)
		rc = -ENOMEM;
	if (rc != 0)
		goto out;
	rc = toc_parts_read(&parts, raw, 4);
	if (rc != 0)
		goto out;
	count = load_le32(raw);
	rc = -EBADMSG;
	if (count > TRACE_RECORDS_MAX)
		goto out;
	records = sys_malloc((count + (size_t)1) * sizeof(*records));
	rc = records == NULL ? -ENOMEM : 0;
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		struct record *r = &records[i];

		rc = toc_parts_read(&parts, raw, sizeof(raw));
		if (rc != 0)
			goto out;
		*r = (struct record){ load_le32(raw), load_le64(raw + 4),
			load_le64(raw + 12) };
		/* this part of a file must exist in the index */
		if (r->entry >= entries || e[r->entry].type != TAR_FILE ||
		    r->offset > e[r->entry].size ||
		    r->length > e[r->entry].size - r->offset) {
			rc = -EBADMSG;
			goto out;
		}
		/* lengths are at most INT64_MAX, so this does not overflow */
		content += r->length;
		if (content > LAYER_TRACE_CONTENT_MAX)
			rc = -EFBIG;
	}
	for (uint32_t i = 0; rc == 0 && i < count; i++) {
		const struct record *r = &records[i];

		for (uint64_t done = 0; rc == 0 && done < r->length;
		    done += PIECE) {
			size_t n = r->length - done < PIECE ?
			    (size_t)(r->length - done) : PIECE;

			rc = toc_parts_read(&parts, piece, n);
			if (rc == 0)
				rc = io->take(io->arg, r->entry,
				    r->offset + done, piece, n);
		}
	}
	/* -EFBIG is reported only for a trace whose digest is correct */
	if (rc == 0 || rc == -EFBIG) {
		wrong = toc_parts_end(&parts, toc->trace.digest);
		rc = wrong != 0 ? wrong : rc;
	}
out:
	toc_parts_close(&parts);
	sys_free(records);
	sys_free(piece);
	return rc;
}

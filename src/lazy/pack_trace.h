/*
 * pack_trace.h - storing a second copy of the data touched at startup
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is our own format: a zstd frame (RFC 8878) with the content
 *
 * 	le32 count, then `count` records of 20 bytes:
 * 		le32 number of the entry (layer_entries()), le64 offset in the
 * 		file, le64 length
 * 	the data of the records, one after the other
 *
 * is cut into parts, each in a wrapper that decompressors skip: in zstd:chunked
 * a skippable frame, in estargz an empty member whose header has an extra field
 * "CT".  The parts directly precede the table of contents and the frames that
 * belong to it; the table contains their position and SHA-256:
 *
 * 	"coldpressTrace": { "offset": N, "length": N, "digest": "sha256:..." }
 */
#ifndef COLDPRESS_LAZY_PACK_TRACE_H
#define COLDPRESS_LAZY_PACK_TRACE_H

#include "pack_impl.h"

enum { TRACE_RECORD = 20, TRACE_RECORDS_MAX = 1 << 22 };

/* The base-2 logarithm of the maximum window size of a trace. */
enum { TRACE_WINDOW_LOG = 22 };

/*
 * Writes the trace of p->order, if it has one, and stores its position in p->r
 * and its digest in digest.  Returns 0 or -errno.
 */
int pack_trace_write(struct pack *p, uint8_t digest[LAYER_DIGEST]);

#endif

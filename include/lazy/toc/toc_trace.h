/*
 * toc_trace.h - the data touched at startup, stored a second time
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is our own format: a zstd frame (RFC 8878) with the content
 *
 * 	le32 count, then `count` records of 20 bytes:
 * 		le32 number of the entry (layer_entries()), le64 offset in the
 * 		file, le64 length
 * 	the data of the records, one after the other
 *
 * is cut into parts, each wrapped (toc_wrapping.h).  The parts directly precede
 * the table of contents and the frames that belong to it; the table contains
 * their position and SHA-256:
 *
 * 	"coldpressTrace": { "offset": N, "length": N, "digest": "sha256:..." }
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_TRACE_H
#define COLDPRESS_LAZY_TOC_TOC_TRACE_H

enum { TRACE_RECORD = 20, TRACE_RECORDS_MAX = 1 << 22 };

/* The base-2 logarithm of the maximum window size of a trace. */
enum { TRACE_WINDOW_LOG = 22 };

#endif

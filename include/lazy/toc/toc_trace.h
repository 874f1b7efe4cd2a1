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
 *
 * A layer may have the traces of several commands.  The data that all of them
 * touch is stored in this way; what only some of them touch is in sections,
 * each of which is a frame of its own, wrapped like the trace and before it.
 * The content then begins instead with
 *
 * 	le32 TRACE_SECTIONED, le32 number of sections, at least 1
 * 	for each section, TRACE_SECTION bytes: le64 offset in the layer, le64
 * 		length, SHA-256 of its parts, le32 number of its records
 * 	le32 count, then the trace's `count` records
 * 	the records of each section, at least one
 * 	the data of the trace's records
 *
 * and the content of a section's frame is the data of its records.  The digest
 * of the trace thus covers the sections.  To a reader that knows only the first
 * form, TRACE_SECTIONED is a count of more than TRACE_RECORDS_MAX records, so
 * that it ignores the trace.
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_TRACE_H
#define COLDPRESS_LAZY_TOC_TOC_TRACE_H

/* The maximum number of records, in all sections. */
enum { TRACE_RECORD = 20, TRACE_RECORDS_MAX = 1 << 22 };

/* The maximum number of sections, besides the trace itself. */
enum { TRACE_SECTION = 52, TRACE_SECTIONS_MAX = 63 };

#define TRACE_SECTIONED UINT32_MAX

/* The base-2 logarithm of the maximum window size of a trace. */
enum { TRACE_WINDOW_LOG = 22 };

#endif

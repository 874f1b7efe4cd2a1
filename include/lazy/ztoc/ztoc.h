/*
 * ztoc.h - the side file for lazy reading of an ordinary layer
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: ztoc/fbs/ztoc.fbs, ztoc/compression/fbs/zinfo.fbs and
 * ztoc/compression/gzip_zinfo.h in awslabs/soci-snapshotter; zran.c among
 * zlib's examples.
 *
 * The layer, a tar archive that is uncompressed or compressed with gzip, is
 * divided into spans.  A span of a gzip file begins at a point where
 * decompression can be resumed (format/gzip/gzip_points.h), and ends with the
 * last byte before the next point; a byte that contains bits of two spans is
 * part of both.
 *
 * The index is a FlatBuffer.  Slots of its tables:
 *
 * 	Ztoc		0 version "0.9"  1 build tool  2 bytes of the layer
 * 			3 bytes of the archive  4 Toc  5 Compression
 * 	Toc		0 [Entry]
 * 	Compression	0 algorithm (u8: 1 gzip, which is the default, 2 none)
 * 			1 spans - 1 (u32)  2 ["sha256:" digest of each span]
 * 			3 checkpoints (bytes)  4 points (bytes)
 * 	Entry		0 name  1 type  2 offset of its data in the archive
 * 			3 bytes of data  4 link  5 mode  6 uid (u32)
 * 			7 gid (u32)  8 uname  9 gname  10 mtime (RFC 3339)
 * 			11 major  12 minor  13 [Pax]
 * 			14 bytes of the file, if it has holes
 * 			15 its extents (bytes: pairs of u64)
 * 	Pax		0 key  1 value
 *
 * Numbers are 64-bit unless stated otherwise.  The checkpoints consist of the
 * number of spans (u32), the span size (u64), and 32,785 bytes for each span:
 * its offset in the layer of the first whole byte (u64), its offset in the
 * archive (u64), the number of bits before that byte (u8), and the 32 KiB of
 * the archive before it, padded with zeros at the front.  If a layer is not
 * compressed, the checkpoints are a separate FlatBuffer: 0 version (u32: 2), 1
 * span size, 2 bytes of the layer.
 *
 * This is SOCI's side file.  Our own variant, with packed windows, has slots 14
 * and 15 of Entry and 4 of Compression instead of checkpoints, and the file
 * consists of:
 *
 * 	windows		for each span a zstd frame, or nothing
 * 	index		a zstd frame with the FlatBuffer
 * 	footer		a skippable frame: magic 0x184d2a50, length 32, offset
 * 			of the index, its bytes, those of the FlatBuffer, and
 * 			"ZTOCWIN1"
 *
 * The points contain, for each span, its two offsets, the number of bits, the
 * length of its frame (u32) and the SHA-256 of its frame (32 bytes); the frames
 * are contiguous.  If a window is shorter than 32 KiB, the data before it is
 * not needed; bytes to which the span does not refer are zero.  So a reader
 * fetches the index, which is small, and then each span with its window.
 */
#ifndef COLDPRESS_LAZY_ZTOC_ZTOC_H
#define COLDPRESS_LAZY_ZTOC_ZTOC_H

#include "lazy/layer.h"

enum {
	ZTOC_VERSION = 0, ZTOC_TOOL, ZTOC_STORED, ZTOC_CONTENT, ZTOC_TOC,
	ZTOC_COMPRESSION
};
enum { TOC_ENTRIES = 0 };
enum {
	COMPRESSION_KIND = 0, COMPRESSION_LAST, COMPRESSION_DIGESTS,
	COMPRESSION_CHECKPOINTS, COMPRESSION_POINTS
};
enum {
	ENTRY_NAME = 0, ENTRY_TYPE, ENTRY_OFFSET, ENTRY_STORED, ENTRY_LINK,
	ENTRY_MODE, ENTRY_UID, ENTRY_GID, ENTRY_UNAME, ENTRY_GNAME,
	ENTRY_MTIME, ENTRY_MAJOR, ENTRY_MINOR, ENTRY_PAX, ENTRY_SIZE,
	ENTRY_EXTENTS
};
enum { PAX_KEY = 0, PAX_VALUE };
enum { PLAIN_VERSION = 0, PLAIN_SPAN, PLAIN_SIZE };

enum {
	ZTOC_GZIP = 1, ZTOC_PLAIN = 2,		/* COMPRESSION_KIND */
	ZTOC_PLAIN_VERSION = 2,
	ZTOC_WINDOW = 32 << 10,
	ZTOC_CHECKPOINTS_HEAD = 12,
	ZTOC_CHECKPOINT_HEAD = 17,
	ZTOC_CHECKPOINT = ZTOC_CHECKPOINT_HEAD + ZTOC_WINDOW,
	ZTOC_POINT = 17 + 4 + LAYER_DIGEST,
	ZTOC_EXTENT = 16,
	ZTOC_FOOTER = 40,
	ZTOC_FOOTER_MAGIC = 0x184d2a50,
	ZTOC_SPAN = 4 << 20,			/* the default */
	ZTOC_SPAN_PACKED = 256 << 10		/* the default with packed
						 * windows */
};
#define ZTOC_MAGIC UINT64_C(0x314e4957434f545a)	/* "ZTOCWIN1" */
#define ZTOC_THE_VERSION "0.9"
#define ZTOC_XATTR "SCHILY.xattr."

#endif

/*
 * pack.h - writing layers that can be read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The same archive and options produce the same bytes, regardless of the number
 * of threads, whether the archive is compressed, and whether it is read from a
 * file or a pipe.  Sources of the formats: docs/estargz.md in
 * containerd/stargz-snapshotter and its packages estargz and zstdchunked;
 * docs/containers-storage-zstd-chunked.md in containers/storage and its package
 * pkg/chunked.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_H
#define COLDPRESS_LAZY_PACK_PACK_H

#include "lazy/layer.h"

#include <stdbool.h>
#include <stdint.h>

struct progress;
struct walk_order;

/* The data that a ztoc stores for each span of a gzip layer. */
enum pack_windows {
	PACK_WINDOWS_RAW,		/* 32 KiB of data, as in SOCI */
	PACK_WINDOWS_PACKED		/* 32 KiB of data, compressed and
					 * outside the index */
};

enum { PACK_LISTS_MAX = 16 };

struct pack_options {
	enum layer_kind kind;
	unsigned threads;		/* at least 1 */
	int level;			/* compression level; -1: the
					 * format's default */
	uint64_t chunk;			/* unit size in bytes; 0: the
					 * format's default */
	/*
	 * Small files share a unit until it reaches this size in bytes; 0: each
	 * file starts a new unit.
	 */
	uint64_t min_chunk;
	/*
	 * Lists of files to put first, at most PACK_LISTS_MAX: the data that
	 * one command touches, or that each of several commands touches.
	 */
	struct walk_order *const *orders;
	size_t order_count;
	bool trace;			/* also store a second copy of the
					 * listed data */
	/*
	 * Data that the same lists name, if it is smaller than this, in bytes,
	 * has no section of its own, which would cost a request.
	 */
	uint64_t section_min;
	/*
	 * zstd:chunked only: omit the tar-split copy of the headers.  Without
	 * it, containers/storage 1.55 and later pulls the whole layer.
	 */
	bool no_tar_split;
	/*
	 * zstd:chunked only: for the stargz project's readers, which need a
	 * landmark in the archive, and an annotation that containers/storage
	 * 1.52 and later rejects next to its own.  Implies no_tar_split.
	 */
	bool stargz;
	bool no_compact;		/* also omit the compact index */
	enum pack_windows windows;	/* ztoc only */
	bool refuse_empty;		/* see struct tar_source */
	const char *tmpdir;		/* directory for temporary files */
	struct progress *progress;	/* progress through the archive; may be
					 * NULL */
};

struct pack_result {
	uint8_t blob_digest[LAYER_DIGEST];	/* digest of the output */
	uint8_t content_digest[LAYER_DIGEST];	/* digest of the tar archive:
						 * diff_id */
	uint8_t index_digest[LAYER_DIGEST];	/* see layer_expect */
	uint8_t toc_digest[LAYER_DIGEST];	/* digest of the decompressed
						 * table of contents */
	uint64_t blob_size, content_size;
	/* see layer_expect */
	uint64_t index_offset, index_length, index_content;
	/* tar-split data of zstd:chunked; length 0: none */
	uint64_t tar_split_offset, tar_split_length, tar_split_content;
	uint64_t trace_offset, trace_length, trace_content;
	/* the other sections of the trace, and the largest of them */
	uint64_t sections, sections_length, sections_content, section_longest;
	/* see layer_expect; length 0: there is no compact index */
	uint8_t compact_digest[LAYER_DIGEST];
	uint64_t compact_offset, compact_length;
	uint64_t digests_length;	/* of the compact index's digest
					 * blocks */
	uint64_t entries, units;
	uint64_t files_B;		/* total size of all files */
	/* for warnings: */
	const char *flaw;		/* see tar_flaw() */
	uint64_t lower_links;		/* number of hard links to files that
					 * can only be in a lower layer */
	char lower_link[LAYER_WHY];	/* clause about the first */
	uint64_t globals;		/* number of entries to which global
					 * records apply */
};

/* The level range and default level of a format's compressor. */
struct pack_levels {
	int least, most, usual;
};
struct pack_levels pack_levels(enum layer_kind kind);

/* Returns the maximum number of bytes of a file in one unit. */
uint64_t pack_chunk(const struct pack_options *o);

/*
 * Reads the archive at the current position of `in`, which may be compressed,
 * and writes the layer, or for LAYER_ZTOC the index, to out.  Neither is
 * closed; the output is complete only on success.  Returns 0 or, with the
 * reason in why, -EBADMSG or -ENODATA (the archive is damaged or truncated),
 * -EINVAL or -EOVERFLOW (the format cannot represent the archive, it cannot be
 * extracted, or an option is not supported), -EFBIG, -ENOMEM, or -errno from a read or write.
 */
int pack_layer(const struct pack_options *o, int in, int out,
    struct pack_result *r, char why[LAYER_WHY]);

enum { PACK_ANNOTATIONS_MAX = 8, PACK_ANNOTATION_B = 128 };

struct pack_annotation {
	const char *name;		/* static */
	char value[PACK_ANNOTATION_B];
};

/*
 * Fills in up to PACK_ANNOTATIONS_MAX annotations, which other programs require
 * in the manifest of an image to read the layer lazily.  Returns their number.
 */
size_t pack_annotations(const struct pack_options *o,
    const struct pack_result *r,
    struct pack_annotation a[PACK_ANNOTATIONS_MAX]);

#endif

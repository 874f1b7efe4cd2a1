/*
 * toc_compact.h - the compact index: a table of contents without digests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A format of our own, specified in doc/layers.md.  It holds the entries of the
 * table of contents in blocks, each member in columns of its own, and the
 * digests of blocks of chunk digests, so that a reader fetches only the digests
 * of the chunks it reads.  All of it is one zstd frame (RFC 8878), stored in
 * parts that decompressors skip.
 *
 * A block consists of
 *
 *	le32 number of entries, at least 1
 *	le32 length of each column
 *	the columns
 *
 * and after the last block, a le32 0 and the trailer follow.
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_COMPACT_H
#define COLDPRESS_LAZY_TOC_TOC_COMPACT_H

#include "lazy/toc/toc.h"

/* Types, as stored */
enum {
	COMPACT_REG, COMPACT_HARDLINK, COMPACT_SYMLINK, COMPACT_CHAR,
	COMPACT_BLOCK, COMPACT_DIR, COMPACT_FIFO, COMPACT_CHUNK, COMPACT_TYPES
};

/* Text columns: NUL-terminated strings, or one-byte types */
enum {
	COMPACT_TYPE,
	COMPACT_NAME,			/* without what it shares */
	COMPACT_TIME,			/* "=": the previous entry's time */
	COMPACT_LINK, COMPACT_USER, COMPACT_GROUP,
	COMPACT_XATTRS,			/* names and values */
	COMPACT_TEXTS
};

/*
 * Numbers: 7 bits per byte, low bits first; a set top bit means that more
 * follow
 */
enum compact_number {
	COMPACT_SHARED,			/* length of the prefix that a name
					 * shares with the previous one */
	COMPACT_MODE, COMPACT_UID, COMPACT_GID,
	COMPACT_ATTRIBUTES,		/* how many */
	COMPACT_VALUE,			/* length of one's value */
	COMPACT_SIZE, COMPACT_MAJOR, COMPACT_MINOR,
	COMPACT_STEP,			/* relative to the previous chunk's
					 * offset */
	COMPACT_INNER, COMPACT_LENGTH,	/* of a chunk */
	COMPACT_NUMBERS
};

enum {
	/* columns of a number: first bytes, second bytes and all others */
	COMPACT_PLANES = 3,
	COMPACT_COLUMNS = COMPACT_TEXTS + COMPACT_NUMBERS * COMPACT_PLANES,
	COMPACT_BLOCK_MAX = 32 << 20,	/* maximum size of a block's columns */
	COMPACT_WINDOW_LOG = 22,
	/*
	 * le64 end of the last unit, le64 offset and length of the trace and its
	 * digest, le64 number of chunks, le64 offset of the first block of
	 * digests, le64 distance to the next; the digest of each block follows
	 */
	COMPACT_TRAILER = 80
};

/* The names of types in a table of contents, in this order. */
extern const char *const toc_compact_types[COMPACT_TYPES];

/*
 * Loads a layer's compact index into l->index and l->state, and sets l->format
 * and l->size.  Returns 0, or -errno with a clause in why, as layer_open()
 * does.
 */
int toc_compact_load(struct layer *l, const struct layer_expect *e,
    char why[LAYER_WHY]);

/*
 * The same, for a layer whose format and size are set: read returns exactly len
 * bytes of the decompressed content, or fails with a clause in why.
 */
struct toc_compact_source {
	int (*read)(void *arg, void *buf, size_t len);
	void *arg;
};
int toc_compact_read(struct layer *l, const struct toc_compact_source *source,
    char why[LAYER_WHY]);

#endif

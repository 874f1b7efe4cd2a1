/*
 * toc.h - the table of contents of estargz and zstd:chunked
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: "eStargz: Standard-Compatible Extension to Container Layers for Lazy
 * Pulling" (docs/estargz.md in containerd/stargz-snapshotter), "TOC"; the types
 * JTOC and TOCEntry of its package estargz; the types TOC and FileMetadata of
 * pkg/chunked/internal/minimal in containers/storage, which adds chunks of
 * zeros.  Both formats have the same JSON document:
 *
 * 	{ "version": 1, "entries": [ { "name": ..., "type": ..., ... }, ... ] }
 *
 * A file's data is cut into chunks: the first chunk is described by the file's
 * entry, the others by the entries of type "chunk" after it.  A chunk begins
 * innerOffset bytes into the decompressed data of the member, or frame, at
 * offset.  Unknown members of the document are ignored.
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_H
#define COLDPRESS_LAZY_TOC_TOC_H

#include "engine/digest/digest.h"
#include "lazy/format.h"

/* A unit is a member or frame; it consists of chunks. */
struct toc_unit {
	uint64_t offset;		/* in the layer */
	size_t first_chunk;
};

struct toc_chunk {
	uint64_t inner, length;		/* in the unit */
};

enum { TOC_BLOCK = 32 };		/* chunk digests in a block */

/*
 * The location of the chunks' digests if they are not in memory.  They are
 * stored in blocks, and only the digests of the blocks are in memory.
 */
struct toc_blocks {
	uint64_t first;			/* offset in the layer */
	uint64_t stride;		/* from one block to the next */
	uint8_t (*digests)[LAYER_DIGEST];
};

/* A file with several chunks, which needs a separate digest. */
struct toc_file {
	size_t entry;
	uint8_t digest[LAYER_DIGEST];
};

/*
 * The position of the trace (see toc_trace.h) or of the compact index (see
 * toc_compact.h).  The length is 0 if there is none.
 */
struct toc_stored {
	uint64_t offset, length;	/* in the layer */
	uint8_t digest[LAYER_DIGEST];
};

struct toc {
	struct toc_unit *units;		/* as many as in the index */
	struct toc_chunk *chunks;	/* sorted by unit */
	/* digest of each chunk; NULL if the digests are in blocks */
	uint8_t (*digests)[LAYER_DIGEST];
	struct toc_blocks blocks;
	struct toc_file *files;		/* sorted by entry */
	size_t chunk_count, file_count;
	uint64_t prefetch;		/* offset of the landmark, or 0 */
	struct toc_stored trace, compact;
	/* private */
	size_t unit_cap, chunk_cap, digest_cap, file_cap;
};

struct toc_reader;
struct toc_item;

/*
 * Opens a reader that adds the contents of the document to t, which must be
 * zeroed, and to x; both still belong to the caller.  If json is false, the
 * caller passes items without digests to toc_reader_take() instead of calling
 * toc_reader_add().  Returns 0 or -ENOMEM.
 */
int toc_reader_open(struct toc_reader **r, struct toc *t,
    struct lazy_index *x, bool json);
void toc_reader_close(struct toc_reader *r);	/* may be NULL */

/*
 * Adds one item; r is a struct toc_reader.  Returns 0 or -errno as below.
 */
int toc_reader_take(void *r, const struct toc_item *item,
    char why[LAYER_WHY]);

/* Returns whether the entry belongs only to the format, like a landmark. */
bool toc_is_internal(const struct toc_item *item);

/*
 * Reads the next len bytes of the document.  Returns 0; or -EBADMSG, -EFBIG or
 * -ENOMEM, with a clause in why, after which the reader must not be used except
 * to close it.
 */
int toc_reader_add(struct toc_reader *r, const void *data, size_t len,
    char why[LAYER_WHY]);

/*
 * Determines the ends of units; call this after the last byte of the document.
 * The last unit ends at `end`.  Returns 0 or -errno as above.
 */
int toc_reader_end(struct toc_reader *r, uint64_t end, char why[LAYER_WHY]);

/* The last part of toc_reader_end(), for src/lazy/toc_read.c. */
int toc_place_units(struct toc *t, struct lazy_index *x, uint64_t end,
    char why[LAYER_WHY]);

/* Returns the size of a digest block; only the last block is shorter. */
static inline size_t
toc_block_length(size_t chunks, size_t block)
{
	size_t left = chunks - block * TOC_BLOCK;

	return (left < TOC_BLOCK ? left : TOC_BLOCK) * LAYER_DIGEST;
}

/*
 * Returns the number of bytes to fetch for the digests of a unit's chunks if
 * they are in blocks.
 */
uint64_t toc_block_bytes(const struct layer *l, uint32_t unit);

/*
 * Verifies that a unit's content matches its chunks' digests, using d, the
 * calling thread's digest.  If the digests are in blocks, the blocks are in
 * r[1].  Returns 0, or -EBADMSG with a clause in *why.
 */
int toc_verify(const struct layer *l, uint32_t unit, struct digest *d,
    const struct layer_range *r, const uint8_t *content, const char **why);

/*
 * The compressed document, fetched in pieces.  To start reading, set l, at and
 * left, and zero all other members; toc_input_close() frees its memory.
 */
struct toc_input {
	struct layer *l;
	uint64_t at, left;		/* range of the layer to be fetched */
	struct digest *digest;		/* digest of the data fetched, or
					 * NULL */
	uint8_t *piece;
};

/*
 * Fetches the next piece, valid until the next call.  Returns its length, 0 at
 * the end, or -errno with a clause in why.
 */
ssize_t toc_input_next(struct toc_input *in, const uint8_t **data,
    char why[LAYER_WHY]);
void toc_input_close(struct toc_input *in);

/*
 * Reads the document into l->index and l->state: read() returns up to len
 * decompressed bytes of it, 0 at the end, or -errno with a clause in why.  The
 * last unit ends at `end`.  The document's SHA-256 is stored in digest.
 * Returns 0, or -errno with a clause in why.
 */
struct toc_source {
	ssize_t (*read)(void *arg, void *buf, size_t len, char why[LAYER_WHY]);
	void *arg;
};
int toc_load(struct layer *l, const struct toc_source *source, uint64_t end,
    uint8_t digest[LAYER_DIGEST], char why[LAYER_WHY]);

/* The functions of struct layer_format, for an l->state that is a struct toc */
size_t toc_ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX]);
const uint8_t *toc_file_digest(const struct layer *l, size_t entry);
bool toc_prefetch(const struct layer *l, struct layer_range *r);
bool toc_trace(const struct layer *l, struct layer_range *r);
int toc_trace_decode(const struct layer *l, const struct layer_trace_io *io);
int toc_section_decode(const struct layer *l, const struct layer_section *s,
    const struct layer_trace_io *io);
void toc_close(struct layer *l);

#endif

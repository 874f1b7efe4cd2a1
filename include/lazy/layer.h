/*
 * layer.h - a layer that can be read lazily, in any format
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is a tar archive, compressed in independent units, with an index,
 * which lists the entries of the archive and, for each file, the units that
 * contain its data.  A reader loads the index, and then fetches only the units
 * that it needs.  Every format (estargz, zstd:chunked, ztoc, the CVMFS
 * repository) is read through this interface; struct layer_blobs is the source
 * of the data: local files, or ranges of objects on a server.
 *
 * Fetched data is not trusted: a unit is decoded only if it has the digest in
 * the index, and an index must have the expected digest if one is known.
 * Numbers are checked as 64-bit integers before they are used.
 *
 * After layer_open() a struct layer is constant; several threads may use it,
 * each with its own decoder.
 */
#ifndef COLDPRESS_LAYER_H
#define COLDPRESS_LAYER_H

#include "format/tar/tar.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LAYER_WHY = 256,		/* size of the buffer for a reason */
	LAYER_DIGEST = 32,		/* size of a SHA-256 */
	LAYER_RANGES_MAX = 4,		/* maximum number of ranges per unit */
	/* Limits on the memory that an index can make a reader allocate */
	LAYER_INDEX_MAX = 256 << 20,	/* maximum size of an uncompressed
					 * index */
	LAYER_ENTRIES_MAX = 1 << 22,
	LAYER_UNIT_MAX = 64 << 20,	/* maximum size of an uncompressed
					 * unit */
	LAYER_TRACE_MAX = 256 << 20,	/* maximum size of a stored trace, and
					 * of each section */
	LAYER_TRACE_CONTENT_MAX = 1 << 30	/* maximum size of a decoded
						 * trace and its sections */
};

/* The source of data */

/* A part of an object. */
struct layer_range {
	const char *object;		/* NULL: the layer itself */
	uint64_t offset, length;
	void *buf;			/* length bytes, owned by the caller */
	/*
	 * Read the whole object.  The size is unknown, but should not exceed
	 * length; the rest of buf is filled with zeros.
	 */
	bool whole;
};

struct layer_blobs {
	/*
	 * Reads all ranges completely, in any order.  Returns 0, -ENODATA (a
	 * range extends past the end of the object), -ENOENT (no such object)
	 * or -errno.  Thread-safe.
	 */
	int (*read)(void *arg, const struct layer_range *r, size_t count);
	/*
	 * Determines the size of an object.  Returns 0 or -errno.  Thread-safe.
	 */
	int (*size)(void *arg, const char *object, uint64_t *size);
	void *arg;
};

/* The contents of an index */

/* Bytes of a file that are consecutive in a unit. */
struct layer_run {
	uint64_t offset, length;	/* position in the file */
	uint64_t inner;			/* offset in the decoded unit */
	uint32_t unit;
};

struct layer_unit {
	uint64_t content;		/* size in bytes, decoded */
	uint64_t stored;		/* bytes to fetch, in all ranges */
};

struct layer_entry {
	enum tar_type type;
	const char *path;		/* as in the archive, after
					 * path_clean(); "": the root */
	const char *link;		/* target of a link, or "" */
	const char *uname, *gname;	/* names, or "" */
	uint32_t mode;			/* permissions, 12 bits */
	uint32_t major, minor;
	uint64_t uid, gid;
	int64_t mtime;
	uint32_t mtime_ns;
	uint64_t size;
	/*
	 * in ascending order, without overlaps; gaps between runs read as zeros
	 */
	const struct layer_run *runs;
	size_t run_count;
	const struct tar_xattr *xattrs;
	size_t xattr_count;
};

/* Archive entries used only by the format itself, which are not listed. */
#define LAYER_TOC "stargz.index.json"
#define LAYER_LANDMARK ".prefetch.landmark"
#define LAYER_NO_LANDMARK ".no.prefetch.landmark"

/* Returns whether a path, after path_clean(), is one of these names. */
bool layer_is_internal(const char *path);

enum layer_kind {
	LAYER_ESTARGZ, LAYER_ZSTD_CHUNKED, LAYER_ZTOC, LAYER_CAS
};

/*
 * A directory whose contents are in an index of their own.  If the part is
 * opened as a layer, paths are relative to this directory.
 */
struct layer_part {
	size_t entry;			/* number of the directory's entry */
	const char *path;		/* as in the archive */
	uint8_t digest[LAYER_DIGEST];	/* of the index, as defined by the
					 * format */
	uint64_t size;			/* of the index, in bytes */
	uint32_t links;			/* of the directory; 0: unknown */
};

/* What is known about a layer before it is opened; any field may be 0. */
struct layer_expect {
	const char *kind;		/* name of a format; NULL: detect it */
	/* SHA-256 of the index, as defined by the format, or NULL */
	const uint8_t *index_digest;
	/*
	 * SHA-256 of a repository's public signing key in DER (X.509), or NULL.
	 */
	const uint8_t *key_digest;
	/*
	 * Position of the index from the zstd:chunked annotation; if
	 * index_length is 0, the footer is used.
	 */
	uint64_t index_offset, index_length, index_content;
	/*
	 * SHA-256 of the compact index to be read instead, and its location in
	 * the layer; or NULL.  The other index members are then ignored.
	 */
	const uint8_t *compact_digest;
	uint64_t compact_offset, compact_length;
	/* Leave out what has an index of its own; see layer_parts(). */
	bool parts;
	const struct layer_part *part;	/* open only this part, or NULL */
};

/* The annotation for these three members: "sha256:DIGITS:OFFSET:LENGTH" */
#define LAYER_COMPACT "coldpress.compact-index"

/*
 * Sets the three members from the text of that annotation; the digest is stored
 * in digest.  Returns 0 or -EINVAL.
 */
int layer_expect_compact(struct layer_expect *e, uint8_t digest[LAYER_DIGEST],
    const char *text);

struct layer;

/*
 * Loads the index of a layer.  Returns 0 or, with the reason in why, -EINVAL
 * (the format is unknown), -EBADMSG (the index is damaged, or does not have the
 * expected digest), -EFBIG (a limit is exceeded), -ENOMEM, or -errno from
 * blobs.  blobs must outlive the layer.
 */
int layer_open(struct layer **l, const struct layer_blobs *blobs,
    const struct layer_expect *expect, char why[LAYER_WHY]);
void layer_close(struct layer *l);		/* may be NULL */

enum layer_kind layer_kind(const struct layer *l);

/* Returns the name for -F, for example "estargz". */
const char *layer_kind_name(enum layer_kind kind);

/*
 * Returns the entries in archive order, except for entries used only by the
 * format itself.
 */
const struct layer_entry *layer_entries(const struct layer *l, size_t *count);
const struct layer_unit *layer_units(const struct layer *l, size_t *count);

/*
 * Returns the parts that were left out, in ascending order of entries.  They
 * belong to the layer.
 */
const struct layer_part *layer_parts(const struct layer *l, size_t *count);

/*
 * Returns the SHA-256 of a file's whole content, given its entry number, if the
 * index contains one that is not implied by the digests of the units; otherwise
 * NULL.
 */
const uint8_t *layer_file_digest(const struct layer *l, size_t entry);

/*
 * Returns the index of the first run of a file that ends after offset, or the
 * number of runs if there is none.
 */
size_t layer_find_run(const struct layer_entry *e, uint64_t offset);

/*
 * Verifies that the compact index, if the layer's index mentions one, has the
 * same contents as the index.  Returns 0, or -EBADMSG or -errno with a clause
 * in why.
 */
int layer_check_compact(const struct layer *l, char why[LAYER_WHY]);

/* Returns the number of bytes fetched to load the index. */
uint64_t layer_index_bytes(const struct layer *l);

/* Units */

/*
 * Determines the ranges to be fetched to decode a unit: fills in up to
 * LAYER_RANGES_MAX ranges, except for buf, and returns their number.
 */
size_t layer_ranges(const struct layer *l, uint32_t unit,
    struct layer_range r[LAYER_RANGES_MAX]);

struct layer_decoder;

/* Opens a decoder, for one thread at a time.  Returns 0 or -ENOMEM. */
int layer_decoder_open(struct layer_decoder **d, const struct layer *l);
void layer_decoder_close(struct layer_decoder *d);	/* may be NULL */

/*
 * Verifies a unit, whose ranges r, as returned by layer_ranges(), have been
 * fetched, and decodes it into content.  Returns 0, or -EBADMSG with a static
 * reason in *why; content must then not be used.
 */
int layer_decode(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why);

/*
 * Decodes a unit in the same way, but without comparing digests: the caller
 * knows that the ranges contain the same bytes from which layer_decode()
 * previously decoded the unit.
 */
int layer_decode_again(struct layer_decoder *d, uint32_t unit,
    const struct layer_range *r, void *content, const char **why);

/* The trace */

/*
 * Finds the trace: a second copy, as one stream, of the data touched at startup
 * (layerpack --order).  Returns false if the layer has none.
 */
bool layer_trace(const struct layer *l, struct layer_range *r);

/* A part of a file. */
struct layer_piece {
	uint32_t entry;
	uint64_t offset, length;
};

/*
 * A section of a trace: data that only some of the commands touch for which the
 * layer was made.
 */
struct layer_section {
	struct layer_range stored;	/* inside the layer; buf is NULL */
	uint8_t digest[LAYER_DIGEST];	/* of the stored bytes */
	const struct layer_piece *pieces;	/* of existing files */
	size_t count;			/* at least 1 */
};

/* The functions that supply a trace's bytes and receive its pieces. */
struct layer_trace_io {
	/*
	 * Points *data at the next bytes of the trace, which are valid until
	 * the next call.  Returns the number of bytes, 0 at the end, or -errno.
	 */
	ssize_t (*next)(void *arg, const uint8_t **data);
	/*
	 * Called with every piece of a file, in list order.  Returns 0 to
	 * continue.
	 */
	int (*take)(void *arg, size_t entry, uint64_t offset, const void *data,
	    size_t length);
	/*
	 * Called with every section, whose pieces are valid until the return.
	 * Returns 0 to continue.  NULL: sections are ignored.
	 */
	int (*section)(void *arg, const struct layer_section *s);
	void *arg;
};

/*
 * Decodes the trace, and verifies its digest at the end: neither the pieces nor
 * the sections must be used unless this returns 0.  Even then, the caller must
 * check that each piece matches the data in the units.  Returns 0, the first
 * nonzero result of take or section, an error from next, -EBADMSG, -EFBIG (a
 * limit is exceeded) or -ENOMEM.
 */
int layer_trace_decode(const struct layer *l, const struct layer_trace_io *io);

/* Decodes a section of the trace in the same way; io->section is not called. */
int layer_section_decode(const struct layer *l, const struct layer_section *s,
    const struct layer_trace_io *io);

/*
 * Finds the first part of the layer, up to a landmark, which should be fetched
 * before startup.  Returns false if there is none.
 */
bool layer_prefetch(const struct layer *l, struct layer_range *r);

#endif

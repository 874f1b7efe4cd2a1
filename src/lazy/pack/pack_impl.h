/*
 * pack_impl.h - declarations shared by the parts of pack.h
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A layer is processed by a pipeline in batches of units:
 *
 *	pack_cut.c	reads the archive; cuts files into pieces and the stream
 *			into units; hashes what is hashed in one sequence
 *	pack_units.c	hashes the pieces and compresses the units; learns the
 *			offsets, adds to the table of contents
 *
 * A unit is the content of one gzip member or zstd frame: some pieces of files,
 * and the headers that follow them in the archive.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_IMPL_H
#define COLDPRESS_LAZY_PACK_PACK_IMPL_H

#include "lazy/pack/pack.h"

#include "base/strbuf.h"
#include "engine/digest/digest.h"
#include "pipeline/pipeline.h"
#include "pack_store.h"
#include "lazy/toc/toc_wrapping.h"

#include <sys/types.h>

struct pack;
struct pack_compact;
struct pack_cut;
struct pack_order;
struct pack_tree;

/* Consecutive bytes of a file, called a chunk in the index. */
struct pack_piece {
	size_t unit;			/* in the batch */
	size_t at, len;			/* in slot.in */
	uint8_t digest[LAYER_DIGEST];
};

struct pack_unit {
	size_t at, len;			/* in slot.in */
	size_t made;			/* bytes in slot.out */
};

/* An entry of the table of contents, as recorded by the reader. */
struct pack_item {
	size_t text, text_len;		/* position in the batch; length 0:
					 * another piece of the same file */
	bool has_piece;			/* the item describes the batch's next
					 * piece */
	uint64_t offset;		/* offset of the piece in the file */
	bool last;			/* the piece is the file's last */
	/* digest of the whole file, for the last of several pieces */
	uint8_t digest[LAYER_DIGEST];
};

/* The data kept with each slot, and reused with it. */
struct pack_batch {
	struct pack_unit *units;
	struct pack_piece *pieces;
	struct pack_item *items;
	size_t unit_count, piece_count, item_count;
	size_t unit_cap, piece_cap, item_cap;
	struct strbuf text;		/* JSON */
};

/* The output of the packer. */
struct pack_out {
	int fd;
	uint64_t at;
	struct digest *digest;
	struct digest *also;		/* digest of part of the output, or
					 * NULL */
};

/* The table of contents under construction. */
struct pack_toc {
	struct pack_store store;
	struct strbuf line;		/* the next line */
	struct digest *digest;		/* digest of the text */
	/* an incomplete file with several pieces */
	struct strbuf head, first, chunks;
	uint64_t entries;
	struct pack_compact *compact;	/* made from the text, or NULL */
};

struct pack_format {
	enum layer_kind kind;
	struct pack_levels levels;
	uint64_t chunk;			/* default size of a piece */
	/*
	 * Set if the table of contents is an archive entry, and a landmark is
	 * written even without an order.
	 */
	bool in_archive;
	int store_level;		/* level for keeping the table of
					 * contents in memory; 0:
					 * pack_toc_level() */

	/* Opens an encoder, for one thread.  Returns 0 or -ENOMEM. */
	int (*encoder_open)(void **e, int level);
	void (*encoder_close)(void *e);
	/* Returns the maximum length of encode's output for len bytes. */
	size_t (*bound)(size_t len);
	/* Encodes a member or a frame.  Returns its length, or -errno. */
	ssize_t (*encode)(void *e, const uint8_t *in, size_t len,
	    uint8_t *out, size_t cap);

	/* Writes the table of contents and the footer.  Returns 0 or -errno. */
	int (*finish)(struct pack *p);
};

extern const struct pack_format pack_estargz, pack_zstd_chunked;

/*
 * The source of archive entries for pack_cut.c, possibly reordered by
 * pack_order.c.
 */
struct pack_source {
	struct tar *tar;
	/* Reads to the end of the input.  Returns 0 or -errno. */
	int (*end)(void *arg);
	void *arg;
	/* the source already contains a landmark */
	bool arranged;
};

struct pack {
	const struct pack_options *o;
	const struct pack_format *format;
	const struct toc_wrapping *wrapping;
	int level;
	uint64_t chunk;
	struct pack_batch *batches;	/* one for each slot */
	size_t slots;
	struct pack_source source;
	struct pack_cut *cut;
	struct pack_tree *tree;
	struct pack_order *order;	/* NULL: archive order */
	struct pack_toc toc;
	struct pack_out out;
	struct digest *content;		/* digest of the archive as written */
	struct pack_result *r;
	const char *why;		/* reason for an error other than an
					 * invalid archive, or NULL */
	char *why_text;			/* buffer of LAYER_WHY bytes for a
					 * reason that names an entry */
};

/* pack_cut.c */

int pack_cut_open(struct pack_cut **c, struct pack *p);
void pack_cut_close(struct pack_cut *c);	/* may be NULL */

/* The callback, with c as its argument, of the struct tar that is read. */
int pack_cut_raw(void *c, const void *data, size_t len);

/* Fills a slot of the pipeline, and its batch, from p->source. */
int pack_cut_fill(void *p, struct input *in, struct slot *s);

/*
 * After the end of the archive, sets *store to the headers in tar-split form,
 * which belong to c, or to NULL if they are omitted.  Returns 0 or -ENOMEM.
 */
int pack_cut_tar_split(struct pack_cut *c, const struct pack_store **store);

/*
 * pack_units.c: runs the pipeline that writes the archive of p->source.
 * Returns 0 or -errno.
 */
int pack_units(struct pack *p);

/* pack_toc.c */

/*
 * The last name written for a user or group ID; a limited number of names is
 * kept.
 */
enum { PACK_NAMES = 256, PACK_NAME_B = 64 };

struct pack_name {
	uint64_t id;
	char text[PACK_NAME_B];		/* "": no name yet */
};

struct pack_names {
	struct pack_name users[PACK_NAMES], groups[PACK_NAMES];
};

/*
 * Appends the members of an entry's JSON object, without the braces; exact: with
 * all that the headers in tar-split form say.
 */
void pack_toc_entry(struct strbuf *b, const struct tar_entry *e,
    struct pack_names *names, bool exact);

/*
 * Returns the level for the table of contents.  This is the highest level
 * unless a fast level was requested, because every reader fetches the table,
 * and it is small.
 */
int pack_toc_level(const struct pack *p);

int pack_toc_open(struct pack_toc *t, const struct pack *p);
void pack_toc_close(struct pack_toc *t);

/* A piece's position in the layer. */
struct pack_place {
	uint64_t offset;		/* offset of its unit */
	uint64_t end;			/* end of the piece's unit; 0: not
					 * recorded */
	uint64_t inner;
};

/*
 * Adds an item; place is the position of the item's piece, if there is one.
 * Returns 0 or -errno.
 */
int pack_toc_add(struct pack_toc *t, const char *text,
    const struct pack_item *item, const struct pack_piece *piece,
    const struct pack_place *place);

/*
 * After the last entry, writes the trace and the compact index, if there are
 * any, and ends the text, which refers to them; tar_split_digest is the digest
 * of the headers in tar-split form, or NULL.  Returns 0 or -errno.
 */
int pack_toc_finish(struct pack *p, const uint8_t *tar_split_digest);

/* pack.c */

/* Runs a pipeline that appends to the output.  Returns 0 or -errno. */
int pack_run(struct pack *p, const struct pipeline_ops *ops, void *job);

/* Appends to the output, counting and hashing.  Returns 0 or -errno. */
int pack_out_write(struct pack_out *out, const void *data, size_t len);

/* Writes bytes with the wrapping of the format. */
int pack_out_wrapped(struct pack *p, const void *data, size_t len);

/* Writes bytes as a JSON string in base64 (RFC 4648). */
void pack_put_base64(struct strbuf *b, const void *data, size_t len);

/*
 * pack_compact.c: writing the compact index (toc_compact.h), which is made from
 * the text of the table of contents, so that the two have the same entries.
 */

/* Returns 0 or -ENOMEM. */
int pack_compact_open(struct pack_compact **c, const struct pack *p);
void pack_compact_close(struct pack_compact *c);	/* may be NULL */

/*
 * Takes the next part of the table's text.  Returns 0, -ENOMEM, or -EINVAL for
 * a table that pack_toc.c would not write.
 */
int pack_compact_text(struct pack_compact *c, const char *text, size_t len);

/*
 * Writes the digests and the index, after the last entry, and stores their
 * positions in p->r.  The last unit ends at `end`; trace_digest is NULL if
 * there is no trace.  Returns 0 or -errno.
 */
int pack_compact_write(struct pack *p, uint64_t end,
    const uint8_t *trace_digest);

/* pack_trace.c: storing a trace, in the format of toc_trace.h */

/*
 * Writes the trace of p->order, if it has one, after its other sections, and
 * stores their positions in p->r and its digest in digest.  Returns 0 or
 * -errno.
 */
int pack_trace_write(struct pack *p, uint8_t digest[LAYER_DIGEST]);

#endif

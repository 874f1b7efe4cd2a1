/*
 * pack_cut.h - declarations shared by the two parts of the reader
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_CUT_H
#define COLDPRESS_LAZY_PACK_PACK_CUT_H

#include "format/tar/tar_content.h"
#include "pack_impl.h"

/* A batch ends with the unit in which it reaches this size. */
enum { PACK_CUT_BATCH = 1 << 20 };

struct pack_cut {
	struct pack *p;
	struct pack_source from;
	struct pack_names *names;
	struct pack_split *split;	/* NULL: none */
	bool started, ended;
	uint64_t raw;			/* archive bytes read so far */
	uint64_t drop;			/* number of bytes still to be
					 * omitted */
	/* the current batch */
	struct slot *s;
	struct pack_batch *b;
	bool full;
	bool in_use;			/* the last unit contains a piece */
	size_t loose;			/* end of the last piece in s->in */
	size_t hashed;			/* end of the hashed data in s->in */
	/* the current entry */
	struct tar_entry e;
	struct strbuf head;		/* JSON of the entry */
	bool in_data, sparse;
	bool alone;			/* the file has a separate unit */
	struct tar_content content;
	uint64_t at, left;		/* position in the file and bytes left,
					 * including holes */
	bool several;			/* the file has more than one piece */
	struct digest *file;
	size_t file_from;		/* start of the file's unhashed data */
};

/* pack_cut_stream.c */

/*
 * Appends n bytes that are not file data (NULL: zeros) to the stream, or
 * removes the last n of them.
 */
int pack_cut_append(struct pack_cut *c, const void *data, size_t n);
void pack_cut_retract(struct pack_cut *c, size_t n);

/* Returns the length of the padding at the current position in the archive. */
size_t pack_cut_padding(const struct pack_cut *c);

/*
 * Hashes the stream up to its current end and, if a file with several pieces is
 * being read, hashes that file as well.
 */
int pack_cut_hash(struct pack_cut *c);

/* Reads the next piece of the current file, unless the batch is full. */
int pack_cut_piece(struct pack_cut *c);

/*
 * Adds an item for a piece of n bytes; the first item of a file contains the
 * text of its entry.
 */
int pack_cut_item(struct pack_cut *c, size_t n);

/* Rejects the archive because it exceeds a limit. Returns -EFBIG. */
int pack_cut_refuse(struct pack_cut *c, const char *why);

#endif

/*
 * pack_cut.h - the state of the reader of pack_cut.c
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_PACK_CUT_H
#define COLDPRESS_LAZY_PACK_CUT_H

#include "format/tar/tar_content.h"
#include "pack_impl.h"

struct pack_cut {
	struct pack *p;
	struct pack_source from;
	struct pack_names *names;
	struct pack_split *split;	/* NULL: none */
	bool started, ended;
	uint64_t raw;			/* bytes of the archive so far */
	uint64_t drop;			/* of the next, to be left out */
	/* the current batch */
	struct slot *s;
	struct pack_batch *b;
	bool full;
	bool in_use;			/* the last unit has a piece */
	size_t loose;			/* where it ends in s->in */
	size_t hashed;			/* up to there */
	/* the current entry */
	struct tar_entry e;
	struct strbuf head;		/* its JSON */
	bool in_data, sparse;
	bool alone;			/* no other piece is in its unit */
	struct tar_content content;
	uint64_t at, left;		/* in the file, with holes */
	bool several;			/* it has more than one piece: */
	struct digest *file;
	size_t file_from;		/* hashed from there on */
};

#endif

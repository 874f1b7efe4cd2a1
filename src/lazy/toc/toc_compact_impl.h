/*
 * toc_compact_impl.h - the state of the compact index reader
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_TOC_TOC_COMPACT_IMPL_H
#define COLDPRESS_LAZY_TOC_TOC_COMPACT_IMPL_H

#include "lazy/toc/toc_compact.h"

#include "base/strbuf.h"
#include "base/utc.h"

struct compact_column {
	const uint8_t *at, *end;
};

struct compact {
	const struct toc_compact_source *source;
	uint64_t content;		/* bytes read */
	uint8_t *block;
	size_t cap;
	struct compact_column columns[COMPACT_COLUMNS];
	bool bad, no_memory;
	/* the previous entry */
	struct strbuf name;
	uint64_t names;			/* length of all names */
	uint64_t chunks;		/* entries of this type */
	char time[UTC_B];
	int64_t offset;
	int64_t file_at;		/* end of the entry's last chunk, in the
					 * file */
	struct tar_xattr *xattrs;
	size_t xattr_cap;
};

/* Returns -EBADMSG, with a clause in why. */
int compact_damaged(char why[LAYER_WHY]);

/*
 * Reads all blocks, and adds their entries.  Returns 0, or -errno with a
 * clause in why.
 */
int compact_blocks(struct compact *c, struct toc_reader *r,
    char why[LAYER_WHY]);

#endif

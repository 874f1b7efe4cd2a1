/*
 * pack_compact.h - writing the compact index (toc_compact.h)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It is made from the text of the table of contents, so the two have the same
 * entries.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_COMPACT_H
#define COLDPRESS_LAZY_PACK_PACK_COMPACT_H

#include "pack_impl.h"

struct pack_compact;

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

#endif

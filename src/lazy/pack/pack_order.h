/*
 * pack_order.h - reading the entries of an archive in a different order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive is listed first.  Listed files are first, those of the first list
 * before those of the second, each after its parent directories and after the
 * target of a hard link; they are followed by a
 * landmark and by all other entries in their original order.  The entries of a
 * path that occurs more than once in the archive are not moved.
 */
#ifndef COLDPRESS_LAZY_PACK_PACK_ORDER_H
#define COLDPRESS_LAZY_PACK_PACK_ORDER_H

#include "pack_impl.h"
#include "pack_sections.h"

/*
 * Lists the archive in the file `in`.  If it is compressed or cannot be
 * rewound, it is copied to an unlinked file in o->tmpdir.  Returns 0, or -errno
 * with a clause in why.
 */
int pack_order_open(struct pack_order **order, const struct pack_options *o,
    int in, char why[LAYER_WHY]);
void pack_order_close(struct pack_order *order);	/* may be NULL */

/*
 * Reads the archive again in the new order, and passes its bytes to cut.
 * Returns 0 or -ENOMEM.
 */
int pack_order_begin(struct pack_order *order, struct pack_source *source,
    struct pack_cut *cut);
const char *pack_order_why(const struct pack_order *order, int rc);

/*
 * Returns the listed parts of files, which belong to order: those of one list
 * in list order; those of several without overlaps, sorted by section.
 */
const struct pack_touch *pack_order_touches(const struct pack_order *order,
    size_t *count);

/* Reads len bytes of the archive.  Returns 0 or -errno. */
int pack_order_read(const struct pack_order *order, uint64_t at, void *buf,
    size_t len);

#endif

/*
 * sqpack_order.h - putting listed files first (--order)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All functions return 0 or -errno.
 */
#ifndef COLDPRESS_SQPACK_ORDER_H
#define COLDPRESS_SQPACK_ORDER_H

#include "sqpack.h"

#include "walk/walk_order.h"

/* Reads the list p->o.order into p->order.  Reports errors. */
int sqpack_order_open(struct sqpack *p);

/* Looks up the rank of a node of the tree by its path. */
int sqpack_order_rank(struct sqpack *p, size_t node, uint32_t *rank);

/*
 * Sorts count nodes of the finished tree, given in tree order, by the list.  An
 * inode with several names is sorted by the name that comes first in the list.
 * Sets *rest to the index of the first unlisted node, and *last to the index of
 * the first node that the list places after the unlisted nodes.
 */
int sqpack_order_sort(struct sqpack *p, uint32_t *files, size_t count,
    size_t *rest, size_t *last);

/*
 * After the last file: reports listed paths that were not found.  It is an
 * error if none of them was found.
 */
int sqpack_order_check(struct sqpack *p);

/*
 * Like sqw_data_write(), but for a source that cannot be rewound: files that
 * arrive too early are stored in unlinked files.
 */
int sqpack_order_stream(struct sqpack *p, const struct sqw_source *files,
    int fd, uint64_t at);

#endif

/*
 * sqpack_order.h - --order: which files come first
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All return 0 or -errno.
 */
#ifndef COLDPRESS_SQPACK_ORDER_H
#define COLDPRESS_SQPACK_ORDER_H

#include "sqpack.h"

#include "image/sqbuild/order.h"

/* Reads the list p->o.order into p->order, reporting errors. */
int sqpack_order_open(struct sqpack *p);

/* The rank of a node of the tree, by its path. */
int sqpack_order_rank(struct sqpack *p, size_t node, uint32_t *rank);

/*
 * Sorts count nodes of the finished tree, which are in tree order, by the list,
 * hard links by the first of their names in it.  Sets the index of the first
 * unlisted node, and of the first that comes after these.
 */
int sqpack_order_sort(struct sqpack *p, uint32_t *files, size_t count,
    size_t *rest, size_t *last);

/*
 * After the last file: reports what was not found; finding nothing at all is an
 * error.
 */
int sqpack_order_check(struct sqpack *p);

/*
 * As sqb_data_write(), for a source that cannot be rewound: files that come too
 * early wait in unlinked files.
 */
int sqpack_order_stream(struct sqpack *p, const struct sqb_source *files,
    int fd, uint64_t at);

#endif

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

/* Reads the list p->o.order into p->order; what is wrong is said. */
int sqpack_order_open(struct sqpack *p);

/* The rank of a node of the tree, by its path. */
int sqpack_order_rank(struct sqpack *p, size_t node, uint32_t *rank);

/*
 * Puts nodes of the finished tree, count of them in the tree's order, into
 * that of the list, hard links by the first of their names there.  Sets the
 * index of the first that is not listed, and of the first that comes after
 * these.
 */
int sqpack_order_sort(struct sqpack *p, uint32_t *files, size_t count,
    size_t *rest, size_t *last);

/* After the last file: says what was not found; nothing at all is an error. */
int sqpack_order_check(struct sqpack *p);

/*
 * As sqb_data_write(), of a source that cannot go back: what comes early waits
 * in unlinked files.
 */
int sqpack_order_stream(struct sqpack *p, const struct sqb_source *files,
    int fd, uint64_t at);

#endif

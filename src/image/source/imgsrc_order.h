/*
 * imgsrc_order.h - storing listed files first
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All functions return 0 or -errno.  Use from one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SOURCE_IMGSRC_ORDER_H
#define COLDPRESS_IMAGE_SOURCE_IMGSRC_ORDER_H

#include "image/source/imgsrc.h"
#include "walk/walk_order.h"

struct imgsrc_order {
	struct walk_order *list;
	char *path;			/* buffer */
	size_t room;
};

/* Reads the list to->o.order into to->order.  Reports errors. */
int imgsrc_order_open(struct imgsrc_image *to);
void imgsrc_order_close(struct imgsrc_order *order);	/* may be NULL */

/*
 * Sorts count nodes of the finished tree, given in tree order, by the list.  An
 * inode with several names is sorted by the name that comes first in the list.
 * Sets *rest to the index of the first unlisted node, and *last to the index of
 * the first node that the list places after the unlisted nodes.
 */
int imgsrc_order_sort(struct imgsrc_image *to, uint32_t *files, size_t count,
    size_t *rest, size_t *last);

/*
 * After the last file: reports listed paths that were not found.  It is an
 * error if none of them was found.
 */
int imgsrc_order_check(struct imgsrc_image *to);

/*
 * Like sqw_data_write(), but for a source that cannot be rewound: files that
 * arrive too early are stored in unlinked files.
 */
int imgsrc_order_stream(struct imgsrc_image *to,
    const struct sqw_source *files, int fd, uint64_t at);

#endif

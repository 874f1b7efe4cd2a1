/*
 * order.h - a list of the files whose data comes first in an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The list has one of three forms; lines that begin with # are comments.
 *
 * 	path			the first line is the first file
 * 	N TAB path TAB offset_B TAB length_B
 * 				ordered by N, the number of the first touch, as
 * 				written by touchlog; a heading may come first
 * 	path priority		in every line; ordered by priority, from 32767
 * 				down to -32768; unlisted files have 0, and a
 * 				directory's applies to everything below it
 * 				(mksquashfs(1), -sort); \c is c
 *
 * In the first two, paths may end with NUL instead of newline; there are then
 * no comments.  If a path is listed more than once, its first position counts.
 */
#ifndef COLDPRESS_SQBUILD_ORDER_H
#define COLDPRESS_SQBUILD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rank of an unlisted file; files with lower ranks come first. */
#define SQB_ORDER_REST (UINT32_C(1) << 31)

struct sqb_order;

/*
 * Parses len bytes of text followed by a NUL.  The order takes ownership of the
 * text, even on failure.  0; -EINVAL: line *line (from 1) has another form than
 * the list; -EFBIG: too many lines; -ENOMEM.
 */
int sqb_order_read(struct sqb_order **o, char *text, size_t len, bool nul,
    size_t *line);
void sqb_order_free(struct sqb_order *o);	/* o may be NULL */

/*
 * The rank of a file, given its path from the root of the image without a
 * leading slash.  Files with the same rank are in no particular order.  Records
 * that the path was looked up, so for one thread at a time.
 */
uint32_t sqb_order_rank(struct sqb_order *o, const char *path);

/*
 * The number of listed paths; how many of them were looked up; and a path that
 * was not, or NULL.
 */
size_t sqb_order_count(const struct sqb_order *o);
size_t sqb_order_found(const struct sqb_order *o);
const char *sqb_order_missing(const struct sqb_order *o);

#endif

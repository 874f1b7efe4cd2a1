/*
 * order.h - a list of the files whose data comes first in an image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * In one of three forms; lines that begin with # are comments.
 *
 * 	path			the first line is the first file
 * 	N TAB path TAB offset_B TAB length_B
 * 				by N, which counts from the first touch, as
 * 				touchlog writes it; a heading may come first
 * 	path priority		every line of the list is so; by the priority,
 * 				from 32767 down to -32768: 0 is that of a file
 * 				that is not listed, and a directory stands for
 * 				what is below it (mksquashfs(1), -sort); \c is c
 *
 * In the first two, paths may end with NUL instead of newline, and there are
 * then no comments.  If a path is listed again, its first position counts.
 */
#ifndef COLDPRESS_SQBUILD_ORDER_H
#define COLDPRESS_SQBUILD_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rank of an unlisted file: lower ones come before it. */
#define SQB_ORDER_REST (UINT32_C(1) << 31)

struct sqb_order;

/*
 * Parses len bytes of text followed by a NUL, which the order owns from now on
 * in any case.  0; -EINVAL: line *line (from 1) does not have its form; -EFBIG:
 * too many lines; -ENOMEM.
 */
int sqb_order_read(struct sqb_order **o, char *text, size_t len, bool nul,
    size_t *line);
void sqb_order_free(struct sqb_order *o);	/* o may be NULL */

/*
 * The rank of a file by its path from the root of the image, without a leading
 * slash; files with the same rank are in no particular order.  Records that it
 * was looked up: for one thread.
 */
uint32_t sqb_order_rank(struct sqb_order *o, const char *path);

/* The number of paths listed; looked up; one of the others, or NULL. */
size_t sqb_order_count(const struct sqb_order *o);
size_t sqb_order_found(const struct sqb_order *o);
const char *sqb_order_missing(const struct sqb_order *o);

#endif

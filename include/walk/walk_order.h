/*
 * walk_order.h - a list of the files whose data comes first
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
 * In the first two forms, paths may end with NUL instead of newline; there are
 * then no comments.  If a path is listed more than once, its first position is
 * used.
 */
#ifndef COLDPRESS_WALK_ORDER_H
#define COLDPRESS_WALK_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The rank of an unlisted file; files with lower ranks come first. */
#define WALK_ORDER_REST (UINT32_C(1) << 31)

struct walk_order;

/*
 * Parses len bytes of text followed by a NUL.  The order becomes the owner of
 * the text, even on failure.  Returns 0, -EINVAL (line *line, counted from 1,
 * is not in the list's format), -EFBIG (too many lines) or -ENOMEM.
 */
int walk_order_read(struct walk_order **o, char *text, size_t len, bool nul,
    size_t *line);
void walk_order_free(struct walk_order *o);	/* o may be NULL */

/*
 * Returns the rank of a file, given its path from the root of the image without
 * a leading slash.  Files with the same rank are in no particular order.
 * Records that the path was looked up, so only one thread at a time may call
 * this function.
 */
uint32_t walk_order_rank(struct walk_order *o, const char *path);

/* A part of a file; offset 0 with length UINT64_MAX means the whole file. */
struct walk_touch {
	const char *path;		/* path, owned by the order */
	uint64_t offset, length;
};

/*
 * Gets part i, counted from 0, of the parts named by a list of paths or
 * touches, in list order.  Returns false if there are no more.
 */
bool walk_order_touch(const struct walk_order *o, size_t i,
    struct walk_touch *t);

/*
 * These functions return the number of listed paths, how many of them were
 * looked up, and one path that was not, or NULL.
 */
size_t walk_order_count(const struct walk_order *o);
size_t walk_order_found(const struct walk_order *o);
const char *walk_order_missing(const struct walk_order *o);

#endif

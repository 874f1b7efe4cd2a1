/*
 * order_line.h - parsing the lines of an order list
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_ORDER_LINE_H
#define COLDPRESS_ORDER_LINE_H

#include "walk/walk_order.h"

struct order_touch {
	struct walk_touch of;
	int64_t key;			/* the smallest comes first */
	size_t line;
};

/*
 * Finds the path in a touchlog line, and stores its length in *len and the
 * line's numbers in *t.  Returns NULL for any other line.
 */
char *order_touch(char *line, size_t *len, struct order_touch *t);

/* Returns whether a line is the heading that touchlog writes. */
bool order_is_heading(const char *line);

/*
 * Returns the start of the priority at the end of a line, and stores its value;
 * NULL if there is none.
 */
char *order_priority(char *line, int64_t *priority);

/* Replaces each \c in s with c. */
void order_unescape(char *s);

#endif

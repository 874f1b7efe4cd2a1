/*
 * toml.h - reading TOML as a sequence of items
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What programs write into their configurations is read: tables, arrays of
 * tables, inline tables, arrays, all kinds of strings and keys.  Numbers and
 * dates are passed on as text.  That a key is defined only once is not checked.
 *
 * Source: TOML 1.0.0.
 */
#ifndef COLDPRESS_TOML_H
#define COLDPRESS_TOML_H

#include <stdbool.h>
#include <stddef.h>

enum {
	TOML_DEPTH = 16,		/* maximum number of keys in a path, and
					 * of nested values */
	TOML_WHY = 128			/* size of the buffer for a reason */
};

enum toml_type {
	TOML_TABLE,			/* [path] */
	TOML_ELEMENT,			/* [[path]]: another one */
	TOML_STRING, TOML_BOOL,
	TOML_OTHER			/* a number or a date */
};

struct toml_item {
	enum toml_type type;
	/*
	 * The keys, outermost first, including those of the table that it is
	 * in.  An array is an item for each element, all with the same path.
	 */
	const char *const *path;
	size_t depth;
	const char *text;		/* of a string (without NULs), number or
					 * date */
	bool truth;
	size_t arrays;			/* in which it is, one in the other, */
	size_t index;			/* and its place in the inner one */
	size_t line;			/* from 1 */
};

/*
 * Calls item for each in turn, until one returns nonzero, which is returned.
 * What an item points to is valid during the call.  Otherwise returns 0, -ENOMEM,
 * or -EBADMSG with the line and what was expected in why.  Thread-safe.
 */
int toml_read(const char *text, size_t len,
    int (*item)(void *arg, const struct toml_item *i), void *arg,
    char why[TOML_WHY]);

#endif

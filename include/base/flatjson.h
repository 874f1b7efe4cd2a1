/*
 * flatjson.h - the members of a JSON object that holds no other (RFC 8259)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Enough to read the lines that --stats writes.  Nothing is copied or
 * allocated; names are compared as they are written, without their escapes.
 * Thread-safe as far as the struct is not shared.
 */
#ifndef COLDPRESS_FLATJSON_H
#define COLDPRESS_FLATJSON_H

#include <stdbool.h>
#include <stddef.h>

struct flatjson {
	const char *at, *end;
	bool first;

	/* the member in hand */
	const char *name;		/* not ended by a NUL */
	size_t name_len;
	bool is_number;
	double number;
};

/* Text of len bytes, which must last.  0 or -EINVAL: not an object. */
int flatjson_open(struct flatjson *j, const char *text, size_t len);

/*
 * The next member: 1, or 0 after the last one, or -EINVAL: this is no flat
 * object, or something other than blanks follows it.
 */
int flatjson_next(struct flatjson *j);

#endif

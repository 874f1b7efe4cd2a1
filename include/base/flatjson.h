/*
 * flatjson.h - parsing a JSON object without nested objects (RFC 8259)
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * This is enough to read the lines that --stats writes.  Nothing is copied or
 * allocated; names are compared as written, without decoding escapes.
 * Thread-safe unless the struct is shared.
 */
#ifndef COLDPRESS_FLATJSON_H
#define COLDPRESS_FLATJSON_H

#include <stdbool.h>
#include <stddef.h>

struct flatjson {
	const char *at, *end;
	bool first;

	/* name and value of the current member */
	const char *name;		/* not NUL-terminated */
	size_t name_len;
	bool is_number;
	double number;
};

/*
 * Starts parsing len bytes of text, which must remain valid.  Returns 0, or
 * -EINVAL if the text is not an object.
 */
int flatjson_open(struct flatjson *j, const char *text, size_t len);

/*
 * Advances to the next member.  Returns 1; 0 after the last one; or -EINVAL if
 * the object is not flat, or is followed by something other than blanks.
 */
int flatjson_next(struct flatjson *j);

#endif

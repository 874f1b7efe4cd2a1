/*
 * deflate_unwrap.h - parsing the header and trailer around a deflate stream
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_UNWRAP_H
#define COLDPRESS_DEFLATE_UNWRAP_H

#include "deflate_check.h"

#include <stdbool.h>
#include <stdint.h>

/* The contents of a header. */
struct deflate_head {
	bool front;		/* the header contains the trailer's values */
	uint8_t trailer[8];	/* valid if front */
	bool stored;		/* stored: `left` bytes, not deflated */
	uint64_t left;
	const char *why;	/* reason for -ENOTSUP, or for a later -EBADMSG;
				 * or NULL */
};

struct deflate_unwrap {
	/*
	 * Returns the length of the header at p, 0 if more than len bytes are
	 * needed,
	 * -EBADMSG or -ENOTSUP.  Fills in h, which must be zeroed.
	 */
	ssize_t (*head)(const uint8_t *p, size_t len, struct deflate_head *h);

	/* The trailer's length; verify() returns 0 or -EBADMSG. */
	size_t trailer;
	int (*verify)(const uint8_t *trailer, uint32_t check, uint64_t total);

	const struct deflate_check *check;
	bool members;		/* other members or zeros may follow */
	bool ignore_rest;	/* a directory follows */
};

/*
 * unwrap_gzip_part is like unwrap_gzip, but verifies only the size, because the
 * CRC is not known.
 */
extern const struct deflate_unwrap unwrap_gzip, unwrap_gzip_part, unwrap_zlib,
    unwrap_zip;

#endif

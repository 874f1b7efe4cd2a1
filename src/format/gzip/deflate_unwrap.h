/*
 * deflate_unwrap.h - what surrounds a deflate stream, when decompressing
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_UNWRAP_H
#define COLDPRESS_DEFLATE_UNWRAP_H

#include "deflate_check.h"

#include <stdbool.h>
#include <stdint.h>

/* What a header contains, besides its length. */
struct deflate_head {
	bool front;		/* the trailer is in the header */
	uint8_t trailer[8];	/* valid if front */
	bool stored;		/* stored: `left` bytes, not deflated */
	uint64_t left;
	const char *why;	/* the reason for -ENOTSUP, or for a later
				 * -EBADMSG, as a sentence; or NULL */
};

struct deflate_unwrap {
	/*
	 * Returns the length of the header at p, 0 if len bytes are too few to
	 * tell, -EBADMSG or -ENOTSUP.  Fills in h, which must be zeroed.
	 */
	ssize_t (*head)(const uint8_t *p, size_t len, struct deflate_head *h);

	/* The trailer's length; verify() returns 0 or -EBADMSG. */
	size_t trailer;
	int (*verify)(const uint8_t *trailer, uint32_t check, uint64_t total);

	const struct deflate_check *check;
	bool members;		/* another may follow, or zeros */
	bool ignore_rest;	/* a directory follows */
};

/*
 * unwrap_gzip_part is like unwrap_gzip, but only the size is known, not the
 * CRC.
 */
extern const struct deflate_unwrap unwrap_gzip, unwrap_gzip_part, unwrap_zlib,
    unwrap_zip;

#endif

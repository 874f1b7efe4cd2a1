/*
 * inflate_header.h - the header of a deflate block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1951, 3.2.3, 3.2.4 and 3.2.7.
 */
#ifndef COLDPRESS_INFLATE_HEADER_H
#define COLDPRESS_INFLATE_HEADER_H

#include "inflate_fast.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a header: 17 + 19 * 3 + (286 + 30) * (7 + 7) bits, and less. */
enum { INFLATE_HEADER_MAX = 576 };

enum inflate_type { INFLATE_STORED, INFLATE_FIXED, INFLATE_DYNAMIC };

struct inflate_header {
	bool final;
	enum inflate_type type;
	size_t stored;		/* bytes; then p is at a byte's boundary */
};

/*
 * Reads the header at p and makes its codes.  No byte is taken from p->in that
 * is not needed.  0; -ENODATA: p->in_end is within it, and p has not moved; or
 * -EBADMSG.
 */
int inflate_header(struct inflate_header *h, struct inflate_place *p,
    struct inflate_codes *c);

#endif

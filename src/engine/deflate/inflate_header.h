/*
 * inflate_header.h - reading the header of a deflate block
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: RFC 1951, 3.2.3, 3.2.4 and 3.2.7.
 */
#ifndef COLDPRESS_INFLATE_HEADER_H
#define COLDPRESS_INFLATE_HEADER_H

#include "inflate_fast.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Maximum bytes in a header: at most 17 + 19 * 3 + (286 + 30) * (7 + 7) bits.
 */
enum { INFLATE_HEADER_MAX = 576 };

enum inflate_type { INFLATE_STORED, INFLATE_FIXED, INFLATE_DYNAMIC };

struct inflate_header {
	bool final;
	enum inflate_type type;
	size_t stored;		/* number of bytes; p is then at a byte
				 * boundary */
};

/*
 * Reads the header at p and builds its codes.  Consumes only the bytes at p->in
 * that it needs.  Returns 0, -ENODATA (the header extends past p->in_end; p has
 * not moved) or -EBADMSG.
 */
int inflate_header(struct inflate_header *h, struct inflate_place *p,
    struct inflate_codes *c);

#endif

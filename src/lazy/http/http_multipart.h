/*
 * http_multipart.h - incrementally parsing multipart/byteranges
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: RFC 9110, 14.6 (multipart/byteranges); RFC 2046, 5.1.  Each part
 * must have a Content-Range, which specifies its length, so the data is not
 * searched for the boundary.  Lines and fields of a part are limited
 * (MULTIPART_LINE, MULTIPART_FIELDS).
 */
#ifndef COLDPRESS_HTTP_MULTIPART_H
#define COLDPRESS_HTTP_MULTIPART_H

#include "http_header.h"

#include <stddef.h>
#include <stdint.h>

enum { MULTIPART_LINE = 512, MULTIPART_FIELDS = 32 };

/* Called with bytes of the object; a nonzero result stops the parser. */
typedef int multipart_take(void *arg, uint64_t offset, const void *data,
    size_t len);

/* For one thread at a time; initialized by multipart_start(). */
struct multipart {
	multipart_take *take;
	void *arg;
	enum {
		MULTIPART_PREAMBLE, MULTIPART_HEAD, MULTIPART_BODY,
		MULTIPART_AFTER, MULTIPART_END
	} state;
	char delimiter[HTTP_BOUNDARY + 2];
	char line[MULTIPART_LINE];
	size_t length;			/* length of the line so far */
	unsigned fields;		/* number of header lines in this
					 * part */
	bool has_range;
	struct http_content_range range;	/* remaining bytes of the
						 * part */
};

void multipart_start(struct multipart *m, const char *boundary,
    multipart_take *take, void *arg);

/*
 * Parses the next bytes of the body.  Returns 0, -EBADMSG (an invalid body) or
 * take's result.
 */
int multipart_feed(struct multipart *m, const void *data, size_t len);

#endif

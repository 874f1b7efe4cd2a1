/*
 * fuzz_http_header.c - arbitrary bytes as HTTP header values
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http_header.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), boundary[HTTP_BOUNDARY];
	struct http_content_range r;
	struct http_challenge c;

	if (text == NULL)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (http_content_range(text, &r) == 0 && (r.offset > INT64_MAX ||
	    r.length > INT64_MAX || r.offset + r.length > r.total))
		abort();
	if (http_boundary(text, boundary) == 0 && (*boundary == '\0' ||
	    strnlen(boundary, HTTP_BOUNDARY) == HTTP_BOUNDARY))
		abort();
	if (http_challenge(text, &c) == 0 && c.scheme == HTTP_BEARER &&
	    *c.realm == '\0')
		abort();
	if (http_retry_after(text) > 86400)
		abort();
	free(text);
	return 0;
}

/*
 * fuzz_multipart.c - arbitrary bytes as a multipart body
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The result must not depend on how the body is split into pieces; the first
 * byte is their length.
 */
#include "http_multipart.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
	uint64_t bytes, hash;
};

static int
take(void *arg, uint64_t offset, const void *data, size_t len)
{
	struct sum *s = arg;
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		s->hash = s->hash * 31 + p[i] + (offset + i);
	s->bytes += len;
	return 0;
}

static int
parse(const uint8_t *data, size_t size, size_t step, struct sum *s)
{
	struct multipart m;
	int rc = 0;

	*s = (struct sum){ .bytes = 0 };
	multipart_start(&m, "b", take, s);
	for (size_t at = 0; rc == 0 && at < size; at += step)
		rc = multipart_feed(&m, data + at, size - at < step ?
		    size - at : step);
	return rc;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum a, b;

	if (size == 0)
		return 0;
	if (parse(data + 1, size - 1, size, &a) !=
	    parse(data + 1, size - 1, 1 + (size_t)data[0], &b) ||
	    a.bytes != b.bytes || a.hash != b.hash || a.bytes > size)
		abort();
	return 0;
}

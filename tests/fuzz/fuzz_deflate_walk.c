/*
 * fuzz_deflate_walk.c - the walk agrees with zlib on any bytes
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/deflate/deflate_walk.h"

#include "../deflate_oracle.h"

#include <errno.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct deflate_last got = { 0, 0 }, want = { 0, 0 };
	enum oracle o = oracle_walk(data, len, &want);
	int rc = deflate_walk(data, len, &got);

	if (o == ORACLE_TOO_FAR_BACK)
		return 0;
	if (rc != (o == ORACLE_GOOD ? 0 : -EBADMSG))
		abort();
	if (rc == 0 && (got.header != want.header || got.end != want.end))
		abort();
	return 0;
}

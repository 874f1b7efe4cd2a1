/*
 * deflate_oracle.h - checking a raw deflate stream with zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_DEFLATE_ORACLE_H
#define COLDPRESS_DEFLATE_ORACLE_H

#include "engine/deflate/deflate_walk.h"

#include <stdbool.h>
#include <string.h>
#include <zlib.h>

enum oracle { ORACLE_GOOD, ORACLE_BAD, ORACLE_TOO_FAR_BACK };

/* Finds the last block by noting where inflate stops between blocks. */
static enum oracle
oracle_walk(const uint8_t *in, size_t len, struct deflate_last *last)
{
	z_stream z = { 0 };
	uint8_t out[4096];
	uint64_t at = 0;
	enum oracle rc = ORACLE_BAD;
	int zrc;

	if (inflateInit2(&z, -15) != Z_OK)
		return ORACLE_BAD;
	z.next_in = (uint8_t *)(uintptr_t)in;
	z.avail_in = (uInt)len;
	do {
		z.next_out = out;
		z.avail_out = sizeof(out);
		zrc = inflate(&z, Z_BLOCK);
		if (zrc != Z_OK || (z.data_type & 128) == 0)
			continue;
		last->header = at;
		at = (uint64_t)z.total_in * 8 - (unsigned)(z.data_type & 63);
		if ((z.data_type & 64) != 0) {
			last->end = at;
			rc = ORACLE_GOOD;
			break;
		}
	} while (zrc == Z_OK);
	if (z.msg != NULL && strstr(z.msg, "too far back") != NULL)
		rc = ORACLE_TOO_FAR_BACK;
	inflateEnd(&z);
	return rc;
}

#endif

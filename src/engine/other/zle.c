/*
 * zle.c - ZLE, ZFS's zero run-length encoding
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/zle.h"

#include <errno.h>
#include <string.h>

enum { RUN = 64, ZEROS = 256 - RUN };

size_t
zle_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t pos = 0, n = 0, left, most, run;

	for (; pos < len && n < cap; in += run, pos += run) {
		left = len - pos;
		run = 0;
		if (*in == 0) {
			most = left < ZEROS ? left : ZEROS;
			while (run < most && in[run] == 0)
				run++;
			out[n++] = (uint8_t)(RUN + run - 1);
			continue;
		}
		/* up to the next pair of zeros: a single zero is a literal */
		most = left < RUN ? left : RUN;
		while (run + 1 < most && (in[run] != 0 || in[run + 1] != 0))
			run++;
		run += in[run] != 0;
		if (cap - n < 1 + run)
			return 0;
		out[n++] = (uint8_t)(run - 1);
		memcpy(out + n, in, run);
		n += run;
	}
	return pos < len ? 0 : n;
}

int
zle_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	size_t pos = 0, n = 0;

	while (n < size) {
		size_t run;

		if (pos == len)
			return -EBADMSG;
		run = in[pos++] + (size_t)1;
		if (run > RUN) {
			run = run - RUN < size - n ? run - RUN : size - n;
			memset(out + n, 0, run);
		} else {
			if (run > len - pos || run > size - n)
				return -EBADMSG;
			memcpy(out + n, in + pos, run);
			pos += run;
		}
		n += run;
	}
	return 0;
}

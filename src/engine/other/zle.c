/*
 * zle.c - ZLE, ZFS's zero run-length encoding
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/zle.h"

#include <errno.h>
#include <string.h>

enum { RUN = 64, ZEROS = 256 - RUN };

static size_t
zeros_at(const uint8_t *p, size_t len)
{
	size_t n = 0, most = len < ZEROS ? len : ZEROS;

	while (n < most && p[n] == 0)
		n++;
	return n;
}

/*
 * Returns the number of bytes up to the next pair of zeros: a single zero is a
 * literal.
 */
static size_t
literals_at(const uint8_t *p, size_t len)
{
	size_t n = 0, most = len < RUN ? len : RUN;

	while (n + 1 < most && (p[n] != 0 || p[n + 1] != 0))
		n++;
	return p[n] != 0 ? n + 1 : n;
}

size_t
zle_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t pos = 0, n = 0;

	while (pos < len) {
		size_t zeros = in[pos] == 0 ? zeros_at(in + pos, len - pos) : 0;
		size_t run = zeros != 0 ? 0 :
		    literals_at(in + pos, len - pos);

		if (cap - n < 1 + run)
			return 0;
		if (zeros != 0) {
			out[n++] = (uint8_t)(RUN + zeros - 1);
		} else {
			out[n++] = (uint8_t)(run - 1);
			memcpy(out + n, in + pos, run);
			n += run;
		}
		pos += zeros + run;
	}
	return n;
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

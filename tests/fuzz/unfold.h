/*
 * unfold.h - expanding a few bytes to many, to fill windows
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_UNFOLD_H
#define COLDPRESS_TESTS_UNFOLD_H

#include <stddef.h>
#include <stdint.h>

/*
 * The data consists of instructions: a byte, or a copy of up to 511 bytes from
 * far back.  Returns the number of bytes written to `in`, which has `room`
 * bytes.
 */
static inline size_t
unfold(const uint8_t *data, size_t len, uint8_t *in, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < room; i++) {
		size_t far, k;

		if (data[i] < 128 || len - i < 4) {
			in[n++] = data[i] & 15;
			continue;
		}
		far = data[i + 1] * 256U + data[i + 2] + 1;
		k = (data[i] & 1U) * 256 + data[i + 3];
		for (; k > 0 && n < room; k--, n++)
			in[n] = far <= n ? in[n - far] : (uint8_t)(n * n >> 3);
		i += 3;
	}
	return n;
}

#endif

/*
 * lzjb.c - LZJB, ZFS's original compression algorithm
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/other/lzjb.h"

#include <errno.h>
#include <string.h>

enum {
	ITEMS = 8,
	GROUP_MOST = 1 + 2 * ITEMS,
	MATCH_LEAST = 3,
	MATCH_MOST = 66,
	FAR_BITS = 10,
	FAR_MOST = 1 << FAR_BITS
};

/*
 * Returns the distance to the last occurrence of the three bytes at in[pos], if
 * it is in the table and within the range of a match; otherwise 0.  Positions
 * are stored modulo 65,536.
 */
static size_t
candidate_at(const uint8_t *in, size_t pos, uint16_t *table)
{
	const uint8_t *p = in + pos;
	uint32_t h = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
	uint16_t *entry;
	size_t far;

	h += h >> 9;
	h += h >> 5;
	entry = &table[h % LZJB_TABLE];
	far = (pos - *entry) % FAR_MOST;
	*entry = (uint16_t)pos;
	if (far == 0 || far > pos ||
	    memcmp(in + pos, in + pos - far, MATCH_LEAST) != 0)
		return 0;
	return far;
}

size_t
lzjb_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap,
    uint16_t *table)
{
	size_t pos = 0, n = 0, control = 0;
	unsigned item = ITEMS;

	memset(table, 0, LZJB_TABLE * sizeof(*table));
	while (pos < len) {
		size_t far, most = MATCH_LEAST;

		if (item == ITEMS) {
			if (n + GROUP_MOST >= cap)
				return 0;
			item = 0;
			control = n++;
			out[control] = 0;
		}
		/* the last bytes are never looked up */
		far = len - pos < MATCH_MOST ? 0 : candidate_at(in, pos, table);
		if (far == 0) {
			out[n++] = in[pos++];
		} else {
			while (most < MATCH_MOST &&
			    in[pos + most] == in[pos + most - far])
				most++;
			out[control] |= (uint8_t)(1U << item);
			out[n++] = (uint8_t)((most - MATCH_LEAST) << 2 |
			    far >> 8);
			out[n++] = (uint8_t)far;
			pos += most;
		}
		item++;
	}
	return n;
}

int
lzjb_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size)
{
	size_t pos = 0, n = 0;
	unsigned item = ITEMS, control = 0;

	while (n < size) {
		if (item == ITEMS) {
			if (pos == len)
				return -EBADMSG;
			control = in[pos++];
			item = 0;
		}
		if (control >> item++ & 1) {
			size_t most, far;

			if (len - pos < 2)
				return -EBADMSG;
			most = (in[pos] >> 2) + (size_t)MATCH_LEAST;
			far = (in[pos] & 3U) << 8 | in[pos + 1];
			pos += 2;
			if (far == 0 || far > n)
				return -EBADMSG;
			for (; most > 0 && n < size; most--, n++)
				out[n] = out[n - far];
		} else {
			if (pos == len)
				return -EBADMSG;
			out[n++] = in[pos++];
		}
	}
	return 0;
}

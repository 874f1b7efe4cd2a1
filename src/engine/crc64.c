/*
 * crc64.c - CRC-64 with the ISO 3309 polynomial
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "engine/crc64.h"

#include "base/bytes.h"

#define POLYNOMIAL UINT64_C(0xd800000000000000)

void
crc64_init(struct crc64 *c)
{
	for (unsigned i = 0; i < 256; i++) {
		uint64_t v = i;

		for (int bit = 0; bit < 8; bit++)
			v = v >> 1 ^ ((v & 1) != 0 ? POLYNOMIAL : 0);
		c->tables[0][i] = v;
	}
	for (unsigned k = 1; k < 8; k++)
		for (unsigned i = 0; i < 256; i++) {
			uint64_t v = c->tables[k - 1][i];

			c->tables[k][i] = c->tables[0][v & 255] ^ v >> 8;
		}
}

uint64_t
crc64_add(const struct crc64 *c, uint64_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	for (; len >= 8; len -= 8, p += 8) {
		uint64_t v = crc ^ load_le64(p);

		crc = 0;
		for (int k = 0; k < 8; k++)
			crc ^= c->tables[7 - k][v >> 8 * k & 255];
	}
	for (; len > 0; len--, p++)
		crc = c->tables[0][(crc ^ *p) & 255] ^ crc >> 8;
	return ~crc;
}

/*
 * tar_number.c - numbers and checksums in tar headers
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tar_impl.h"

#include <errno.h>
#include <string.h>

enum { CHECKSUM_AT = 148, CHECKSUM_B = 8 };

/*
 * Parses a two's complement number, most significant byte first; bit 7 of the
 * first byte only marks the encoding.
 */
static int
base_256(const uint8_t *field, size_t len, int64_t *value)
{
	bool negative = (field[0] & 0x40) != 0;
	uint64_t v = negative ? UINT64_MAX : 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t byte = field[i];

		if (i == 0)
			byte = negative ? byte | 0x80 : byte & 0x7f;
		/* the bits shifted out must be copies of the sign bit */
		if (v >> 55 != (negative ? 0x1ff : 0))
			return -EBADMSG;
		v = v << 8 | byte;
	}
	*value = (int64_t)v;
	return 0;
}

int
tar_number(const uint8_t *field, size_t len, int64_t *value)
{
	uint64_t v = 0;
	size_t i = 0;

	if ((field[0] & 0x80) != 0)
		return base_256(field, len, value);
	while (i < len && field[i] == ' ')
		i++;
	for (; i < len && field[i] >= '0' && field[i] <= '7'; i++) {
		if (v >> 60 != 0)
			return -EBADMSG;
		v = v << 3 | (uint64_t)(field[i] - '0');
	}
	while (i < len && field[i] == ' ')
		i++;
	if (i < len && field[i] != '\0')
		return -EBADMSG;
	*value = (int64_t)v;
	return 0;
}

bool
tar_checksum_ok(const uint8_t *block)
{
	int64_t plain = 0, with_sign = 0, want;

	for (size_t i = 0; i < TAR_BLOCK; i++) {
		bool own = i - CHECKSUM_AT < CHECKSUM_B;

		plain += own ? ' ' : block[i];
		with_sign += own ? ' ' : (int8_t)block[i];
	}
	return tar_number(block + CHECKSUM_AT, CHECKSUM_B, &want) == 0 &&
	    (want == plain || want == with_sign);
}

int
tar_decimal(const char *s, uint64_t *value)
{
	uint64_t v = 0;

	if (*s == '\0')
		return -EBADMSG;
	for (; *s != '\0'; s++) {
		if (*s < '0' || *s > '9' || v > (UINT64_MAX - 9) / 10)
			return -EBADMSG;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*value = v;
	return 0;
}

/*
 * deflate_check.c - the checksums of gzip and zlib
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_check.h"

#include <libdeflate.h>
#include <zlib.h>

static uint32_t
add_crc32(uint32_t check, const void *p, size_t len)
{
	return libdeflate_crc32(check, p, len);
}

static uint32_t
combine_crc32(uint32_t a, uint32_t b, off_t len)
{
	return (uint32_t)crc32_combine(a, b, len);
}

const struct deflate_check check_crc32 = {
	.start = 0, .add = add_crc32, .combine = combine_crc32,
};

static uint32_t
add_adler32(uint32_t check, const void *p, size_t len)
{
	return libdeflate_adler32(check, p, len);
}

static uint32_t
combine_adler32(uint32_t a, uint32_t b, off_t len)
{
	return (uint32_t)adler32_combine(a, b, len);
}

const struct deflate_check check_adler32 = {
	.start = 1, .add = add_adler32, .combine = combine_adler32,
};

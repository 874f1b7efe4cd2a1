/*
 * deflate_data.c - data of several kinds, and deflate streams of it, for tests
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "deflate_data.h"

#include "rnd.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

void
fill(uint8_t *p, size_t n, unsigned kind)
{
	static const char *const words[] = {
		"the ", "cold ", "page ", "of ", "a ", "file\n", "reads ", "in "
	};
	uint32_t seed = 1 + kind * 77;
	size_t i = 0;
	int fd;

	switch (kind) {
	case 0:			/* one byte over and over */
		memset(p, 'x', n);
		return;
	case 1:			/* noise */
		while (i < n)
			p[i++] = (uint8_t)rnd(&seed);
		return;
	case 2:			/* words, with digits between them */
		while (i < n) {
			const char *w = words[rnd(&seed) % 8];

			while (*w != '\0' && i < n)
				p[i++] = (uint8_t)*w++;
			if (i < n && rnd(&seed) % 4 == 0)
				p[i++] = (uint8_t)('0' + rnd(&seed) % 10);
		}
		return;
	case 3:			/* literals with very different frequencies */
		while (i < n)
			p[i++] = (uint8_t)__builtin_ctz(rnd(&seed) | 1U << 30);
		return;
	case 4:			/* a program: this one */
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		if (fd != -1) {
			ssize_t got = read(fd, p, n);

			i = got > 0 ? (size_t)got : 0;
			close(fd);
		}
		for (; i < n; i++)
			p[i] = (uint8_t)(i % 251);
		return;
	default:		/* text, noise and a run in turn */
		for (size_t part; i < n; i += part) {
			part = n - i < 20000 ? n - i : 20000;
			fill(p + i, part, (unsigned)(i / 20000 * 7 % 4));
		}
	}
}

size_t
zlib_deflate(const uint8_t *in, size_t n, uint8_t *out, size_t cap, int level,
    int strategy, int mem)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, -15, mem,
	    strategy), Z_OK);
	z.next_in = (uint8_t *)(uintptr_t)in;
	z.avail_in = (uInt)n;
	z.next_out = out;
	z.avail_out = (uInt)cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return cap - z.avail_out;
}

size_t
lib_deflate(const uint8_t *in, size_t n, uint8_t *out, size_t cap, int level)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);

	assert_non_null(c);
	n = libdeflate_deflate_compress(c, in, n, out, cap);
	libdeflate_free_compressor(c);
	assert_int_not_equal(n, 0);
	return n;
}

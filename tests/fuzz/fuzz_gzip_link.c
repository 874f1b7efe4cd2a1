/*
 * fuzz_gzip_link.c - links of gzip blocks, forward and backward
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * What is parsed must be written with the same bytes, what is found must be a
 * link that says where it is, and a chain must lead from block to block.
 */
#include "../../src/format/gzip/gzip_link.h"
#include "format/list.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool right)
{
	if (!right)
		abort();
}

static void
check_forward(const uint8_t *data, size_t size)
{
	uint8_t again[GZIP_LINK_LEN];
	struct gzip_link l;

	for (size_t at = 0; at + GZIP_LINK_LEN <= size && at < 256; at++) {
		if (!gzip_link_parse(&l, data + at))
			continue;
		gzip_link_write(&l, again);
		require(memcmp(again, data + at, sizeof(again)) == 0);
	}
	for (int any = 0; any < 2; any++) {
		size_t from = 0, end = gzip_link_find(data, size, &from,
		    any ? UINT64_MAX : 0);

		require(from <= size && end <= size);
		if (end == 0)
			continue;
		require(end >= GZIP_LINK_LEN &&
		    gzip_link_parse(&l, data + end - GZIP_LINK_LEN));
		if (l.kind == GZIP_SKIP)
			end -= GZIP_LINK_LEN;
		require(gzip_link_parse(&l, data + end - GZIP_LINK_LEN));
		require(any || l.a == end - GZIP_LINK_LEN);
	}
}

static void
check_backward(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct gzip_chain c;
	struct look *look;

	require(fd != -1 && write(fd, data, size) == (ssize_t)size);
	look = look_open(fd, size);
	require(look != NULL);
	for (size_t cut = 0; cut < size && cut < 64; cut++) {
		uint64_t at, before;

		if (gzip_chain_read(&c, look, size - cut) != 1)
			continue;
		require(c.blocks > 0 && c.block > 0 && c.size > 0);
		require(c.start < c.end && c.end <= size - cut);
		before = c.start;
		for (uint64_t k = 0; k <= c.blocks && k < 64; k++) {
			if (gzip_chain_find(&c, look, k, &at) != 1)
				break;
			require(at >= before && at <= c.end);
			require((at == c.start) == (k == 0));
			before = at;
		}
	}
	look_close(look);
	close(fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	check_forward(data, size);
	check_backward(data, size);
	return 0;
}

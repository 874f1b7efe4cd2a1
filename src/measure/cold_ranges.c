/*
 * cold_ranges.c - which parts of a file are in memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * mincore(2) requires a mapping, so the file is mapped one part at a time,
 * without being read.
 */
#include "measure/cold.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

enum { STEP_PAGES = 1 << 16 };

/* A range that grows while pages are contiguous. */
struct growing {
	uint64_t from, to;
	cold_range_fn *range;
	void *arg;
};

static int
flush(struct growing *g, uint64_t size)
{
	uint64_t end = g->to < size ? g->to : size;
	int rc = g->from < end ? g->range(g->arg, g->from, end - g->from) : 0;

	g->from = g->to;
	return rc;
}

static int
add_pages(struct growing *g, uint64_t size, uint64_t at, uint64_t page_B,
    const unsigned char *in, uint64_t count)
{
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < count; i++, at += page_B) {
		if (!(in[i] & 1))
			continue;
		if (at != g->to) {
			rc = flush(g, size);
			g->from = at;
		}
		g->to = at + page_B;
	}
	return rc;
}

int
cold_ranges(int fd, uint64_t size, cold_range_fn *range, void *arg)
{
	uint64_t page_B = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t step_B = STEP_PAGES * page_B;
	unsigned char in[STEP_PAGES];
	struct growing g = { .range = range, .arg = arg };
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && at < size; at += step_B) {
		size_t len = (size_t)(size - at < step_B ? size - at : step_B);
		void *map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd,
		    (off_t)at);

		if (map == MAP_FAILED)
			return -errno;
		rc = mincore(map, len, in) == -1 ? -errno : 0;
		munmap(map, len);
		if (rc == 0)
			rc = add_pages(&g, size, at, page_B, in,
			    (len + page_B - 1) / page_B);
	}
	return rc == 0 ? flush(&g, size) : rc;
}

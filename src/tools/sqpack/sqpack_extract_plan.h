/*
 * sqpack_extract_plan.h - the work of extracting data, planned
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_EXTRACT_PLAN_H
#define COLDPRESS_SQPACK_EXTRACT_PLAN_H

#include "sqpack_extract.h"

/* A run of blocks is as many as a MiB holds: no block is larger than that. */
enum { EXTRACT_RUN_B = 1 << 20, EXTRACT_FRAGMENT = 0 };

struct extract_file {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* with these blocks: this and those
					   behind it; 0: one behind another */
};

struct extract_unit {
	uint64_t at;			/* in the image */
	uint32_t index;			/* of the file, or of the fragment */
	uint32_t block;			/* the first */
	uint32_t count;			/* of blocks, or EXTRACT_FRAGMENT */
};

struct extract_plan {
	struct extract *x;
	struct extract_file *files;	/* with blocks */
	size_t file_count, file_cap;
	struct extract_unit *units;
	size_t unit_count, unit_cap;
	/* tails[from[k]..from[k + 1]): files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;		/* unit that no thread has taken */
};

/* How many blocks a run has at most. */
uint32_t extract_run_blocks(const struct extract *x);

/*
 * Fills *p, all zero but for x, with what of x's image is wanted and has data.
 * 0 or -ENOMEM; to be freed in any case.
 */
int extract_plan_make(struct extract_plan *p);
void extract_plan_free(struct extract_plan *p);

#endif

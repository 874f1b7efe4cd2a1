/*
 * sqpack_extract_plan.h - planning the extraction of data
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_EXTRACT_PLAN_H
#define COLDPRESS_SQPACK_EXTRACT_PLAN_H

#include "sqpack_extract.h"

/* A run is as many blocks as fit in 1 MiB, the largest block size. */
enum { EXTRACT_RUN_B = 1 << 20, EXTRACT_FRAGMENT = 0 };

struct extract_file {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* number of consecutive files with
					 * these blocks, including this one; 0
					 * if this is not the first of them */
};

struct extract_unit {
	uint64_t at;			/* offset in the image */
	uint32_t index;			/* index of the file or fragment
					 * block */
	uint32_t block;			/* the first block */
	uint32_t count;			/* blocks, or EXTRACT_FRAGMENT */
};

struct extract_plan {
	struct extract *x;
	struct extract_file *files;	/* files with blocks */
	size_t file_count, file_cap;
	struct extract_unit *units;
	size_t unit_count, unit_cap;
	/* tails[from[k]..from[k + 1]): the files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;		/* the next unit to claim */
};

/* Returns the maximum number of blocks in a run. */
uint32_t extract_run_blocks(const struct extract *x);

/*
 * Plans the extraction of the selected names of x's image.  *p must be zeroed
 * except for x, and freed even after an error.  Returns 0 or -ENOMEM.
 */
int extract_plan_make(struct extract_plan *p);
void extract_plan_free(struct extract_plan *p);

#endif

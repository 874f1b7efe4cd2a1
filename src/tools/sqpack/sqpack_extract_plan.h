/*
 * sqpack_extract_plan.h - planning the extraction of data
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_SQPACK_EXTRACT_PLAN_H
#define COLDPRESS_SQPACK_EXTRACT_PLAN_H

#include "sqpack_extract.h"

/* A run has as many blocks as fit a MiB: no block is larger than that. */
enum { EXTRACT_RUN_B = 1 << 20, EXTRACT_FRAGMENT = 0 };

struct extract_file {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* number of files with these blocks,
					 * from this one on; 0: not the first of
					 * them */
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
	/* tails[from[k]..from[k + 1]): the files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;		/* next unit not yet taken */
};

/* The maximum number of blocks in a run. */
uint32_t extract_run_blocks(const struct extract *x);

/*
 * Fills in *p, all zero but for x, with the selected data of x's image. 0 or
 * -ENOMEM; must be freed in any case.
 */
int extract_plan_make(struct extract_plan *p);
void extract_plan_free(struct extract_plan *p);

#endif

/*
 * plan.h - deciding which blocks to read, and in which order
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_PLAN_H
#define COLDPRESS_IMAGE_PLAN_H

#include "image/source.h"

/* A unit of work: one data block, one fragment block, or no block. */
struct image_job {
	uint64_t at;			/* in the image */
	image_word word;
	uint32_t index;			/* file or fragment */
	uint32_t block;			/* in the file, or IMAGE_JOB_... */
};
#define IMAGE_JOB_FRAGMENT UINT32_MAX
#define IMAGE_JOB_HOLES (UINT32_MAX - 1)	/* a file without blocks */

/* All of a file's blocks, or a fragment block. */
struct image_extent {
	uint64_t order;
	size_t first, count;		/* number of jobs */
};

struct image_plan {
	struct image_job *jobs;
	size_t count;
	struct image_extent *extents;	/* in reading order */
	size_t extent_count;
	/* tail[from[k]..from[k + 1]): the files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	uint64_t files, bytes;		/* to be read, without duplicates */
};

/*
 * Finds duplicates among the files that are not skipped, and orders the work.
 * Returns 0, -EDQUOT or -ENOMEM; must be freed even on failure.
 */
int image_plan_make(struct image_plan *p, struct image *m);
void image_plan_free(struct image_plan *p);

#endif

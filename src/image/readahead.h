/*
 * readahead.h - asking the kernel to read ahead in large pieces
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_IMAGE_READAHEAD_H
#define COLDPRESS_IMAGE_READAHEAD_H

#include "plan.h"

struct image_readahead {
	const struct image *image;
	const struct image_plan *plan;
};

/*
 * Requests the jobs from..to, or the first `jobs` of each of the extents
 * from..to.  Thread-safe.
 */
void image_readahead_jobs(const struct image_readahead *a, size_t from,
    size_t to);
void image_readahead_extents(const struct image_readahead *a, size_t from,
    size_t to, size_t jobs);

#endif

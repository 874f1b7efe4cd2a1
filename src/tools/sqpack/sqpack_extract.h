/*
 * sqpack_extract.h - declarations shared by the extraction code
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The units of work are runs of a file's blocks, and fragment blocks, in image
 * order.
 */
#ifndef COLDPRESS_SQPACK_EXTRACT_H
#define COLDPRESS_SQPACK_EXTRACT_H

#include "sqpack_read.h"

#include "walk/extract.h"

#include <pthread.h>
#include <stdatomic.h>

/* A run is as many blocks as fit in 1 MiB, the largest block size. */
enum { EXTRACTION_RUN_B = 1 << 20, EXTRACTION_FRAGMENT = 0 };

struct extraction_file {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* number of consecutive files with
					 * these blocks, including this one; 0
					 * if this is not the first of them */
};

struct extraction_unit {
	uint64_t at;			/* offset in the image */
	uint32_t index;			/* index of the file or fragment
					 * block */
	uint32_t block;			/* the first block */
	uint32_t count;			/* blocks, or EXTRACTION_FRAGMENT */
};

struct extraction_plan {
	struct extraction *t;
	struct extraction_file *files;	/* files with blocks */
	size_t file_count, file_cap;
	struct extraction_unit *units;
	size_t unit_count, unit_cap;
	/* tails[from[k]..from[k + 1]): the files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;		/* the next unit to claim */
};

struct extraction {
	struct sqpack_image i;
	uint32_t *as;			/* for the first name of an inode: the
					 * name under which the inode is
					 * extracted */
	struct extraction_plan plan;
	struct extract *x;
	pthread_mutex_t lock;		/* protects messages */
};

/* Returns the maximum number of blocks in a run. */
uint32_t extraction_run_blocks(const struct extraction *t);

/*
 * Plans the extraction of the selected names of t's image.  *p must be zeroed
 * except for t, and freed even after an error.  Returns 0 or -ENOMEM.
 */
int extraction_plan_make(struct extraction_plan *p);
void extraction_plan_free(struct extraction_plan *p);

/* Writes all data: an extract_source's function; arg is the extraction. */
void extraction_data(void *arg, struct extract *x);

/* Reports damage of a name's data at byte `at` of the image; 0: unknown. */
void extraction_damage(struct extraction *t, size_t number, uint64_t at,
    const char *why);

#endif

/*
 * sq_extract.h - declarations shared by the files that extract names
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The units of work are runs of a file's blocks, and fragment blocks, in image
 * order.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_READ_SQ_EXTRACT_H
#define COLDPRESS_IMAGE_SQUASHFS_READ_SQ_EXTRACT_H

#include "base/progress.h"
#include "image/squashfs/read/extract.h"

#include <pthread.h>
#include <stdatomic.h>

/* A run is as many blocks as fit in 1 MiB, the largest block size. */
enum { SQ_EXTRACT_RUN_B = 1 << 20, SQ_EXTRACT_FRAGMENT = 0 };

struct sq_extract_file {
	uint64_t start;
	uint32_t number;
	uint32_t twins;			/* number of consecutive files with
					 * these blocks, including this one; 0
					 * if this is not the first of them */
};

struct sq_extract_unit {
	uint64_t at;			/* offset in the image */
	uint32_t index;			/* index of the file or fragment
					 * block */
	uint32_t block;			/* the first block */
	uint32_t count;			/* blocks, or SQ_EXTRACT_FRAGMENT */
};

struct sq_extract_plan {
	struct sq_extraction *t;
	struct sq_extract_file *files;	/* files with blocks */
	size_t file_count, file_cap;
	struct sq_extract_unit *units;
	size_t unit_count, unit_cap;
	/* tails[from[k]..from[k + 1]): the files with a tail in fragment k */
	uint32_t *tails;
	size_t *from;
	atomic_size_t next;		/* the next unit to claim */
};

struct sq_extraction {
	const struct sq_image *m;
	const struct sq_extract_options *o;
	uint32_t *as;			/* for the first name of an inode: the
					 * name under which the inode is
					 * extracted */
	struct sq_extract_plan plan;
	struct extract *x;
	uint64_t total_B;		/* size of all files */
	struct progress progress;
	pthread_mutex_t lock;		/* protects reports, and path */
	char *path;			/* buffer */
	size_t path_cap;
};

/* Returns the maximum number of blocks in a run. */
uint32_t sq_extract_run_blocks(const struct sq_extraction *t);

/*
 * Plans the extraction of the selected names of t's image.  *p must be zeroed
 * except for t, and freed even after an error.  Returns 0 or -ENOMEM.
 */
int sq_extract_plan_make(struct sq_extract_plan *p);
void sq_extract_plan_free(struct sq_extract_plan *p);

/* Writes all data: an extract_source's function; arg is the extraction. */
void sq_extract_data(void *arg, struct extract *x);

/* Reports damage of a name's data at byte `at` of the image; 0: unknown. */
void sq_extract_damage(struct sq_extraction *t, size_t number, uint64_t at,
    const char *why);

#endif

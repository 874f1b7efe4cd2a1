/*
 * layer_plan.h - determining the entry to which a name ultimately refers
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An archive may contain a path several times, in which case the last entry is
 * used, and hard links to files that are later replaced.  Entries are added in
 * order; at any time the plan contains a current name of each file.
 */
#ifndef COLDPRESS_LAZY_LAYER_PLAN_H
#define COLDPRESS_LAZY_LAYER_PLAN_H

#include "lazy/layer.h"

#define LAYER_PLAN_NONE UINT32_MAX

struct layer_plan {
	const struct layer_entry *entries;
	size_t count;
	/*
	 * For each entry, the entry with its current path, which may be a hard
	 * link; LAYER_PLAN_NONE if it has been replaced.
	 */
	uint32_t *at;
	/* For a hard link, the file; for other entries, the entry itself. */
	uint32_t *file;
	/*
	 * The nearest directory above an entry's own path that is an entry, or
	 * LAYER_PLAN_NONE; from layer_plan_end().
	 */
	uint32_t *parent;
	/* private */
	uint32_t *links, *next;		/* additional names of a file */
	uint32_t *table;		/* hash table of paths, with mask + 1
					 * entries */
	size_t mask;
	uint64_t seed;
};

/* Returns 0 or -ENOMEM; p must be closed even after an error. */
int layer_plan_open(struct layer_plan *p, const struct layer *l);
void layer_plan_close(struct layer_plan *p);

/*
 * Adds entry n, which must follow the last one added.  Returns 0, -ENOENT (a
 * hard link to a file that is not in the layer) or -ENOMEM.
 */
int layer_plan_add(struct layer_plan *p, size_t n);

/* Called after the last entry. */
void layer_plan_end(struct layer_plan *p);

#endif

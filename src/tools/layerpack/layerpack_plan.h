/*
 * layerpack_plan.h - which entry of a layer a name finally refers to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * An archive may contain a path several times, the last of which counts, and
 * hard links to files that are later replaced.  Entries are added in order; at
 * any time the plan knows under which name each file can be found.
 */
#ifndef COLDPRESS_LAYERPACK_PLAN_H
#define COLDPRESS_LAYERPACK_PLAN_H

#include "lazy/layer.h"

#define PLAN_NONE UINT32_MAX

struct plan {
	const struct layer_entry *entries;
	size_t count;
	/*
	 * For each entry, the one under whose path it can be found, possibly a
	 * hard link; PLAN_NONE if it has been replaced.
	 */
	uint32_t *at;
	/* For a hard link, the file; for others, the entry itself. */
	uint32_t *file;
	/* private */
	uint32_t *links, *next;		/* a file's names besides its own */
	uint32_t *table;		/* of paths; mask + 1 entries */
	size_t mask;
	uint64_t seed;
};

/* Returns 0 or -ENOMEM; must be closed even after an error. */
int plan_open(struct plan *p, const struct layer *l);
void plan_close(struct plan *p);

/*
 * Adds entry n, which follows the last one added.  Returns 1 if an earlier
 * entry had its path, 0 if none had; or, if the entry has no place, -ENOENT (a
 * hard link to a file that is not in the layer) or -ENOMEM.
 */
int plan_add(struct plan *p, size_t n);

#endif

/*
 * index.h - building a layer's index in memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The reader of a format adds units, and each entry followed by its runs, in
 * archive order; index_finish() then sets the pointers in the entries.  Runs
 * are checked when they are added: a run must be within its file and its unit,
 * and after the previous run.
 *
 * A zeroed struct is an empty index.  It belongs to one thread at a time; after
 * index_finish() it does not change.
 */
#ifndef COLDPRESS_LAZY_INDEX_H
#define COLDPRESS_LAZY_INDEX_H

#include "lazy/layer.h"

#include "base/arena.h"

struct lazy_index {
	struct layer_entry *entries;
	struct layer_unit *units;
	struct layer_run *runs;
	size_t entry_count, unit_count, run_count;
	uint64_t unit_most;		/* limit on a unit's content; 0:
					 * LAYER_UNIT_MAX */
	/* private */
	size_t entry_cap, unit_cap, run_cap;
	struct arena arena;
};

/*
 * Adds an entry without runs.  Its path is normalized; its strings and
 * attributes are copied.  Returns 0 or, with a clause in why, -EBADMSG (the
 * path leaves the layer, or a size is negative as an off_t), -EFBIG
 * (LAYER_ENTRIES_MAX) or -ENOMEM.
 */
int index_entry(struct lazy_index *x, const struct layer_entry *e,
    char why[LAYER_WHY]);

/*
 * Adds a unit; its number for index_run() is the number of units before the
 * call.  Returns 0, -EFBIG (the limit, or 2^32 units) or -ENOMEM.
 */
int index_unit(struct lazy_index *x, const struct layer_unit *u,
    char why[LAYER_WHY]);

/*
 * Adds a run to the last entry, which must be a file.  Returns 0, -EBADMSG or
 * -ENOMEM.
 */
int index_run(struct lazy_index *x, const struct layer_run *r,
    char why[LAYER_WHY]);

void index_finish(struct lazy_index *x);
void index_free(struct lazy_index *x);

#endif

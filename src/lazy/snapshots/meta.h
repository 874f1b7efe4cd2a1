/*
 * meta.h - the database of a snapshotter
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * All calls must be between meta_begin() and meta_end(), by one thread at a
 * time, and return 0 or -errno: -ENOENT, -EEXIST, -ENOMEM, -ENOSPC or -EIO.
 */
#ifndef COLDPRESS_LAZY_SNAPSHOTS_META_H
#define COLDPRESS_LAZY_SNAPSHOTS_META_H

#include "lazy/snapshots/snapshots.h"

struct meta;

/* What is known about a snapshot.  The strings are in the caller's arena. */
struct meta_row {
	int64_t id, parent;		/* parent: 0 if there is none */
	struct snapshots_info info;
	struct snapshots_usage usage;
	const char *image, *digest;	/* of its layer if it is mounted lazily;
					 * otherwise NULL */
};

/* Opens or creates the database.  Returns 0, or -errno with a reason. */
int meta_open(struct meta **m, const char *path, char why[SNAPSHOTS_WHY]);
void meta_close(struct meta *m);		/* may be NULL */

int meta_begin(struct meta *m);

/* Commits if rc is 0; otherwise nothing has changed.  Returns rc, or -errno. */
int meta_end(struct meta *m, int rc);

int meta_find(struct meta *m, const char *name, struct meta_row *r,
    struct arena *a);
int meta_find_id(struct meta *m, int64_t id, struct meta_row *r,
    struct arena *a);

/* Calls take() for each snapshot, in the order of their names. */
int meta_each(struct meta *m, struct arena *a,
    int (*take)(void *arg, const struct meta_row *r), void *arg);

/* Returns 1 if a snapshot has children, or 0. */
int meta_has_child(struct meta *m, int64_t id);

/* Returns the number of layers that are mounted lazily. */
int64_t meta_lazy_count(struct meta *m);

/* Adds a snapshot, and sets r->id. */
int meta_add(struct meta *m, struct meta_row *r);

/* Changes everything but the parent of a snapshot to what r says. */
int meta_change(struct meta *m, const struct meta_row *r);

int meta_remove(struct meta *m, int64_t id);

#endif

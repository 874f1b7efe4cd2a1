/*
 * sqfs_twins.h - finding identical files of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * By size and a 128-bit hash, not by comparing contents.
 */
#ifndef COLDPRESS_SQFS_TWINS_H
#define COLDPRESS_SQFS_TWINS_H

#include "sqfs.h"

#include <xxhash.h>

struct sqfs_twins {
	struct sqfs_twin {
		XXH128_hash_t hash;
		size_t node;		/* 0: none, because the root is not a
					 * file */
	} *slots;
	size_t mask;
	uint64_t *sizes;		/* of large files, in order */
	size_t size_count;
};

/* For the files of t.  0 or -ENOMEM; must be closed in any case. */
int sqfs_twins_open(struct sqfs_twins *w, const struct sqfs_tree *t,
    uint32_t block);
void sqfs_twins_close(struct sqfs_twins *w);

/* Whether only one file of a block or more has that size. */
bool sqfs_twins_alone(const struct sqfs_twins *w, uint64_t size);

/* The earlier node with that content; or 0, and this one is recorded. */
size_t sqfs_twins_find(struct sqfs_twins *w, XXH128_hash_t hash,
    const struct sqfs_tree *t, size_t node);

#endif

/*
 * sqfs_twins.h - files of a squashfs image that are the same
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * By size and a hash of 128 bits: not by comparing them.
 */
#ifndef COLDPRESS_SQFS_TWINS_H
#define COLDPRESS_SQFS_TWINS_H

#include "sqfs.h"

#include <xxhash.h>

struct sqfs_twins {
	struct sqfs_twin {
		XXH128_hash_t hash;
		size_t node;		/* 0: none, as the root is no file */
	} *slots;
	size_t mask;
	uint64_t *sizes;		/* of large files, in order */
	size_t size_count;
};

/* For the files of t.  0 or -ENOMEM; to be closed in any case. */
int sqfs_twins_open(struct sqfs_twins *w, const struct sqfs_tree *t,
    uint32_t block);
void sqfs_twins_close(struct sqfs_twins *w);

/* Whether only one file of a block or more has that size. */
bool sqfs_twins_alone(const struct sqfs_twins *w, uint64_t size);

/* The earlier node of that content; or 0, and this one is kept. */
size_t sqfs_twins_find(struct sqfs_twins *w, XXH128_hash_t hash,
    const struct sqfs_tree *t, size_t node);

#endif

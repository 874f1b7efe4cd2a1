/*
 * twins.h - finding files with identical content
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Files are looked up by a key, which consists of a size in bytes and a 128-bit
 * hash.  Use from one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_TWINS_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_TWINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

struct sqw_twin {
	XXH128_hash_t hash;
	uint64_t key;			/* combined with the hash; 0: the
					 * slot is free */
	/* size and id of the first file with this content */
	uint64_t size;
	uint32_t id;
};

struct sqw_twins {
	struct sqw_twin *slots;
	size_t count, mask;
	uint64_t *sizes;		/* set of the sizes of files with
					 * blocks */
	size_t size_count, size_mask;
};

int sqw_twins_open(struct sqw_twins *w);	/* 0 or -ENOMEM */
void sqw_twins_close(struct sqw_twins *w);

/*
 * Finds an earlier file with the given content.  Returns NULL if there is none.
 */
const struct sqw_twin *sqw_twins_find(const struct sqw_twins *w, uint64_t key,
    XXH128_hash_t hash);

/* Adds a file under this key.  Returns 0 or -ENOMEM. */
int sqw_twins_add(struct sqw_twins *w, uint64_t key, const struct sqw_twin *t);

/*
 * Adds a size to the set.  Returns whether the set already contained it, or
 * -ENOMEM.
 */
int sqw_twins_size_seen(struct sqw_twins *w, uint64_t size);

#endif

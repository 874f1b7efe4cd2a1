/*
 * twins.h - files of an image whose content is the same
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * By a key, which is a number of bytes, and a hash of 128 bits.  One thread's.
 */
#ifndef COLDPRESS_SQBUILD_TWINS_H
#define COLDPRESS_SQBUILD_TWINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

struct twin {
	XXH128_hash_t hash;
	uint64_t key;			/* with the hash; 0: the slot is free */
	/* of the first such file */
	uint64_t size;
	uint32_t id;
};

struct twins {
	struct twin *slots;
	size_t count, mask;
	uint64_t *sizes;		/* of files with blocks, a set */
	size_t size_count, size_mask;
};

int twins_open(struct twins *w);	/* 0 or -ENOMEM */
void twins_close(struct twins *w);

/* An earlier file of that content, or NULL. */
const struct twin *twins_find(const struct twins *w, uint64_t key,
    XXH128_hash_t hash);

/* Remembers a file under that key.  0 or -ENOMEM. */
int twins_add(struct twins *w, uint64_t key, const struct twin *t);

/* Whether a file of that size was noted before; notes it.  Or -ENOMEM. */
int twins_size_seen(struct twins *w, uint64_t size);

#endif

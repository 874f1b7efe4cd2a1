/*
 * twins.h - finding files with identical content
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Content is identified by a size in bytes and a 128-bit hash, by which earlier
 * files are looked up.  Use from one thread at a time.
 */
#ifndef COLDPRESS_IMAGE_SQUASHFS_WRITE_TWINS_H
#define COLDPRESS_IMAGE_SQUASHFS_WRITE_TWINS_H

#include "image/squashfs/write/data.h"

#include <xxhash.h>
#include <zstd.h>

/* Bits of a size that make it the key of something other than content. */
#define SQW_TWINS_FIRST (UINT64_C(1) << 63)
#define SQW_TWINS_HOLLOW (UINT64_C(1) << 62)

struct sqw_twin {
	XXH128_hash_t hash;
	uint64_t key;			/* combined with the hash; 0: the
					 * slot is free */
	/* size and id of the first file with this content */
	uint64_t size;
	uint32_t id;
};

struct sqw_twins {
	const struct sqw_data_options *o;
	struct sqw_twin *slots;
	size_t count, mask;
	uint64_t *sizes;		/* set of the sizes of files with
					 * blocks */
	size_t size_count, size_mask;
	/* the file being hashed */
	XXH3_state_t *state;
	bool begun;
	/*
	 * Of its first block.  If mksquashfs must be followed, all blocks that
	 * will be stored uncompressed count as equal, since it compares stored
	 * lengths.
	 */
	XXH128_hash_t first;
	ZSTD_CCtx *probe;		/* shows which these are, or NULL */
	uint8_t *scratch;
	uint64_t busy_ns;		/* time spent hashing so far */
};

/* Returns 0 or -ENOMEM; w must be closed even on failure. */
int sqw_twins_open(struct sqw_twins *w, const struct sqw_data_options *o);
void sqw_twins_close(struct sqw_twins *w);

/*
 * These functions hash a file: begin, add its blocks in order, end.  A hole is
 * hashed like `count` blocks of zeros, the first of which has len bytes.
 */
void sqw_twins_begin(struct sqw_twins *w);
void sqw_twins_hash(struct sqw_twins *w, const uint8_t *block, size_t len);
void sqw_twins_hash_hole(struct sqw_twins *w, size_t len, uint32_t count);
XXH128_hash_t sqw_twins_end(const struct sqw_twins *w);

/*
 * Finds an earlier file with the content of one of this size and hash.  Returns
 * NULL if there is none.
 */
const struct sqw_twin *sqw_twins_find(const struct sqw_twins *w, uint64_t size,
    XXH128_hash_t hash);

/* Adds a file.  Returns 0 or -ENOMEM. */
int sqw_twins_add(struct sqw_twins *w, uint64_t size, XXH128_hash_t hash,
    uint32_t id);

/*
 * Adds a size to the set.  Returns whether the set already contained one that
 * allows the same content, or -ENOMEM.
 */
int sqw_twins_size_seen(struct sqw_twins *w, uint64_t size);

bool sqw_content_is_zero(const uint8_t *p, size_t len);	/* len >= 1 */

#endif

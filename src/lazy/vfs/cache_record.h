/*
 * cache_record.h - the headers in a cache file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VFS_CACHE_RECORD_H
#define COLDPRESS_LAZY_VFS_CACHE_RECORD_H

#include "lazy/vfs/cache.h"

#include <stddef.h>
#include <stdint.h>

struct cache_record {
	uint64_t offset, length;	/* range in the object */
	uint64_t object;		/* hash of the object's name */
	uint64_t sum;			/* checksum of the data */
	uint64_t at;			/* position of the data in the file */
	bool there;			/* false once freed; not in the
					 * header */
};

void cache_record_write(const struct cache_record *r,
    uint8_t out[CACHE_HEADER]);

/*
 * Parses a header at a position in a file of size bytes.  Returns 0, or
 * -EBADMSG if there is no header or the file is too short for its data.
 */
int cache_record_parse(struct cache_record *r, const uint8_t in[CACHE_HEADER],
    uint64_t position, uint64_t size);

uint64_t cache_hash(const void *data, size_t len);

#endif

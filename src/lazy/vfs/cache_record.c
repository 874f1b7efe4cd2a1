/*
 * cache_record.c - the headers in a cache file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cache_record.h"

#include "base/bytes.h"

#include <errno.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

static const char magic[8] = { 'l', 'a', 'y', 'r', 'a', 'n', 'g', 'e' };

uint64_t
cache_hash(const void *data, size_t len)
{
	return XXH3_64bits(data, len);
}

void
cache_record_write(const struct cache_record *r, uint8_t out[CACHE_HEADER])
{
	memcpy(out, magic, sizeof(magic));
	store_le64(out + 8, r->offset);
	store_le64(out + 16, r->length);
	store_le64(out + 24, r->object);
	store_le64(out + 32, r->sum);
	store_le64(out + 40, cache_hash(out, 40));
}

int
cache_record_parse(struct cache_record *r, const uint8_t in[CACHE_HEADER],
    uint64_t position, uint64_t size)
{
	if (memcmp(in, magic, sizeof(magic)) != 0 ||
	    load_le64(in + 40) != cache_hash(in, 40) ||
	    size < CACHE_HEADER || position > size - CACHE_HEADER)
		return -EBADMSG;
	r->offset = load_le64(in + 8);
	r->length = load_le64(in + 16);
	r->object = load_le64(in + 24);
	r->sum = load_le64(in + 32);
	r->at = position + CACHE_HEADER;
	return r->length <= size - r->at ? 0 : -EBADMSG;
}

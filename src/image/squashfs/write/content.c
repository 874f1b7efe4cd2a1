/*
 * content.c - hashing file contents to find duplicates
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/content.h"

#include "base/sys.h"

#include <errno.h>
#include <string.h>

enum { LENGTH_BITS = 0x3ff };

int
sqw_content_open(struct sqw_content *c, const struct sqw_data_options *o)
{
	*c = (struct sqw_content){ .o = o, .state = XXH3_createState() };
	return c->state == NULL ? -ENOMEM : 0;
}

void
sqw_content_close(struct sqw_content *c)
{
	XXH3_freeState(c->state);
}

void
sqw_content_begin(struct sqw_content *c)
{
	XXH3_128bits_reset(c->state);
	c->begun = false;
}

static void
add_block_hash(struct sqw_content *c, XXH128_hash_t block)
{
	c->begun = true;
	XXH3_128bits_update(c->state, &block, sizeof(block));
}

/*
 * The hash covers the hashes of blocks, so a hole does not have to be read; a
 * block of zeros has the same hash at any length.  In exact mode the length
 * matters: mksquashfs compares a file only with those whose first block has the
 * same stored length modulo 1024, and for a block of zeros it uses the unpacked
 * length.
 */
static void
add_zeros(struct sqw_content *c, size_t len, uint32_t count)
{
	XXH128_hash_t hash = { 0, 0 };

	if (!c->begun && c->o->exact)
		hash.low64 = len & LENGTH_BITS;
	for (; count > 0; count--) {
		add_block_hash(c, hash);
		hash.low64 = 0;
	}
}

void
sqw_content_add_hole(struct sqw_content *c, size_t len, uint32_t count)
{
	uint64_t t0 = sys_now_ns();

	add_zeros(c, len, count);
	c->busy_ns += sys_now_ns() - t0;
}

void
sqw_content_add(struct sqw_content *c, const uint8_t *block, size_t len)
{
	uint64_t t0 = sys_now_ns();

	if (sqw_content_is_zero(block, len))
		add_zeros(c, len, 1);
	else
		add_block_hash(c, XXH3_128bits(block, len));
	c->busy_ns += sys_now_ns() - t0;
}

XXH128_hash_t
sqw_content_end(const struct sqw_content *c)
{
	return XXH3_128bits_digest(c->state);
}

uint64_t
sqw_content_size(const struct sqw_data_options *o, uint64_t size)
{
	return o->exact ? ((size - 1) / o->block + 1) * o->block : size;
}

bool
sqw_content_is_zero(const uint8_t *p, size_t len)
{
	return p[0] == 0 && memcmp(p, p + 1, len - 1) == 0;
}

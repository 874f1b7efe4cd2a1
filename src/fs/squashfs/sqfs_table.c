/*
 * sqfs_table.c - a table of metadata blocks of a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sqfs_table.h"

#include "base/bytes.h"

#include <string.h>

enum { POINTER = 8 };			/* to a block */

static void
end_block(struct sqfs_table *t)
{
	size_t n = t->packer == NULL ? 0 : packer_pack(t->packer, t->data,
	    t->filled, SQFS_META);

	t->size += SQFS_HEADER + (n == 0 || n >= t->filled ? t->filled : n);
	t->blocks++;
	t->filled = 0;
}

struct sqfs_place
sqfs_place(const struct sqfs_table *t)
{
	return (struct sqfs_place){ (uint32_t)t->size, (uint16_t)t->filled };
}

void
sqfs_put(struct sqfs_table *t, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		size_t n = SQFS_META - t->filled;

		n = n < len ? n : len;
		memcpy(t->data + t->filled, p, n);
		t->filled += (uint32_t)n;
		p += n;
		len -= n;
		if (t->filled == SQFS_META)
			end_block(t);
	}
}

void
sqfs_put16(struct sqfs_table *t, uint64_t v)
{
	uint8_t b[2];

	store_le16(b, (uint16_t)v);
	sqfs_put(t, b, sizeof(b));
}

void
sqfs_put32(struct sqfs_table *t, uint64_t v)
{
	uint8_t b[4];

	store_le32(b, (uint32_t)v);
	sqfs_put(t, b, sizeof(b));
}

void
sqfs_put64(struct sqfs_table *t, uint64_t v)
{
	uint8_t b[8];

	store_le64(b, v);
	sqfs_put(t, b, sizeof(b));
}

uint64_t
sqfs_table_end(struct sqfs_table *t, bool pointers)
{
	uint64_t all;

	if (t->filled > 0)
		end_block(t);
	all = t->size + (pointers ? POINTER * t->blocks : 0);
	t->size = t->blocks = 0;
	return all;
}

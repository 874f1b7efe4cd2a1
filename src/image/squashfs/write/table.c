/*
 * table.c - a table of metadata blocks in a squashfs image
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/write/table.h"

#include "base/bytes.h"

#include <string.h>

static void
end_meta_block(struct sqw_table *t)
{
	uint8_t *body = t->packed + SQUASHFS_META_HEADER_B;
	uint32_t header = t->filled;
	size_t n = t->ops.pack == NULL ? 0 : t->ops.pack(t->ops.arg, t->data,
	    t->filled, body, SQUASHFS_META_B);

	if (n == 0) {
		n = t->filled;
		memcpy(body, t->data, n);
		header |= SQUASHFS_META_RAW;
	} else
		header = (uint32_t)n;
	store_le16(t->packed, (uint16_t)header);
	n += SQUASHFS_META_HEADER_B;
	t->raw_size += t->filled + SQUASHFS_META_HEADER_B;
	if (t->ops.write != NULL && t->err == 0)
		t->err = t->ops.write(t->ops.arg, t->packed, n);
	t->size += n;
	t->blocks++;
	t->filled = 0;
}

struct sqw_place
sqw_place(const struct sqw_table *t)
{
	return (struct sqw_place){ (uint32_t)t->size, (uint16_t)t->filled };
}

void
sqw_put(struct sqw_table *t, const void *data, size_t len)
{
	const uint8_t *p = data;

	while (len > 0) {
		size_t n = SQUASHFS_META_B - t->filled;

		n = n < len ? n : len;
		memcpy(t->data + t->filled, p, n);
		t->filled += (uint32_t)n;
		p += n;
		len -= n;
		if (t->filled == SQUASHFS_META_B)
			end_meta_block(t);
	}
}

void
sqw_put16(struct sqw_table *t, uint64_t v)
{
	uint8_t b[2];

	store_le16(b, (uint16_t)v);
	sqw_put(t, b, sizeof(b));
}

void
sqw_put32(struct sqw_table *t, uint64_t v)
{
	uint8_t b[4];

	store_le32(b, (uint32_t)v);
	sqw_put(t, b, sizeof(b));
}

void
sqw_put64(struct sqw_table *t, uint64_t v)
{
	uint8_t b[8];

	store_le64(b, v);
	sqw_put(t, b, sizeof(b));
}

int
sqw_table_end(struct sqw_table *t)
{
	if (t->filled > 0)
		end_meta_block(t);
	return t->err;
}

/*
 * zstd_table.c - writing the seek table of a file of zstd frames
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "format/zstd_table.h"

#include "base/bytes.h"
#include "format/codec.h"
#include "zstd_scan.h"

#include <errno.h>
#include <string.h>

enum { HEAD = 8, ENTRY = 8, FOOT = 9 };

int
zstd_table_add(struct buf *t, uint64_t packed, uint64_t plain)
{
	int rc = 0;

	if (packed > UINT32_MAX || plain > UINT32_MAX ||
	    t->len > UINT32_MAX - ENTRY - FOOT)
		return -EFBIG;
	if (t->cap - t->len < ENTRY)
		rc = buf_reserve(t, t->cap == 0 ? 4096 : 2 * t->cap);
	if (rc != 0)
		return rc;
	store_le32(t->data + t->len, (uint32_t)packed);
	store_le32(t->data + t->len + 4, (uint32_t)plain);
	t->len += ENTRY;
	return 0;
}

int
zstd_table_end(struct buf *t)
{
	size_t n = t->len;
	int rc = buf_reserve(t, HEAD + n + FOOT);
	uint8_t *foot;

	if (rc != 0)
		return rc;
	memmove(t->data + HEAD, t->data, n);
	store_le32(t->data, ZSTD_SEEK_MAGIC);
	store_le32(t->data + 4, (uint32_t)(n + FOOT));
	foot = t->data + HEAD + n;
	store_le32(foot, (uint32_t)(n / ENTRY));
	foot[4] = 0;
	store_le32(foot + 5, ZSTD_SEEK_FOOTER_MAGIC);
	t->len = HEAD + n + FOOT;
	return 0;
}

struct adder {
	struct buf *table;
	int rc;
};

static void
add_frame(void *arg, const struct codec_frame *f)
{
	struct adder *a = arg;

	if (a->rc == 0)
		a->rc = zstd_table_add(a->table, f->packed, f->size);
}

int
zstd_table_add_file(struct buf *table, int fd, uint64_t len)
{
	struct adder a = { .table = table };
	struct codec_listing l = { .frame = add_frame, .frame_arg = &a };
	int rc = codec_by_name("zstd")->list(fd, len, &l);

	if (rc == 0)
		rc = a.rc;
	return rc != 0 ? rc : l.has_size ? 0 : -ENOTSUP;
}

/*
 * list_zstd.c - the uncompressed size of a zstd file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only block headers are read, without the data between them.
 */
#include "format/list.h"

#include "base/bytes.h"
#include "format/look.h"
#include "zstd_scan.h"

#include <errno.h>

enum { HEADERS = 512 };		/* bytes examined at a time */

int
zstd_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	struct zstd_scan z = { .state = 0 };
	const struct zstd_header *h = &z.header;
	uint64_t at = 0, end = 0;
	bool ended = true, checked = false;
	const uint8_t *p;
	int64_t used;
	ssize_t n = 0;

	if (look == NULL)
		return -ENOMEM;
	l->has_size = l->exact = true;
	while (at < len || !ended) {
		n = at > len ? -ENODATA : look_at(look, at, HEADERS, &p);
		if (n < 0)
			goto out;
		used = zstd_scan(&z, p, (size_t)n, &ended);
		if (used < 0 || (n == 0 && !ended)) {
			n = used < 0 ? (ssize_t)used : -ENODATA;
			goto out;
		}
		if (ended && !h->skippable) {
			list_frame(l, h->checksum ? "XXH64" : "none");
			if (h->content == UINT64_MAX)
				l->has_size = false;
			else
				list_add(l, h->content);
			checked = h->checksum;
			end = at + (uint64_t)used;
		}
		at += (uint64_t)used + z.skip;
		z.skip = 0;
	}
	if (l->frames == 1 && checked) {
		/* the last four bytes of the only frame */
		n = look_at(look, end - ZSTD_CHECKSUM, ZSTD_CHECKSUM, &p);
		l->has_value = n == ZSTD_CHECKSUM;
		l->value = l->has_value ? load_le32(p) : 0;
	}
out:
	look_close(look);
	return n < 0 ? (int)n : 0;
}

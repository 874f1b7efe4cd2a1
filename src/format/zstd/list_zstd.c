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

/* Counts a frame that has ended. */
static void
add_frame(struct codec_listing *l, const struct zstd_header *h)
{
	if (h->skippable)
		return;
	list_frame(l, h->checksum ? "XXH64" : "none");
	if (h->content == UINT64_MAX)
		l->has_size = false;
	else
		list_add(l, h->content);
}

/* Reads the check, the last four bytes of the only frame. */
static int
read_value(struct look *look, uint64_t end, struct codec_listing *l)
{
	const uint8_t *p;
	ssize_t n = look_at(look, end - 4, 4, &p);

	if (n < 0)
		return (int)n;
	l->has_value = n == 4;
	l->value = n == 4 ? load_le32(p) : 0;
	return 0;
}

static int
walk_frames(struct look *look, struct codec_listing *l)
{
	struct zstd_scan z = { .state = 0 };
	uint64_t at = 0, end = 0;
	bool ended = true, checked = false;

	while (at < look->len || !ended) {
		const uint8_t *p;
		ssize_t n;
		int64_t used;

		n = at > look->len ? -ENODATA : look_at(look, at, HEADERS, &p);
		if (n < 0)
			return (int)n;
		used = zstd_scan(&z, p, (size_t)n, &ended);
		if (used < 0)
			return (int)used;
		if (ended) {
			add_frame(l, &z.header);
			if (!z.header.skippable) {
				checked = z.header.checksum;
				end = at + (uint64_t)used;
			}
		} else if (n == 0) {
			return -ENODATA;
		}
		at += (uint64_t)used + z.skip;
		z.skip = 0;
	}
	return l->frames == 1 && checked ? read_value(look, end, l) : 0;
}

int
zstd_list(int fd, uint64_t len, struct codec_listing *l)
{
	struct look *look = look_open(fd, len);
	int rc;

	if (look == NULL)
		return -ENOMEM;
	l->has_size = l->exact = true;
	rc = walk_frames(look, l);
	look_close(look);
	return rc;
}

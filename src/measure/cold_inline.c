/*
 * cold_inline.c - files whose data is not visible in page and block counts
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/filesystems/fiemap.rst.
 */
#include "cold_device.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

enum { EXTENTS = 64 };

/*
 * Queries the first extents of a file.  Returns their number, or -1 if the
 * filesystem does not report extents.
 */
static int
ask(int fd, uint64_t from, struct fiemap *m)
{
	memset(m, 0, sizeof(*m));
	m->fm_start = from;
	m->fm_length = FIEMAP_MAX_OFFSET - from;
	m->fm_extent_count = EXTENTS;
	if (ioctl(fd, FS_IOC_FIEMAP, m) == -1)
		return -1;
	return (int)m->fm_mapped_extents;
}

bool
cold_is_inline(int fd)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) +
		    EXTENTS * sizeof(struct fiemap_extent)];
	} u;

	return ask(fd, 0, &u.map) > 0 && (u.map.fm_extents[0].fe_flags &
	    FIEMAP_EXTENT_DATA_INLINE) != 0;
}

uint64_t
cold_least_B(int fd, uint64_t stored_B)
{
	enum { UNREAD = FIEMAP_EXTENT_UNWRITTEN, PACKED =
	    FIEMAP_EXTENT_ENCODED, BLOCK_B = 4096 };
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) +
		    EXTENTS * sizeof(struct fiemap_extent)];
	} u;
	uint64_t from = 0, less = 0;
	int n;

	while ((n = ask(fd, from, &u.map)) > 0) {
		for (int i = 0; i < n; i++) {
			const struct fiemap_extent *e = &u.map.fm_extents[i];

			if ((e->fe_flags & UNREAD) != 0)
				less += e->fe_length;
			else if ((e->fe_flags & PACKED) != 0 &&
			    e->fe_length > BLOCK_B)
				less += e->fe_length - BLOCK_B;
			from = e->fe_logical + e->fe_length;
			if ((e->fe_flags & FIEMAP_EXTENT_LAST) != 0)
				goto end;
		}
	}
end:
	return less < stored_B ? stored_B - less : 0;
}

/*
 * fs_hole.c - holes of sparse files, which do not have to be read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fs/fs_hole.h"

#include <errno.h>
#include <unistd.h>

enum { STAT_BLOCK = 512 };

bool
fs_is_hole(int fd, const struct stat *st, uint64_t offset, uint64_t len)
{
	off_t data, end = (off_t)(offset + len);

	if (st->st_blocks >= st->st_size / STAT_BLOCK)
		return false;		/* no holes: saves the calls */
	data = lseek(fd, (off_t)offset, SEEK_DATA);
	if (data >= 0)
		return data >= end;
	/* no data follows; but the file may have been truncated */
	return errno == ENXIO && lseek(fd, 0, SEEK_END) >= end;
}

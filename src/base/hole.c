/*
 * hole.c - finding holes in sparse files, to avoid reading them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/hole.h"

#include "base/sys.h"

#include <errno.h>
#include <unistd.h>

enum { STAT_BLOCK = 512 };

bool
hole_possible(const struct stat *st)
{
	return st->st_blocks < st->st_size / STAT_BLOCK;
}

uint64_t
hole_at(int fd, const struct stat *st, uint64_t offset)
{
	off_t data;

	if (!hole_possible(st) || offset >= (uint64_t)st->st_size)
		return 0;
	data = sys_lseek(fd, (off_t)offset, SEEK_DATA);
	/* no data follows, unless the file has been truncated */
	if (data == -ENXIO && sys_lseek(fd, 0, SEEK_END) >= st->st_size)
		data = st->st_size;
	if (data > st->st_size)
		data = st->st_size;
	return data < (off_t)offset ? 0 : (uint64_t)data - offset;
}

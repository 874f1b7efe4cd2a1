/*
 * fs_hole.h - holes of sparse files, which do not have to be read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_FS_HOLE_H
#define COLDPRESS_FS_HOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/*
 * Returns whether all len bytes, at least one, of the file open at fd are a
 * hole, and still within the file; false if that is unknown.  st describes the
 * file as it was found.  Moves the descriptor's offset.
 */
bool fs_is_hole(int fd, const struct stat *st, uint64_t offset, uint64_t len);

#endif

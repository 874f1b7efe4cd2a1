/*
 * hole.h - holes of sparse files, which do not have to be read
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_HOLE_H
#define COLDPRESS_HOLE_H

#include <stdint.h>
#include <sys/stat.h>

/*
 * Returns the length in bytes of the hole at offset in the regular file open at
 * fd, up to its end; 0 if there is data, or if the file system cannot tell.  st
 * describes the file as it was found; if it is shorter now, nothing is a hole.
 * Moves the descriptor's offset.  Thread-safe unless the descriptor is shared.
 */
uint64_t hole_at(int fd, const struct stat *st, uint64_t offset);

#endif

/*
 * hole.h - finding holes in sparse files, to avoid reading them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_HOLE_H
#define COLDPRESS_HOLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Returns false for a file that has no holes; hole_at() then ignores fd. */
bool hole_possible(const struct stat *st);

/*
 * Returns the number of bytes from offset to the end of the hole that contains
 * it, in the regular file open at fd; 0 if there is data at offset, or if the
 * filesystem does not report holes.  st is the file's original status; if the
 * file has since been truncated, no holes are reported.  Moves the descriptor's
 * offset.  Thread-safe unless the descriptor is shared.
 */
uint64_t hole_at(int fd, const struct stat *st, uint64_t offset);

#endif

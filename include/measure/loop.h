/*
 * loop.h - an image file as a block device, for as long as it is needed
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: loop(4) of Linux.
 */
#ifndef COLDPRESS_LOOP_H
#define COLDPRESS_LOOP_H

#include <stddef.h>
#include <stdint.h>

enum { LOOP_NAME_B = 32 };

/*
 * Attaches the file image to a free loop device, read-only, which reads ahead
 * so many bytes (0: nothing that was not asked for; rounded up to 512) and
 * goes away when the last who uses it does.  Returns the device, open, to be
 * closed by the caller, and its path in name; or -errno.  Thread-safe.
 */
int loop_attach(int image, uint64_t readahead_B, char name[LOOP_NAME_B]);

#endif

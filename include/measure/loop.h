/*
 * loop.h - attaching an image file to a loop device
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: Linux's loop(4).
 */
#ifndef COLDPRESS_LOOP_H
#define COLDPRESS_LOOP_H

#include <stddef.h>
#include <stdint.h>

enum { LOOP_NAME_B = 32 };

/*
 * Attaches the file `image` to a free loop device, read-only, with readahead_B
 * bytes of read-ahead (0: none; rounded up to 512).  The device is detached
 * when its last user closes it.  Stores the path of the device in name.
 * Returns a descriptor for the device, which the caller closes, or -errno.
 * Thread-safe.
 */
int loop_attach(int image, uint64_t readahead_B, char name[LOOP_NAME_B]);

#endif

/*
 * together.h - how well many messages compress as one stream
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Thread-safe.
 */
#ifndef COLDPRESS_TOGETHER_H
#define COLDPRESS_TOGETHER_H

#include <stddef.h>

/* zstd -3, zstd -12 --long and xz -1 */
enum { TOGETHER = 3 };

/*
 * Computes the compression ratios of len bytes, at least one.  Returns 0 or
 * -ENOMEM.
 */
int together_ratios(double ratio[TOGETHER], const char *data, size_t len);

#endif

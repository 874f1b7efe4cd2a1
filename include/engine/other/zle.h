/*
 * zle.h - ZLE, which leaves out runs of zeros, of ZFS
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A byte below 64 says how many bytes follow as they
 * are, less 1; from 64 on, how many zeros there were, less 1, and 64 more.
 */
#ifndef COLDPRESS_ZLE_H
#define COLDPRESS_ZLE_H

#include <stddef.h>
#include <stdint.h>

/* The size of len bytes at in, compressed to out; 0: more than cap. */
size_t zle_compress(const uint8_t *in, size_t len, uint8_t *out, size_t cap);

/* 0 if size bytes come of what is at in, which may be padded; -EBADMSG. */
int zle_decompress(const uint8_t *in, size_t len, uint8_t *out, size_t size);

#endif

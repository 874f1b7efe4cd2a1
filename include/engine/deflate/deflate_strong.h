/*
 * deflate_strong.h - our own deflate encoder (RFC 1951) for levels 3 to 9
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The same input and level produce the same bytes on every machine.
 */
#ifndef COLDPRESS_DEFLATE_STRONG_H
#define COLDPRESS_DEFLATE_STRONG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { DEFLATE_STRONG_MIN = 3, DEFLATE_STRONG_MAX = 9 };

struct deflate_strong;

/*
 * Opens an encoder, one per thread; level: DEFLATE_STRONG_MIN to _MAX.  Returns
 * 0 or -ENOMEM.
 */
int deflate_strong_open(struct deflate_strong **s, int level);
void deflate_strong_close(struct deflate_strong *s);

/* Returns the number of bytes that deflate_strong_open() allocates. */
size_t deflate_strong_memory(void);

/* Returns the maximum compressed size of len bytes. */
size_t deflate_strong_bound(size_t len);

/*
 * Deflates a block of less than 4 GiB independently.  If last is set, the
 * output ends with the final deflate block; otherwise it ends with a sync
 * point, an empty stored block that ends on a byte boundary.  Returns the
 * length, or -ENOBUFS.
 */
ssize_t deflate_strong_run(struct deflate_strong *s, const uint8_t *in,
    size_t len, bool last, uint8_t *out, size_t cap);

/*
 * Does the same, whatever the level, by a search made for machine code: on
 * binaries it takes a quarter less time than level 3 does, for 1 % more output.
 */
ssize_t deflate_strong_run_binary(struct deflate_strong *s, const uint8_t *in,
    size_t len, bool last, uint8_t *out, size_t cap);

#endif

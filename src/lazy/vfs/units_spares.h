/*
 * units_spares.h - buffers that are kept for reuse
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory that is mapped for each unit and then returned costs a page fault for
 * every page, which can take a fifth of the time of reading.  Small buffers are
 * not kept.  Thread-safe, except for open and close.
 */
#ifndef COLDPRESS_LAZY_VFS_UNITS_SPARES_H
#define COLDPRESS_LAZY_VFS_UNITS_SPARES_H

#include <stddef.h>
#include <stdint.h>

struct units_spares;

/* A buffer of room bytes; all zeros: none. */
struct units_spare {
	uint8_t *data;
	size_t room;
};

/* At most limit bytes are kept.  Returns 0 or -ENOMEM. */
int units_spares_open(struct units_spares **s, uint64_t limit);
void units_spares_close(struct units_spares *s);

/* Gets a buffer of at least size bytes.  Returns 0 or -ENOMEM. */
int units_spares_take(struct units_spares *s, size_t size,
    struct units_spare *b);

/* Keeps a buffer, or frees it. */
void units_spares_give(struct units_spares *s, const struct units_spare *b);

#endif

/*
 * units_spare.h - keeping large buffers for a while, for reuse
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Memory that is mapped for each unit and then returned costs a page fault for
 * every page, which can take a fifth of the time of reading.  Small buffers are
 * not kept.  Thread-safe, except for open and close.
 */
#ifndef COLDPRESS_LAZY_VFS_UNITS_SPARE_H
#define COLDPRESS_LAZY_VFS_UNITS_SPARE_H

#include <stddef.h>
#include <stdint.h>

struct spares;

/* A buffer of room bytes; all zeros: none. */
struct spare {
	uint8_t *data;
	size_t room;
};

/* At most limit bytes are kept.  Returns 0 or -ENOMEM. */
int spares_open(struct spares **s, uint64_t limit);
void spares_close(struct spares *s);

/* Gets a buffer of at least size bytes.  Returns 0 or -ENOMEM. */
int spares_take(struct spares *s, size_t size, struct spare *b);

/* Keeps a buffer, or frees it. */
void spares_give(struct spares *s, const struct spare *b);

#endif

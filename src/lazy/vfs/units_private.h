/*
 * units_private.h - fetching and decoding units
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VFS_UNITS_PRIVATE_H
#define COLDPRESS_LAZY_VFS_UNITS_PRIVATE_H

#include "lazy/vfs/units.h"

/* units_fetch.c */

/*
 * Buffers that are kept for a while, for reuse: memory that is mapped for each
 * unit and then returned costs a page fault for every page, which can take a
 * fifth of the time of reading.  Small buffers are not kept.  Thread-safe,
 * except for open and close.
 */
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

/* The state and the lists are protected by the lock in struct units. */
struct unit {
	struct unit_id id;
	enum { UNIT_FETCHING, UNIT_READY, UNIT_FAILED } state;
	unsigned users;
	struct unit *next, *older, *newer;
	uint64_t size, stored;		/* decoded size, and bytes to fetch */
	uint64_t serial;

	/* owned by the unit's fetcher while the state is UNIT_FETCHING */
	struct units_spare content;
	int rc;
};

struct units_fetcher;

/*
 * spares is the number of bytes of unused buffers to keep.  Returns 0 or
 * -ENOMEM.
 */
int units_fetcher_open(struct units_fetcher **f, uint64_t spares);
void units_fetcher_close(struct units_fetcher *f);

/* Frees the content of a unit. */
void units_fetcher_free(struct units_fetcher *f, const struct unit *n);

/* Frees the decoders of a source. */
void units_fetcher_forget(struct vfs_source *source);

/*
 * Fetches and decodes count units, at most UNITS_MAX, and sets content, or
 * rc.  Thread-safe for different units.
 */
void units_fetcher_fetch(struct units_fetcher *f, struct unit *const *units,
    size_t count, enum http_phase phase);

void units_fetcher_counted(struct units_fetcher *f, struct units_counts *c);

#endif

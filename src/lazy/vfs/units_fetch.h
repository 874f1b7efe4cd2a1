/*
 * units_fetch.h - fetching and decoding units
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VFS_UNITS_FETCH_H
#define COLDPRESS_LAZY_VFS_UNITS_FETCH_H

#include "lazy/vfs/units.h"

#include "units_spare.h"

/* The state and the lists are protected by the lock in struct units. */
struct unit {
	struct unit_id id;
	enum { UNIT_FETCHING, UNIT_READY, UNIT_FAILED } state;
	unsigned users;
	struct unit *next, *older, *newer;
	uint64_t size, stored;		/* decoded size, and bytes to fetch */
	uint64_t serial;

	/* owned by the unit's fetcher while the state is UNIT_FETCHING */
	struct spare content;
	int rc;
};

struct fetcher;

/*
 * spares is the number of bytes of unused buffers to keep.  Returns 0 or
 * -ENOMEM.
 */
int fetcher_open(struct fetcher **f, uint64_t spares);
void fetcher_close(struct fetcher *f);

/* Frees the content of a unit. */
void fetcher_free(struct fetcher *f, const struct unit *n);

/* Frees the decoders of a source. */
void fetcher_forget(struct units_source *source);

/*
 * Fetches and decodes count units, at most UNITS_MAX, and sets content, or
 * rc.  Thread-safe for different units.
 */
void fetcher_fetch(struct fetcher *f, struct unit *const *units, size_t count,
    enum http_phase phase);

void fetcher_counted(struct fetcher *f, struct units_counts *c);

#endif

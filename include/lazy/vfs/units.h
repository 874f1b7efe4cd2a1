/*
 * units.h - a cache of decoded units in memory
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * If several threads want the same unit, the first fetches it and the others
 * wait.  The ranges of several units are fetched together.  A unit whose bytes
 * are wrong is fetched again, UNITS_TRIES times in all, after its source has
 * discarded what it had stored.  A unit whose memory was needed for others is
 * read again, but its digest is computed only if the bytes are not those that
 * were verified before.
 *
 * Memory is limited: a thread that needs units waits in a queue, without
 * holding any other units, until there is room for them besides the units in
 * use.  Units fetched ahead of reads may use half of the memory.  A single read
 * that exceeds the limit waits until no other unit is in use.
 *
 * All functions except open and close are thread-safe.
 */
#ifndef COLDPRESS_LAZY_VFS_UNITS_H
#define COLDPRESS_LAZY_VFS_UNITS_H

#include "lazy/vfs/vfs_source.h"

#include <stddef.h>
#include <stdint.h>

enum { UNITS_MAX = 64, UNITS_TRIES = 3 };

struct units;
struct unit;

struct unit_id {
	struct vfs_source *source;	/* owned by the caller */
	uint32_t unit;
};

/*
 * limit caps the bytes in memory for all sources: units, whether in use or not,
 * and the data fetched to decode them.  Unused buffers may take up another
 * quarter of the limit.  Returns 0 or -ENOMEM.
 */
int units_open(struct units **u, uint64_t limit);

/*
 * Frees the cache.  units_forget() must have been called for all sources used.
 * u may be NULL.
 */
void units_close(struct units *u);

/*
 * Frees all of a source's data.  Its units must be neither in use nor used
 * later.
 */
void units_forget(struct units *u, struct vfs_source *source);

/*
 * Gets count units (at most UNITS_MAX), each of which must be released.
 * Returns 0, or -EIO (the data is wrong), -ENOMEM or -errno from the source; on
 * failure there is nothing to release.
 */
int units_get(struct units *u, const struct unit_id *ids, size_t count,
    enum http_phase phase, struct unit *got[]);
void units_release(struct units *u, struct unit *unit);

/* Returns the decoded bytes. */
const uint8_t *unit_data(const struct unit *unit);

/* Returns the unit's serial number, which is never reused. */
uint64_t unit_serial(const struct unit *unit);

/*
 * Copies decoded bytes of a unit; returns false if the unit is not in memory.
 * Never blocks.
 */
bool units_copy(struct units *u, struct unit_id id, uint64_t offset,
    size_t size, uint8_t *buf);

/* Returns whether the unit is in memory or is being fetched. */
bool units_has(struct units *u, struct unit_id id);

struct units_counts {
	uint64_t decoded;		/* units */
	uint64_t recognized;		/* units whose bytes had already been
					 * verified */
	uint64_t wrong;			/* units whose bytes were wrong */
	uint64_t failed;		/* units that could not be fetched */
};

void units_counted(struct units *u, struct units_counts *c);

#endif

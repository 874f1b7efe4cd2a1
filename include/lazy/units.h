/*
 * units.h - decoded units in memory: fetched once, verified and bounded
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * If several threads want one unit, the first fetches it and the others wait.
 * The ranges of several units are fetched together.  A unit whose bytes are
 * wrong is fetched again, UNITS_TRIES times in all, after its source has
 * discarded what it had stored.
 *
 * All functions except open and close are thread-safe.
 */
#ifndef COLDPRESS_LAZY_UNITS_H
#define COLDPRESS_LAZY_UNITS_H

#include "lazy/http.h"
#include "lazy/layer.h"

#include <stddef.h>
#include <stdint.h>

enum { UNITS_MAX = 64, UNITS_TRIES = 3 };

/* A layer, and the source of its bytes. */
struct units_source {
	const struct layer *layer;
	int (*read)(void *arg, const struct layer_range *r, size_t count,
	    enum http_phase phase);
	/* Tells the source that these bytes were wrong. */
	void (*forget)(void *arg, const struct layer_range *r);
	void *arg;
};

struct units;
struct unit;

struct unit_id {
	uint32_t layer;			/* index of the source */
	uint32_t unit;
};

/*
 * The count sources remain the caller's and must outlive the units.  limit caps
 * the bytes of unused units kept in memory.  Returns 0 or -ENOMEM.
 */
int units_open(struct units **u, const struct units_source *sources,
    size_t count, uint64_t limit);
void units_close(struct units *u);		/* may be NULL */

/*
 * Gets count units, UNITS_MAX at most, each of which must be released.  Returns
 * 0; or -EIO (the bytes are wrong), -ENOMEM or the source's -errno, without
 * anything to release.
 */
int units_get(struct units *u, const struct unit_id *ids, size_t count,
    enum http_phase phase, struct unit *got[]);
void units_release(struct units *u, struct unit *unit);

/* Returns the decoded bytes. */
const uint8_t *unit_data(const struct unit *unit);

/* Returns whether the unit is in memory, or being fetched. */
bool units_has(struct units *u, struct unit_id id);

struct units_counts {
	uint64_t decoded;		/* units */
	uint64_t wrong;			/* units whose bytes were wrong */
	uint64_t failed;		/* units that could not be fetched */
};

void units_counted(struct units *u, struct units_counts *c);

#endif

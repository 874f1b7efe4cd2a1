/*
 * layerpack_extract_data.c - extracting file data, unit by unit
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each unit is fetched and decoded once, by any thread, and its content is
 * written to the files that share it, which already exist.
 */
#include "layerpack_extract.h"

#include "base/fdio.h"
#include "base/parallel.h"
#include "base/sys.h"
#include "walk/node.h"

#include <errno.h>
#include <string.h>

static int
write_run(struct spot *s, const struct unit_run *u, const uint8_t *content)
{
	struct extract *x = s->x;
	uint32_t at = x->plan.at[u->entry];
	int dir = spot_enter(s, x->entries[at].path, false), fd, rc;

	fd = dir < 0 ? dir : node_reopen(dir, s->name,
	    x->plan.links[u->entry] != PLAN_NONE || at != u->entry);
	if (fd < 0)
		return fd;
	rc = fdio_pwrite(fd, content + u->run->inner, (size_t)u->run->length,
	    (off_t)u->run->offset);
	return rc != 0 ? (sys_close(fd), rc) : sys_close(fd);
}

/* Returns whether an entry's data is to be written to a file. */
static bool
is_wanted(const struct extract *x, uint32_t n)
{
	return x->plan.at[n] != PLAN_NONE && atomic_load(&x->made[n]) == MADE;
}

static void
break_file(struct extract *x, uint32_t n, const char *what, int rc)
{
	atomic_store(&x->made[n], BROKEN);
	extract_fail(x, n, what, rc);
}

static void
write_unit(struct spot *s, struct unit_reader *r, uint32_t unit)
{
	struct extract *x = s->x;
	size_t end = x->map.first[unit + 1];
	bool read = false;
	int rc = 0;

	for (size_t i = x->map.first[unit]; i < end; i++) {
		const struct unit_run *u = &x->map.runs[i];

		if (!is_wanted(x, u->entry))
			continue;
		if (!read)
			rc = unit_read(r, unit);
		read = true;
		if (rc == 0) {
			int failed = write_run(s, u, r->content);

			if (failed != 0)
				break_file(x, u->entry, "", failed);
		} else {
			break_file(x, u->entry, rc == -EBADMSG ? r->why : "",
			    rc);
		}
	}
}

static void
write_units(void *arg, unsigned thread)
{
	struct extract *x = arg;
	struct unit_reader r;
	struct spot s;
	unsigned unit;
	int rc = unit_reader_open(&r, &x->s), none = 0;

	(void)thread;
	spot_open(&s, x);
	if (rc != 0)
		atomic_compare_exchange_strong(&x->err, &none, rc);
	while (atomic_load(&x->err) == 0 &&
	    (unit = atomic_fetch_add(&x->next, 1)) < x->map.units)
		write_unit(&s, &r, unit);
	spot_close(&s);
	unit_reader_close(&r);
}

/* Marks the files with missing data after an error that stopped all threads. */
static void
break_rest(struct extract *x)
{
	for (size_t unit = atomic_load(&x->next); unit < x->map.units; unit++)
		for (size_t i = x->map.first[unit]; i < x->map.first[unit + 1];
		    i++)
			if (is_wanted(x, x->map.runs[i].entry))
				atomic_store(&x->made[x->map.runs[i].entry],
				    BROKEN);
}

/* Marks all files that should have data. */
static void
break_all(struct extract *x)
{
	for (size_t n = 0; n < x->count; n++)
		if (x->entries[n].run_count > 0 && is_wanted(x, (uint32_t)n))
			atomic_store(&x->made[n], BROKEN);
}

int
extract_data(struct extract *x)
{
	int rc = atomic_load(&x->err);

	if (rc == 0)
		rc = unit_map_open(&x->map, x->s.l);
	if (rc != 0) {
		break_all(x);
		return rc;
	}
	parallel_run(unit_threads(x->s.l, x->p->o.threads), write_units, x);
	break_rest(x);
	return atomic_load(&x->err);
}

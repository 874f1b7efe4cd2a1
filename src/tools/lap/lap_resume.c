/*
 * lap_resume.c - which runs are in the file already
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/args.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COL_LABEL, COL_RUN, COL_STAGE, COL_SERIES, COL_SEED, COLS };

/* Marks the run of the row in hand.  Whether it was one of ours. */
static bool
mark(struct lap *l, const struct table_reader *r, const int col[COLS])
{
	const char *label = table_value(r, col[COL_LABEL]);
	int64_t run;

	/* The row of the whole run comes last; without it a run is not done. */
	if (strcmp(table_value(r, col[COL_STAGE]), "all") != 0 ||
	    args_int(table_value(r, col[COL_RUN]), 1, INT64_MAX, &run) != 0)
		return false;
	for (uint32_t i = 0; i < l->cell_count; i++) {
		if (strcmp(l->cells[i].label, label) != 0)
			continue;
		if (run <= l->o.runs)
			l->cells[i].done[(run - 1) / 8] |=
			    (uint8_t)(1U << (run - 1) % 8);
		return true;
	}
	return false;
}

static int
read_rows(struct lap *l, struct table_reader *r)
{
	static const char *const names[COLS] = { "label", "run", "stage",
		"series", "seed" };
	int col[COLS], rc;

	for (int i = 0; i < COLS; i++) {
		col[i] = table_column(r, names[i]);
		if (col[i] < 0)
			return col[i];
	}
	while ((rc = table_next(r)) == 1) {
		if (!mark(l, r, col))
			continue;
		snprintf(l->series, sizeof(l->series), "%s",
		    table_value(r, col[COL_SERIES]));
		if (!l->o.seeded)
			args_int(table_value(r, col[COL_SEED]), 0, UINT32_MAX,
			    &l->o.seed);
	}
	return rc;
}

int
lap_resume(struct lap *l)
{
	struct table_reader *r = NULL;
	int rc = 0;

	for (uint32_t i = 0; i < l->cell_count; i++) {
		l->cells[i].done = sys_calloc(1, (size_t)l->o.runs / 8 + 1);
		if (l->cells[i].done == NULL)
			rc = -ENOMEM;
	}
	if (rc == 0) {
		rc = table_open(&r, l->o.out);
		if (rc == -ENODATA || rc == -ENOENT)
			return 0;
	}
	if (rc == 0) {
		rc = read_rows(l, r);
		if (rc == -EINVAL)
			msg_error(&l->msg, "%s:%" PRIu64 ": not a row",
			    l->o.out, table_line(r));
		table_reader_free(r);
	}
	if (rc != 0 && rc != -EINVAL)
		msg_error(&l->msg, "%s: %s", l->o.out, strerror(-rc));
	return rc == 0 ? 0 : LAP_FAILED;
}

bool
lap_done(const struct lap_cell *c, int64_t run)
{
	return c->done != NULL &&
	    (c->done[(run - 1) / 8] >> (run - 1) % 8 & 1) != 0;
}

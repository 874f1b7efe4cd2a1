/*
 * lap_resume.c - finding the runs already in the file
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lap.h"

#include "base/args.h"
#include "base/sys.h"
#include "base/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COL_LABEL, COL_KEYS, COL_RUN, COL_STAGE, COL_SERIES, COL_SEED, COLS };

/* The key of the comment that records a label's command. */
static const char NOTE[] = "command";

/* Adds a string to a 64-bit FNV-1a hash. */
static uint64_t
add_hash(uint64_t h, const char *s)
{
	do
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	while (*s++ != '\0');
	return h;
}

/* These functions hash the label and keys of a command, and its words. */
static uint64_t
name_hash(const struct lap_cell *c)
{
	return add_hash(add_hash(0xcbf29ce484222325, c->label), c->keys);
}

static uint64_t
text_hash(const struct lap_cell *c)
{
	return add_hash(0xcbf29ce484222325, c->text);
}

int
lap_resume_note(struct lap *l)
{
	int rc = 0;

	for (size_t i = 0; i < l->cell_count && rc == 0; i++)
		rc = table_comment(l->table, NOTE, "%016" PRIx64 " %016" PRIx64
		    " %s: %s", name_hash(&l->cells[i]),
		    text_hash(&l->cells[i]), l->cells[i].label,
		    l->cells[i].text);
	return rc;
}

/*
 * Reports an error if runs of one command would be added to those of another.
 * Returns 0 or LAP_FAILED.
 */
static int
check_notes(struct lap *l, bool inlined)
{
	FILE *f = table_open_comments(l->o.out, inlined);
	char *line = NULL;
	size_t room = 0;
	int rc = 0;

	if (f == NULL)
		return 0;
	while (rc == 0 && getline(&line, &room, f) > 0) {
		uint64_t name, text;
		int n = 0;

		if (sscanf(line, "# command: %16" SCNx64 " %16" SCNx64 " %n",
		    &name, &text, &n) != 2 || n == 0)
			continue;
		for (size_t i = 0; rc == 0 && i < l->cell_count; i++)
			if (name == name_hash(&l->cells[i]) &&
			    text != text_hash(&l->cells[i])) {
				msg_error(&l->msg, "%s: the label '%s' belongs"
				    " to another command; choose another"
				    " -l or -o", l->o.out, l->cells[i].label);
				rc = LAP_FAILED;
			}
	}
	free(line);
	fclose(f);
	return rc;
}

/*
 * Marks the run of the current row as done.  Returns whether it was a run of
 * one of this invocation's commands.
 */
static bool
mark_done(struct lap *l, const struct table_reader *r, const int col[COLS])
{
	const char *label = table_value(r, col[COL_LABEL]);
	const char *keys = table_value(r, col[COL_KEYS]);
	int64_t run;

	/*
	 * The row of the whole run is written last; without it, a run is
	 * incomplete.
	 */
	if (strcmp(table_value(r, col[COL_STAGE]), "all") != 0 ||
	    args_int(table_value(r, col[COL_RUN]), 1, INT64_MAX, &run) != 0)
		return false;
	for (size_t i = 0; i < l->cell_count; i++) {
		if (strcmp(l->cells[i].label, label) != 0 ||
		    strcmp(l->cells[i].keys, keys) != 0)
			continue;
		if (run <= l->o.runs)
			l->cells[i].done[(run - 1) / 8] |=
			    (uint8_t)(1U << (run - 1) % 8);
		return true;
	}
	return false;
}

int
lap_resume(struct lap *l)
{
	static const char *const names[COLS] = { "label", "keys", "run",
		"stage", "series", "seed" };
	struct table_reader *r = NULL;
	int col[COLS], rc = check_notes(l, false);

	if (rc == 0)
		rc = check_notes(l, true);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < l->cell_count; i++) {
		l->cells[i].done = sys_calloc(1, (size_t)l->o.runs / 8 + 1);
		if (l->cells[i].done == NULL)
			rc = -ENOMEM;
	}
	if (rc == 0)
		rc = table_open(&r, l->o.out);
	if (r == NULL && (rc == -ENODATA || rc == -ENOENT))
		return 0;
	for (int i = 0; rc == 0 && i < COLS; i++) {
		col[i] = table_column(r, names[i]);
		rc = col[i] < 0 ? col[i] : 0;
	}
	if (rc != 0)
		goto out;
	while ((rc = table_next(r)) == 1) {
		if (!mark_done(l, r, col))
			continue;
		snprintf(l->series, sizeof(l->series), "%s",
		    table_value(r, col[COL_SERIES]));
		if (!l->o.seeded)
			args_int(table_value(r, col[COL_SEED]), 0, UINT32_MAX,
			    &l->o.seed);
	}
	if (rc == -EINVAL)
		msg_error(&l->msg, "%s:%" PRIu64 ": not a row", l->o.out,
		    table_line(r));
out:
	table_reader_free(r);
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

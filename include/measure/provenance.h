/*
 * provenance.h - where rows come from, as comment lines before them
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * "# key: value" lines: series, tool and versions, date, host, kernel,
 * processor, cores, memory, clock, the call, its input.  JSON has no comments:
 * there nothing is written, and rows are traced by their series.
 */
#ifndef COLDPRESS_PROVENANCE_H
#define COLDPRESS_PROVENANCE_H

#include <stddef.h>

struct table;

enum { PROVENANCE_SERIES_B = 40 };

struct provenance {
	const char *series;		/* of provenance_series() */
	const char *tool;		/* its name; the version is ours */
	const char *const *libs;	/* "zlib 1.2.13" ... */
	size_t lib_count;
	int argc;			/* the whole call */
	char *const *argv;
};

/*
 * A name for a series of rows that no other has: the date, the process and a
 * random number.  Thread-safe.
 */
void provenance_series(char id[PROVENANCE_SERIES_B]);

/*
 * Writes what p holds and what the machine is.  0 or -errno of the writes.
 * By the thread that t belongs to, as the next.
 */
int provenance_write(struct table *t, const struct provenance *p);

/*
 * Writes path and its size, if path is a regular file; nothing if it is
 * anything else or is not there.  0 or -errno of the write.
 */
int provenance_input(struct table *t, const char *path);

#endif

/*
 * provenance.h - describing the origin of rows in comments
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The lines have the form "# key: value": series, tool and versions, date,
 * host, kernel, processor, cores, memory, clock, command line, input.  The rows
 * are identified by their series.
 */
#ifndef COLDPRESS_PROVENANCE_H
#define COLDPRESS_PROVENANCE_H

#include <stdbool.h>
#include <stddef.h>

struct table;

enum { PROVENANCE_SERIES_B = 40 };

struct provenance {
	const char *series;		/* name from provenance_series() */
	const char *tool;		/* tool name; the version is that of
					 * coldpress */
	const char *const *libs;	/* "zlib 1.2.13" ... */
	size_t lib_count;
	int argc;			/* complete command line */
	char *const *argv;
};

/*
 * Makes a unique name for a series of rows from the date, the process and a
 * random number.  Thread-safe.
 */
void provenance_series(char id[PROVENANCE_SERIES_B]);

/*
 * Writes the contents of p and a description of the machine.  Returns 0 or
 * -errno from the writes.  Only the thread that owns t may call this function
 * and the next one.
 */
int provenance_write(struct table *t, const struct provenance *p);

/*
 * Looks for the same provenance, made on the same day, in the last comments of
 * the rows in path, which table_open_comments() opens: a row of p belongs to
 * their series.  Returns 1, with the name of that series in id, 0 or -errno.
 */
int provenance_again(const char *path, bool inlined,
    const struct provenance *p, char id[PROVENANCE_SERIES_B]);

/*
 * If path is a regular file, writes its path and size.  Returns 0 or -errno
 * from the write.
 */
int provenance_input(struct table *t, const char *path);

#endif

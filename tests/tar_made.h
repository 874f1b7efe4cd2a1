/*
 * tar_made.h - creating tar archives in memory for tests that read them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_TAR_MADE_H
#define COLDPRESS_TESTS_TAR_MADE_H

#include "format/tar/tar.h"

#include <stddef.h>
#include <stdint.h>

/* An archive in memory, read in pieces of at most `step` bytes. */
struct archive {
	uint8_t data[64 << 10];
	size_t len, at, step;
};

/* Empties the archive. */
void begin(struct archive *a);

/*
 * Adds an entry.  Returns its header, for the caller to change, and then to
 * pass to sum().
 */
uint8_t *add(struct archive *a, char type, const char *name, const void *data,
    size_t len);

void set_size(uint8_t *h, unsigned size);

/* Sets the checksum of a header. */
void sum(uint8_t *h);

/* Adds an extended header: x for the next entry, g for all that follow. */
void add_pax(struct archive *a, char type, const char *records, size_t len);

/*
 * Writes one record, preceded by its length, which includes itself.  Returns
 * that length.
 */
size_t record(char *to, const char *key, const char *value, size_t len);

/*
 * Adds an extended header with records of "key=value" texts; NULL ends the
 * list.
 */
void add_records(struct archive *a, char type, const char *const *texts);

/* Reads the archive on, as tar_source.read. */
ssize_t archive_give(void *arg, void *buf, size_t len);

/* Opens the archive from its beginning; the caller closes it. */
struct tar *opened(struct archive *a);

/*
 * Reads the first entry, and clears its texts in *e.  Returns the result of
 * tar_next().
 */
int first(struct archive *a, struct tar_entry *e);

#endif

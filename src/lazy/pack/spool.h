/*
 * spool.h - storing records in a file and reading them in reverse order
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A spool uses a buffer in memory and, when that is full, an unnamed file.  It
 * belongs to one thread at a time.
 */
#ifndef COLDPRESS_LAZY_PACK_SPOOL_H
#define COLDPRESS_LAZY_PACK_SPOOL_H

#include <stddef.h>

struct spool;

/* tmpdir must outlive the spool.  Returns 0 or -ENOMEM. */
int spool_open(struct spool **s, const char *tmpdir);
void spool_close(struct spool *s);	/* may be NULL */

/* Adds a record. Returns 0, -ENOMEM, or -errno from the file. */
int spool_push(struct spool *s, const void *data, size_t len);

/*
 * Removes the last record; *data is valid until the next call.  Returns 1, 0 if
 * there are no more records, -ENOMEM, or -errno from the file.  After the first
 * call, no more records may be added.
 */
int spool_pop(struct spool *s, const void **data, size_t *len);

#endif

/*
 * spool.h - records kept in a file, and returned last first
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A spool uses one buffer of memory, and an unnamed file once that is full.  It
 * belongs to one thread at a time.
 */
#ifndef COLDPRESS_LAZY_SPOOL_H
#define COLDPRESS_LAZY_SPOOL_H

#include <stddef.h>

struct spool;

/* tmpdir must outlive the spool.  Returns 0 or -ENOMEM. */
int spool_open(struct spool **s, const char *tmpdir);
void spool_close(struct spool *s);	/* may be NULL */

/* Adds a record.  Returns 0, -ENOMEM or the file's -errno. */
int spool_push(struct spool *s, const void *data, size_t len);

/*
 * Removes the record added last: *data is valid until the next call.  Returns
 * 1, 0 if there is none, -ENOMEM or the file's -errno.  After the first call,
 * nothing can be added.
 */
int spool_pop(struct spool *s, const void **data, size_t *len);

#endif

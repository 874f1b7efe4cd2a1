/*
 * cache_private.h - the files of a cache directory, and the headers in them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VFS_CACHE_PRIVATE_H
#define COLDPRESS_LAZY_VFS_CACHE_PRIVATE_H

#include "lazy/vfs/cache.h"

/* cache_dir.c */

#define CACHE_RANGES ".ranges"
#define CACHE_TEXT ".text"

enum { CACHE_NAME = 80 };

/*
 * Writes the file name for a key: the key's SHA-256, in hexadecimal, and a
 * suffix.  Returns 0, -ENOMEM or -EIO.
 */
int cache_name(const char *key, const char *suffix, char name[CACHE_NAME]);

/*
 * Opens a file for reading or writing, and creates it if flags say so.  Returns
 * its descriptor; -EINVAL if the name is not that of a regular file; or another
 * -errno.
 */
int cache_file(int dir, const char *name, int flags);

/* cache.c */

/* Returns the checksum of headers and data. */
uint64_t cache_hash(const void *data, size_t len);

#endif

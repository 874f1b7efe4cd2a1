/*
 * cache_name.h - the names of files in a cache directory
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAZY_VFS_CACHE_NAME_H
#define COLDPRESS_LAZY_VFS_CACHE_NAME_H

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

#endif

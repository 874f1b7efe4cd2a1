/*
 * cache.h - ranges of one object, kept on disk as they arrive
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each object has one file, to which ranges are appended, each with one write:
 * a header with checksums of itself and of the bytes, then the bytes.  There is
 * no second copy and no journal.  On opening, the headers are read, and the
 * file is truncated before the first one that is invalid or whose bytes are
 * incomplete, so a process may be killed at any time.  The bytes are checked
 * against their checksum whenever they are read, and a layer verifies them
 * against its digests as if they had just been fetched.
 *
 * A file's disk space is limited: the oldest ranges are freed by punching a
 * hole, and one record at the beginning of the file takes their place.  Only
 * one process writes to a file; others read what existed when they
 * opened it.
 *
 * Layout (integers are little-endian): 8 bytes "layrange", offset, length, hash
 * of the object, XXH3 of the bytes, XXH3 of these 40 bytes; the bytes.  The
 * object's hash is the XXH3 of two other hashes, those of the file key and the
 * object name.
 */
#ifndef COLDPRESS_LAZY_CACHE_H
#define COLDPRESS_LAZY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_HEADER = 48 };

struct cache;

/*
 * Opens, in the directory dir, the file for the object that key identifies or,
 * if key is NULL, an unnamed file.  limit is the disk space in bytes.  Returns
 * 0 or -errno.
 */
int cache_open(struct cache **c, int dir, const char *key, uint64_t limit);
void cache_close(struct cache *c);		/* may be NULL */

/*
 * Reads a stored range of the object with this name (NULL: the layer itself).
 * Returns 0, -ENOENT (missing or damaged), or -errno.  Thread-safe.
 */
int cache_read(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, void *buf);

/* Stores a range.  Returns 0, or -errno if it is not stored.  Thread-safe. */
int cache_write(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, const void *data);

/* Forgets a range whose bytes are wrong.  Thread-safe. */
void cache_drop(struct cache *c, const char *object, uint64_t offset);

/*
 * Forgets everything, including what is in the file.  Returns 0; -EROFS:
 * another process writes to it; or -errno.  Thread-safe.
 */
int cache_clear(struct cache *c);

/*
 * Stores a small document under a key, for later processes as well.  Returns 0
 * or -errno.
 */
int cache_text_write(int dir, const char *key, const char *text, size_t len);

/*
 * Reads a document of at most max bytes.  The text, followed by a NUL, is freed
 * by the caller with sys_free().  Returns 0, -ENOENT (missing or damaged) or
 * -errno.
 */
int cache_text_read(int dir, const char *key, size_t max, char **text,
    size_t *len);

/* Creates an unnamed file in dir.  Returns its descriptor or -errno. */
int cache_unnamed(int dir);

/*
 * Removes a cache's least recently used files until the rest take at most limit
 * bytes.  Returns 0 or -errno.
 */
int cache_trim(int dir, uint64_t limit);

#endif

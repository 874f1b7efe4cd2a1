/*
 * cache.h - ranges of one object, stored on disk as they are fetched
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Each object has one file, to which ranges are appended, each with one write:
 * a header with checksums of itself and of the bytes, then the bytes.  There is
 * no second copy and no journal.  On opening, the headers are read, and the
 * file is truncated before the first header that is invalid or whose data is
 * incomplete, so a process may be killed at any time.  The data is checked
 * against its checksum whenever it is read, and a layer verifies it against its
 * digests as if it had just been fetched.
 *
 * A file's disk space is limited: the oldest ranges are freed by punching a
 * hole, and are replaced by one record at the start of the file.  Only one
 * process writes to a file; others can read the ranges that existed when they
 * opened it.
 *
 * Layout (integers are little-endian): 8 bytes "layrange", offset, length, hash
 * of the object, XXH3 of the bytes, XXH3 of these 40 bytes; the bytes.  The
 * object's hash is the XXH3 of two other hashes, those of the file key and the
 * object name.
 */
#ifndef COLDPRESS_LAZY_VFS_CACHE_H
#define COLDPRESS_LAZY_VFS_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { CACHE_HEADER = 48 };

struct cache;

/*
 * Opens the file in the directory dir for the object identified by key or, if
 * key is NULL, an unnamed file.  limit caps the disk space, in bytes.  Returns
 * 0, -EINVAL (the name is not that of a regular file) or -errno.
 */
int cache_open(struct cache **c, int dir, const char *key, uint64_t limit);
void cache_close(struct cache *c);		/* may be NULL */

/*
 * Reads a stored range of the object with this name (NULL: the layer itself).
 * Returns 0, -ENOENT (missing or damaged), or -errno.  Thread-safe.
 */
int cache_read(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, void *buf);

/*
 * Stores a range.  Returns 0, or -errno if the range was not stored.
 * Thread-safe.
 */
int cache_write(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, const void *data);

/* Discards a range whose data is wrong.  Thread-safe. */
void cache_drop(struct cache *c, const char *object, uint64_t offset);

/*
 * Discards all ranges, including those in the file.  Returns 0, -EROFS (another
 * process is writing to the file) or -errno.  Thread-safe.
 */
int cache_clear(struct cache *c);

/*
 * Stores a small document under a key.  Later processes can also read it.
 * Returns 0 or -errno.
 */
int cache_text_write(int dir, const char *key, const char *text, size_t len);

/*
 * Reads a document of at most max bytes.  *text is set to the *len bytes,
 * followed by a NUL; the caller frees it with sys_free().  Returns 0, -ENOENT
 * (missing or damaged) or -errno.
 */
int cache_text_read(int dir, const char *key, size_t max, char **text,
    size_t *len);

/* Returns the checksum of headers and data. */
uint64_t cache_hash(const void *data, size_t len);

/* Creates an unnamed file in dir.  Returns its descriptor or -errno. */
int cache_unnamed(int dir);

/*
 * Removes the least recently used files of a cache until the rest use at most
 * `limit` bytes.  Returns 0 or -errno.
 */
int cache_trim(int dir, uint64_t limit);

#endif

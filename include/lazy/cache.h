/*
 * cache.h - ranges of one object, kept on disk as they were fetched
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * One file for each object, to which ranges are appended: a header with two
 * checksums, of itself and of the bytes, then the bytes, with one write.  There
 * is no second copy and no journal beside it.  At the start the headers are
 * read; what follows the first that is not valid, or that the file is too short
 * for, is cut off, so a process may be killed at any time.  The bytes are
 * compared with their checksum whenever they are read, and a layer verifies
 * them by its digests as if they had just been fetched.
 *
 * The disk space of a file is limited: what was stored first is given back, by
 * punching holes.  One process writes to a file; others only read what was
 * there when they opened it.
 *
 * Layout (integers are little-endian): 8 bytes "layrange", offset, length, hash
 * of the object's name, XXH3 of the bytes, XXH3 of these 40 bytes; the bytes.
 */
#ifndef COLDPRESS_LAZY_CACHE_H
#define COLDPRESS_LAZY_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_HEADER = 48 };

struct cache;

/*
 * Opens the file for what key identifies, in the directory dir; key NULL: a
 * file without a name, which nobody finds again.  limit: bytes of disk space.
 * 0 or -errno.
 */
int cache_open(struct cache **c, int dir, const char *key, uint64_t limit);
void cache_close(struct cache *c);		/* may be NULL */

/*
 * The bytes of a range that was stored, of the object of this name, or NULL.
 * 0, -ENOENT (it is not there, or damaged), or -errno.  Thread-safe.
 */
int cache_read(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, void *buf);

/* Stores a range.  0 or -errno: then it is not stored.  Thread-safe. */
int cache_write(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, const void *data);

/* Forgets a range, since its bytes are wrong.  Thread-safe. */
void cache_drop(struct cache *c, const char *object, uint64_t offset);

/*
 * Removes the files of a cache that were not used for the longest time, until
 * the others take at most limit bytes.  0 or -errno.
 */
int cache_trim(int dir, uint64_t limit);

#endif

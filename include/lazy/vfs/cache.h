/*
 * cache.h - ranges of objects, stored on disk as they are fetched
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A store has one limit for everything in it.  It is either a directory, whose
 * files belong to all processes that use it, or one unnamed file of this
 * process.
 *
 * In a directory each range is a file: a header with checksums of itself and of
 * the bytes, then the bytes.  A file that is incomplete or damaged is not used,
 * and is replaced, so a process may be killed at any time; nothing is synced.
 * The data is checked against its checksum whenever it is read, and a layer
 * verifies it against its digests as if it had just been fetched.
 *
 * Layout of the directory (integers are little-endian):
 *	HEX.layer/	of a key, whose SHA-256 this is
 *		OBJECT-OFFSET	a range: hash of the object's name and offset, 16
 *				hexadecimal digits each.  8 bytes "layrange",
 *				offset, length, hash of the object, XXH3 of the
 *				bytes, XXH3 of these 40 bytes; the bytes.  The
 *				object's hash is the XXH3 of two others, those of
 *				the key and of the object's name.
 *	HEX.text	a document; see cache_text_write()
 *	.space		"layspace", and the space in use as far as it is known;
 *			who changes it holds its lock (flock)
 *
 * Space is reserved in .space before a file is written.  If it would exceed the
 * limit, or is unknown, the process looks at all files, and removes the least
 * recently used, by whichever process, until 1/16 of the limit is free.  So a
 * process that is killed can only leave a number that is too large.  The time of
 * a file's last use is its modification time, which is set when it is read, but
 * not twice within CACHE_TOUCH_S.
 */
#ifndef COLDPRESS_LAZY_VFS_CACHE_H
#define COLDPRESS_LAZY_VFS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CACHE_HEADER = 48, CACHE_TOUCH_S = 2 };

struct cache_store;
struct cache;

struct cache_options {
	int dir;			/* owned by the caller, and used until
					 * the store is closed */
	bool kept;			/* in the directory, for other
					 * processes; or in an unnamed file */
	uint64_t limit;			/* bytes on disk */
	/*
	 * Called when data can no longer be stored, for example because the
	 * disk is full; once until it can.  By any thread.  May be NULL.
	 */
	void (*warn)(void *arg, const char *why);
	void *arg;
};

struct cache_counts {
	uint64_t used, limit;		/* bytes; used by all processes */
	uint64_t hits, hit_bytes, misses;
	uint64_t stored_bytes;
	uint64_t evicted_bytes;		/* by this process */
	uint64_t failures;		/* ranges that could not be stored */
};

/*
 * Opens a store, and removes the least recently used files if they exceed the
 * limit.  Returns 0 or -errno.  A disk without space is no error.
 */
int cache_store_open(struct cache_store **s, const struct cache_options *o);

/* All caches must have been closed.  s may be NULL. */
void cache_store_close(struct cache_store *s);

/* Thread-safe. */
void cache_store_counted(struct cache_store *s, struct cache_counts *c);

/*
 * Opens the part of a store for the layer or repository identified by key,
 * which all who open the same key share.  Returns 0, -EINVAL (the name is not
 * that of a directory), -ENOMEM or another -errno.
 */
int cache_open(struct cache **c, struct cache_store *s, const char *key);
void cache_close(struct cache *c);		/* may be NULL */

/*
 * Reads a stored range of the object with this name (NULL: the layer itself)
 * that begins at offset, and has at most `room` bytes.  Returns their number,
 * -ENOENT (missing or damaged), or -errno.  Thread-safe, like the following.
 */
ssize_t cache_find(struct cache *c, const char *object, uint64_t offset,
    uint64_t room, void *buf);

/* Reads a range of this length in the same way.  Returns 0 or -errno. */
int cache_read(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, void *buf);

/*
 * Stores a range, in place of what is stored.  Returns 0, -EFBIG (more than a quarter
 * of the limit), or -errno if the range was not stored.
 */
int cache_write(struct cache *c, const char *object, uint64_t offset,
    uint64_t length, const void *data);

/* Discards a range whose data is wrong. */
void cache_drop(struct cache *c, const char *object, uint64_t offset);

/* Discards all ranges of the layer or repository.  Returns 0 or -errno. */
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

#endif

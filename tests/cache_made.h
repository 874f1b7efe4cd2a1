/*
 * cache_made.h - a cache directory, and ranges to fill a cache with
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_CACHE_MADE_H
#define COLDPRESS_TESTS_CACHE_MADE_H

#include "lazy/vfs/cache.h"

#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

enum { LENGTH = 1000, RANGES = 50 };

static char dir[SCRATCH_B];
static int fd;
static unsigned warnings;

static inline int
set_up(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL)
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? -1 : 0;
}

static inline int
remove_below(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	return f->level == 0 ? 0 : remove(path);
}

static inline int
clear(void **state)
{
	(void)state;
	warnings = 0;
	return nftw(dir, remove_below, 8, FTW_DEPTH | FTW_PHYS);
}

static inline int
tear_down(void **state)
{
	clear(state);
	close(fd);
	return rmdir(dir);
}

/* What du says of the directory, in bytes. */
static uint64_t du_sum;

static inline int
add_to_du(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)path;
	(void)f;
	/* others may remove it meanwhile */
	if (type != FTW_NS)
		du_sum += (uint64_t)st->st_blocks * 512;
	return 0;
}

static inline uint64_t
du(void)
{
	du_sum = 0;
	(void)nftw(dir, add_to_du, 8, FTW_PHYS);
	return du_sum;
}

static inline void
count_warning(void *arg, const char *why)
{
	(void)arg;
	assert_true(*why != '\0');
	warnings++;
}

static inline struct cache_store *
open_store(bool kept, uint64_t limit)
{
	const struct cache_options o = { .dir = fd, .kept = kept,
		.limit = limit, .warn = count_warning };
	struct cache_store *s;

	assert_int_equal(cache_store_open(&s, &o), 0);
	return s;
}

static inline struct cache *
open_key(struct cache_store *s, const char *key)
{
	struct cache *c;

	assert_int_equal(cache_open(&c, s, key), 0);
	return c;
}

static inline void
fill(uint8_t *buf, unsigned i)
{
	for (size_t k = 0; k < LENGTH; k++)
		buf[k] = (uint8_t)(i * 7 + k * 13 + (k >> 3));
}

/* Range i is in one of two objects. */
static inline const char *
object_of(unsigned i)
{
	return i % 5 == 0 ? "side" : NULL;
}

static inline int
write_one(struct cache *c, unsigned i)
{
	uint8_t buf[LENGTH];

	fill(buf, i);
	return cache_write(c, object_of(i), i * 5000, LENGTH, buf);
}

static inline void
write_all(struct cache *c)
{
	for (unsigned i = 0; i < RANGES; i++)
		assert_int_equal(write_one(c, i), 0);
}

/* Returns whether range i is stored; it must then have the right bytes. */
static inline bool
has(struct cache *c, unsigned i)
{
	uint8_t buf[LENGTH], want[LENGTH];

	if (cache_read(c, object_of(i), i * 5000, LENGTH, buf) != 0)
		return false;
	fill(want, i);
	assert_memory_equal(buf, want, LENGTH);
	return true;
}

/* Returns how many ranges are stored. */
static inline unsigned
count(struct cache *c)
{
	uint8_t buf[LENGTH];
	unsigned n = 0;

	for (unsigned i = 0; i < RANGES; i++) {
		assert_int_equal(cache_read(c, i % 5 == 0 ? NULL : "side",
		    i * 5000, LENGTH, buf), -ENOENT);
		n += has(c, i);
	}
	return n;
}

/* The first file of a range that is found. */
static char range_path[SCRATCH_B + 160];

static inline int
note_range(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	if (f->level == 2)
		snprintf(range_path, sizeof(range_path), "%s", path);
	return f->level == 2;
}

static inline const char *
find_range(void)
{
	assert_int_equal(nftw(dir, note_range, 8, FTW_PHYS), 1);
	return range_path;
}

#endif

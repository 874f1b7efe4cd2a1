/*
 * cache_made.h - a cache directory, and ranges to fill a cache with
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_CACHE_MADE_H
#define COLDPRESS_TESTS_CACHE_MADE_H

#include "lazy/vfs/cache.h"

#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

enum { LENGTH = 1000, RANGES = 50 };

static char dir[SCRATCH_B];
static int fd;

static inline int
set_up(void **state)
{
	(void)state;
	if (scratch_make(dir) == NULL)
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	return fd < 0 ? -1 : 0;
}

/* The name of the only file. */
static inline void
file_path(char path[SCRATCH_B + 96])
{
	DIR *d = opendir(dir);
	struct dirent *e;

	assert_non_null(d);
	*path = '\0';
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			snprintf(path, SCRATCH_B + 96, "%s/%.90s", dir,
			    e->d_name);
	closedir(d);
}

static inline int
clear(void **state)
{
	char path[SCRATCH_B + 96];

	(void)state;
	for (file_path(path); *path != '\0'; file_path(path))
		if (unlink(path) != 0)
			return -1;
	return 0;
}

static inline int
tear_down(void **state)
{
	clear(state);
	close(fd);
	return rmdir(dir);
}

static inline void
fill(uint8_t *buf, unsigned i)
{
	for (size_t k = 0; k < LENGTH; k++)
		buf[k] = (uint8_t)(i * 7 + k * 13 + (k >> 3));
}

static inline void
write_all(struct cache *c)
{
	uint8_t buf[LENGTH];

	for (unsigned i = 0; i < RANGES; i++) {
		fill(buf, i);
		assert_int_equal(cache_write(c, i % 5 == 0 ? "side" : NULL,
		    i * 5000, LENGTH, buf), 0);
	}
}

/* Returns how many ranges are stored; all must have the right bytes. */
static inline unsigned
count(struct cache *c)
{
	uint8_t buf[LENGTH], want[LENGTH];
	unsigned n = 0;

	for (unsigned i = 0; i < RANGES; i++) {
		const char *object = i % 5 == 0 ? "side" : NULL;

		assert_int_equal(cache_read(c, i % 5 == 0 ? NULL : "side",
		    i * 5000, LENGTH, buf), -ENOENT);
		if (cache_read(c, object, i * 5000, LENGTH, buf) != 0)
			continue;
		fill(want, i);
		assert_memory_equal(buf, want, LENGTH);
		n++;
	}
	return n;
}

static inline struct cache *
reopen(struct cache *c)
{
	cache_close(c);
	assert_int_equal(cache_open(&c, fd, "key", 1 << 30), 0);
	return c;
}

#endif

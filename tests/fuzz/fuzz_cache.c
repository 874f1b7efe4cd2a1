/*
 * fuzz_cache.c - arbitrary bytes as a cache file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The linker replaces sys_openat() with the one below.  The header's checksum is
 * corrected for half of the inputs, which then are for the range asked for.
 */
#include "lazy/vfs/cache.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_sys_openat(int dirfd, const char *path, int flags, mode_t mode);

static const uint8_t *file;
static size_t file_B;

int
__wrap_sys_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	int fd = memfd_create("cache", MFD_CLOEXEC);

	(void)dirfd;
	(void)path;
	(void)flags;
	(void)mode;
	if (fd < 0 || write(fd, file, file_B) != (ssize_t)file_B)
		abort();
	return fd;
}

/* Turns the first bytes into the header of this range. */
static void
mend(uint8_t *data, size_t size)
{
	uint64_t hash[2] = { cache_hash("key", 3), 0 };

	if (size < CACHE_HEADER)
		return;
	memcpy(data, "layrange", 8);
	store_le64(data + 8, 5);
	store_le64(data + 24, cache_hash(hash, sizeof(hash)));
	if (data[size - 1] % 4 == 0) {
		store_le64(data + 16, size - CACHE_HEADER);
		store_le64(data + 32, cache_hash(data + CACHE_HEADER, size -
		    CACHE_HEADER));
	}
	store_le64(data + 40, cache_hash(data, 40));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1), *buf = malloc(size + 1);
	const struct cache_options o = { .dir = -1, .kept = true,
		.limit = 1 << 20 };
	struct cache_store *s;
	struct cache *c;
	bool whole;
	ssize_t n;

	if (copy == NULL || buf == NULL)
		abort();
	memcpy(copy, data, size);
	if (size > 0 && data[size - 1] % 2 == 0)
		mend(copy, size);
	whole = size >= CACHE_HEADER && data[size - 1] % 4 == 0;
	file = copy;
	file_B = size;
	if (cache_store_open(&s, &o) == 0) {
		if (cache_open(&c, s, "key") == 0) {
			n = cache_find(c, NULL, 5, size, buf);
			if (whole && (n != (ssize_t)(size - CACHE_HEADER) ||
			    memcmp(buf, copy + CACHE_HEADER, (size_t)n) != 0))
				abort();
			cache_close(c);
		}
		cache_store_close(s);
	}
	free(buf);
	free(copy);
	return 0;
}

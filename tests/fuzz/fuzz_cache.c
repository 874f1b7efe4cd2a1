/*
 * fuzz_cache.c - arbitrary bytes as a cache file
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The linker replaces sys_openat() with the one below.  Header checksums are
 * corrected, so that more than the first header is parsed.
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

/* Turns the bytes at each possible header position into a header. */
static void
mend(uint8_t *data, size_t size)
{
	for (size_t at = 0; at + CACHE_HEADER <= size; ) {
		uint64_t length = load_le64(data + at + 16);

		memcpy(data + at, "layrange", 8);
		store_le64(data + at + 40, cache_hash(data + at, 40));
		at += CACHE_HEADER;
		if (length > size - at)
			return;
		at += length;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1), *buf = malloc(size + 3);
	struct cache *c;

	if (copy == NULL || buf == NULL)
		abort();
	memcpy(copy, data, size);
	if (size > 0 && data[size - 1] % 2 == 0)
		mend(copy, size);
	file = copy;
	file_B = size;
	if (cache_open(&c, 0, "key", 1 << 20) == 0) {
		for (size_t at = 0; at + CACHE_HEADER <= size; at += 8)
			(void)cache_read(c, NULL, load_le64(copy + at + 8),
			    load_le64(copy + at + 16) % (size + 1), buf);
		if (cache_write(c, NULL, 5, 3, "abc") == 0 &&
		    (cache_read(c, NULL, 5, 3, buf) != 0 ||
		    memcmp(buf, "abc", 3) != 0) && size < 40)
			abort();
		cache_close(c);
	}
	free(buf);
	free(copy);
	return 0;
}

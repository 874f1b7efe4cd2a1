/*
 * fuzz_sif.c - arbitrary bytes as a file in which an image is searched
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "image/squashfs/read/reader.h"

#include "base/sys.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t offset = 0;
	int fd = memfd_create("file", MFD_CLOEXEC), found;

	if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size))
		abort();
	found = sq_find(fd, &offset);
	if (found < 0 || found > 1 || (found == 1 && offset >= size))
		abort();
	close(fd);
	return 0;
}

/*
 * fuzz_advise_image.c - arbitrary bytes as an image whose files are sampled: no
 * crash, and each part of a file is the same, whatever was read before
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise/advise.h"

#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES = 16, PART = 40000 };

/* Reads two parts of a file that overlap, and one beyond its end. */
static void
read_file(const struct advise_file *f, uint8_t *a, uint8_t *b)
{
	uint64_t at = f->size / 3;
	ssize_t n = advise_image_read(f->image, f->number, at, a, PART), m;

	m = advise_image_read(f->image, f->number, at + 100, b, PART - 100);
	if (n > PART || m > PART - 100)
		abort();
	if (n > 100 && m >= n - 100 && memcmp(a + 100, b, (size_t)n - 100) != 0)
		abort();
	if (advise_image_read(f->image, f->number, f->size, a, PART) > 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct advise_group g = { .count = 0 };
	struct advise_image *image;
	uint8_t *a = malloc(PART), *b = malloc(PART);
	char path[64];
	int fd = memfd_create("image", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || a == NULL ||
	    b == NULL)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (advise_image_open(&image, path) == 0) {
		if (advise_image_list(image, &g) == 0)
			for (size_t i = 0; i < g.count && i < FILES; i++)
				read_file(g.files[i], a, b);
		sys_free(g.files);
		advise_image_close(image);
	} else if (image != NULL)
		abort();
	close(fd);
	free(a);
	free(b);
	return 0;
}

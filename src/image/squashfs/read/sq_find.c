/*
 * sq_find.c - finding the image in a program that mounts itself
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the AppImage specification, type 2: an ELF file with 'A', 'I' and 2
 * in the padding of its identification, with the image after the section
 * headers.  If the section headers of the runtime have been stripped, the first
 * RUNTIME_MAX bytes are searched for the image.
 */
#include "squashfs.h"

#include <errno.h>
#include <string.h>

enum {
	ELF_B = 64, IS_64 = 2, IS_BIG = 2,
	WINDOW_B = 64 << 10,
	RUNTIME_MAX = 16 << 20,		/* maximum bytes before the image */
};

/* Reads a len-byte number in the byte order given by the header. */
static uint64_t
elf_number(const uint8_t *elf, size_t at, size_t len)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++)
		v = v << 8 | elf[at + (elf[5] == IS_BIG ? i : len - 1 - i)];
	return v;
}

/* Returns the end offset of the section headers. */
static uint64_t
elf_end(const uint8_t *elf)
{
	bool wide = elf[4] == IS_64;
	uint64_t at = wide ? elf_number(elf, 40, 8) : elf_number(elf, 32, 4);
	size_t each = wide ? 58 : 46;

	return at + elf_number(elf, each, 2) * elf_number(elf, each + 2, 2);
}

/* Returns whether the values in a superblock are plausible. */
static bool
is_image(int fd, uint64_t offset)
{
	struct sq_super s = { .memory = NULL };
	const char *why;

	return sq_probe(fd, offset) == 1 &&
	    sq_super_read(&s, fd, offset, &why) == 0;
}

/* Returns 1 with *offset set, 0 if there is no image, or -errno. */
static int
scan(int fd, uint64_t *offset)
{
	struct sq_super s = { .fd = fd, .length = RUNTIME_MAX };
	uint8_t p[WINDOW_B];
	size_t step = sizeof(p) - 4;

	for (uint64_t at = 0; at + sizeof(p) <= RUNTIME_MAX; at += step) {
		int rc = sq_read(&s, at, p, sizeof(p));
		uint8_t *hit = p, *end = p + sizeof(p);

		if (rc != 0)
			return rc == -ENODATA ? 0 : rc;
		while ((hit = memmem(hit, (size_t)(end - hit), "hsqs", 4)) !=
		    NULL) {
			*offset = at + (size_t)(hit++ - p);
			if (is_image(fd, *offset))
				return 1;
		}
	}
	return 0;
}

int
sq_find_appended(int fd, uint64_t *offset)
{
	struct sq_super s = { .fd = fd, .length = ELF_B };
	uint8_t elf[ELF_B];
	int rc = sq_read(&s, 0, elf, sizeof(elf));

	if (rc != 0)
		return rc == -ENODATA ? 0 : rc;
	if (memcmp(elf, "\177ELF", 4) != 0)
		return 0;
	*offset = elf_end(elf);
	if (is_image(fd, *offset))
		return 1;
	return memcmp(elf + 8, "AI\2", 3) == 0 ? scan(fd, offset) : 0;
}

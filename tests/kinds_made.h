/*
 * kinds_made.h - an archive with all kinds of entries, for tests of lazy/
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TESTS_KINDS_MADE_H
#define COLDPRESS_TESTS_KINDS_MADE_H

#include "tar_made.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Files of more than KINDS_CHUNK bytes are several units. */
enum { KINDS_CHUNK = 4096, KINDS_FILES = 14 };

static inline size_t
kinds_size(unsigned file)
{
	return file == 1 ? 3 * KINDS_CHUNK + 7 : file == 5 ? 2 * KINDS_CHUNK :
	    100 * (size_t)file;
}

static inline void
kinds_link(struct archive *a, char type, const char *name, const char *to)
{
	uint8_t *h = add(a, type, name, "", 0);

	strcpy((char *)h + 157, to);
	sum(h);
}

/*
 * Creates it, in a file without a name.  Two with different numbers have the
 * same names, but most files differ.
 */
static inline int
kinds_file(unsigned number)
{
	static const char *const records[] = { "SCHILY.xattr.user.a=one",
		"mtime=1000000000.25", NULL };
	struct archive *a = malloc(sizeof(*a));
	char name[] = "kinds.XXXXXX", data[4 * KINDS_CHUNK];
	int fd = mkstemp(name);
	uint8_t *h;

	assert_true(fd >= 0 && a != NULL);
	unlink(name);
	begin(a);
	sum(add(a, '5', "d/", "", 0));
	for (unsigned i = 0; i < KINDS_FILES; i++) {
		char path[32];

		snprintf(path, sizeof(path), "d/file%u", i);
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (char)(k * k / 9 + i * (number + 1));
		if (i == 1)
			add_records(a, 'x', records);
		h = add(a, '0', path, data, kinds_size(i));
		memcpy(h + 265, "me", 3);
		memcpy(h + 297, "us", 3);
		sum(h);
	}
	sum(add(a, '0', "few/file", "few", 3));
	kinds_link(a, '1', "d/hard", "d/file1");
	kinds_link(a, '2', "soft", "d/file1");
	h = add(a, '3', "null", "", 0);
	memcpy(h + 329, "0000001\0000000003", 16);
	sum(h);
	sum(add(a, '6', "fifo", "", 0));
	sum(add(a, '0', "d/.wh.gone", "", 0));
	a->len += 1024;
	assert_int_equal(write(fd, a->data, a->len), (ssize_t)a->len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	free(a);
	return fd;
}

#endif

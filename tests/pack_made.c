/*
 * pack_made.c - creating archives in files for tests that pack them
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pack_made.h"

#include "base/strbuf.h"
#include "format/tar/tar_header.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

int
temporary(void)
{
	char name[] = "pack.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	return fd;
}

uint8_t
byte_of(unsigned file, uint64_t at)
{
	return (uint8_t)(at * (file + 3) >> 5 ^ at);
}

void
write_entry(int fd, const struct tar_entry *e, unsigned file)
{
	struct strbuf b = { 0 };

	tar_header_file(&b, e);
	for (uint64_t at = 0; at < e->size; at++)
		strbuf_char(&b, (char)byte_of(file, at));
	while (b.len % TAR_BLOCK != 0)
		strbuf_char(&b, '\0');
	assert_int_equal(write(fd, b.data, b.len), (ssize_t)b.len);
	strbuf_free(&b);
}

void
write_end(int fd)
{
	static const char zeros[2 * TAR_BLOCK];

	assert_int_equal(write(fd, zeros, sizeof(zeros)), sizeof(zeros));
	lseek(fd, 0, SEEK_SET);
}

/*
 * fuzz_files_from.c - arbitrary bytes as a list of names: none escapes
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects whether names end with a NUL.
 */
#include "../../src/tools/coldwalk/coldwalk.h"
#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Checks that a name is neither empty nor absolute, and that no component is
 * empty, "." or "..".
 */
static void
must_be_inside(const char *name)
{
	if (*name == '\0')
		abort();
	while (*name != '\0') {
		size_t n = strcspn(name, "/");

		if (n == 0 || (n == 1 && name[0] == '.') ||
		    (n == 2 && name[0] == '.' && name[1] == '.') ||
		    (name[n] == '/' && name[n + 1] == '\0'))
			abort();
		name += n + (name[n] == '/');
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coldwalk c = { .root_count = 0 };
	char path[64];
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("names", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)size - 1)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	msg_init(&c.msg, "fuzz");
	c.o.files_from = path;
	c.o.null_lines = data[0] & 1;
	if (coldwalk_read_list(&c) == 0)
		for (size_t i = 0; i < c.only_count; i++) {
			must_be_inside(c.only[i]);
			if (i > 0 && strcmp(c.only[i - 1], c.only[i]) >= 0)
				abort();
		}
	sys_free(c.only);
	sys_free(c.only_text);
	close(fd);
	return 0;
}

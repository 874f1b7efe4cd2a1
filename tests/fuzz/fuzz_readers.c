/*
 * fuzz_readers.c - arbitrary facts about readers, and an arbitrary list of them:
 * no crash, and a reader never adds a candidate
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "advise_tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first line is the list; the rest are the facts. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct advise_case cases[ADVISE_TARGETS];
	struct advise_tool t = { .cases = cases, .count = ADVISE_TARGETS,
		.msg = { .prog = "fuzz", .quiet = true, .silent = true } };
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end == NULL ? size : (size_t)(end - data);
	int fd = memfd_create("facts", MFD_CLOEXEC);
	char path[64], *list = malloc(n + 1);

	if (fd < 0 || list == NULL || (end != NULL && write(fd, end + 1,
	    size - n - 1) != (ssize_t)(size - n - 1)))
		abort();
	memcpy(list, data, n);
	list[n] = '\0';
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memset(cases, 0, sizeof(cases));
	for (int i = 0; i < ADVISE_TARGETS; i++)
		cases[i].group.target = (enum advise_target)i;
	t.o.readers = list;
	t.o.readers_file = path;
	if (advise_readers(&t) < 0 && n == 0)
		for (int i = 0; i < ADVISE_TARGETS; i++)
			for (int k = 0; k < ADVISE_CANDIDATES; k++)
				if (!cases[i].read[k])
					abort();
	close(fd);
	free(list);
	return 0;
}

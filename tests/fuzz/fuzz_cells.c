/*
 * fuzz_cells.c - any bytes as the file for lap -f: every command is complete
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * No command is run.
 */
#include "../../src/tools/lap/lap.h"
#include "base/sys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Checks that a stage is sh -c TEXT, and that neither it nor the label exceeds
 * its field.
 */
static void
must_be_whole(const struct lap_cell *c)
{
	if (*c->label == '\0' || *c->label == '#' ||
	    strpbrk(c->label, "\t\n") != NULL || c->count < 1 ||
	    c->count > PROC_STAGES_MAX ||
	    strncmp(c->label_env, "LAP_LABEL=", 10) != 0)
		abort();
	for (int i = 0; i < c->count; i++) {
		char *const *argv = c->stages[i].argv;

		if (strcmp(c->stages[i].path, "/bin/sh") != 0 ||
		    strcmp(argv[0], "/bin/sh") != 0 || strcmp(argv[1], "-c") != 0 ||
		    strpbrk(argv[2], "\t\n") != NULL || argv[3] != NULL)
			abort();
	}
}

/* Returns how many lines are commands; a line may end as in DOS. */
static uint32_t
lines(const uint8_t *data, size_t size)
{
	uint32_t n = 0;

	for (size_t i = 0; i < size; i++)
		n += (i == 0 || data[i - 1] == '\n') && data[i] != '\n' &&
		    data[i] != '#' && (data[i] != '\r' ||
		    (i + 1 < size && data[i + 1] != '\n'));
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lap l = { .cell_count = 0 };
	char path[64];
	int fd = memfd_create("cells", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	msg_init(&l.msg, "fuzz");
	l.o.cells = path;
	if (lap_cells_read(&l) == 0) {
		if (l.cell_count != lines(data, size))
			abort();
		for (uint32_t i = 0; i < l.cell_count; i++)
			must_be_whole(&l.cells[i]);
	}
	lap_cells_free(&l);
	close(fd);
	return 0;
}

/*
 * fuzz_rows.c - arbitrary bytes as rows or records: read, compared and written
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first byte selects options.  If its top bit is set, a valid header is
 * prepended to the rest, so that rows are reached immediately.
 */
#include "../../src/tools/lapcmp/lapcmp.h"
#include "base/sys.h"
#include "base/table.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char header[] = "series,label,keys,cache,run,stage,exit,signal,"
    "wall_s,user_s,sys_s,steal_s,nivcsw,cell\n";

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (freopen("/dev/null", "w", stdout) == NULL)
		abort();
	return 0;
}

/*
 * Reads every value in every row, and checks that no row has more values than
 * columns.
 */
static void
read_all(const char *path)
{
	struct table_reader *r;
	uint64_t line = 0;
	size_t sum = 0;

	if (table_open(&r, path) != 0)
		return;
	while (table_next(r) == 1) {
		if (table_line(r) <= line)
			abort();
		line = table_line(r);
		for (int i = 0; i < table_columns(r); i++)
			sum += strlen(table_value(r, i));
	}
	if (sum > 1 << 30)
		abort();
	table_reader_free(r);
}

static void
compare(const char *path, uint8_t bits)
{
	struct cmp c = { .count = 0 };

	msg_init(&c.msg, "fuzz");
	c.o = (struct cmp_options){ .stage = "all",
	    .trim = bits & 1 ? 0.1 : -1, .holm = bits & 2,
	    .across = bits & 4, .all = bits & 8, .csv = bits & 16,
	    .json = bits & 32, .keys = bits & 64 ? "cache,a" : NULL };
	if (cmp_read(&c, path) == 0 && c.rows.count > 0 &&
	    cmp_compare(&c) == 0) {
		if (c.o.csv || c.o.json)
			cmp_print_rows(&c);
		else
			cmp_print_text(&c);
	}
	sys_free(c.result);
	sys_free(c.scratch);
	cmp_rows_free(&c.rows);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("rows", MFD_CLOEXEC);
	if (fd < 0 || (data[0] & 0x80 && write(fd, header,
	    sizeof(header) - 1) != (ssize_t)sizeof(header) - 1) ||
	    write(fd, data + 1, size - 1) != (ssize_t)size - 1)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_all(path);
	compare(path, data[0]);
	close(fd);
	return 0;
}

/*
 * layermount.c - mount layers that are read lazily
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "layermount.h"

#include "base/fdio.h"

int
main(int argc, char **argv)
{
	struct layermount m = { .cache_dir = -1, .stats_fd = -1,
		.readahead_fd = -1 };
	int status;

	fdio_hold_standard();
	msg_init(&m.msg, argv[0]);
	status = layermount_parse(&m, argc, argv);
	if (status >= 0)
		return status;
	return m.o.probe ? layermount_probe(&m) : layermount_run(&m);
}

/*
 * exchange.c - exchange two names repeatedly
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * exchange A B COUNT: exchanges A and B COUNT times, pausing for up to a
 * millisecond in between.  An even COUNT restores the original state.  Exits
 * with 77 if the filesystem does not support exchanges.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 7, STEP_NS = 150000 };

int
main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[3]) : 0;

	for (long i = 0; i < count; i++) {
		struct timespec pause = { .tv_nsec = i % STEPS * STEP_NS };

		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2],
		    RENAME_EXCHANGE) == -1) {
			fprintf(stderr, "exchange: %s\n", strerror(errno));
			return errno == EINVAL || errno == ENOSYS ? 77 : 1;
		}
		nanosleep(&pause, NULL);
	}
	return count > 0 ? 0 : 1;
}

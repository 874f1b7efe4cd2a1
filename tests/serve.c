/*
 * serve.c - http_server.h for shell tests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: serve DIR.  Prints the port; then reads lines "MODE EVERY" until the
 * end of standard input, and answers each with the number of requests so far.
 */
#include "http_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int
main(int argc, char **argv)
{
	struct server *s;
	char mode[32];
	unsigned every;

	if (argc != 2)
		return 1;
	s = server_start(argv[1]);
	printf("%u\n", server_port(s));
	fflush(stdout);
	while (scanf("%31s %u", mode, &every) == 2 && every > 0) {
		for (int i = 0; i < SERVER_MODES; i++)
			if (strcmp(mode, server_mode_names[i]) == 0)
				server_set(s, (enum server_mode)i, every);
		printf("%" PRIu64 "\n", server_requests(s));
		fflush(stdout);
	}
	server_stop(s);
	return 0;
}

/*
 * serve.c - http_server.h and http_proxy.h for shell tests
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * usage: serve DIR.  Prints the server's and the proxy's ports; then reads
 * lines until the end of standard input, and answers each with the number of
 * requests so far:
 *	MODE EVERY		how the server answers from now on
 *	tls FILE		it speaks TLS, with this certificate and key
 *	tls -			it no longer does
 *	proxy-MODE EVERY	how the proxy behaves from now on
 */
#include "http_proxy.h"
#include "http_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
set(struct server *s, struct proxy *p, const char *what, const char *value)
{
	unsigned long n = strtoul(value, NULL, 10);
	unsigned every = n == 0 ? 1 : (unsigned)n;

	if (strcmp(what, "tls") == 0) {
		server_secure(s, strcmp(value, "-") == 0 ? NULL : value);
		return;
	}
	for (int i = 0; i < SERVER_MODES; i++)
		if (strcmp(what, server_mode_names[i]) == 0)
			server_set(s, (enum server_mode)i, every);
	for (int i = 0; i < PROXY_MODES; i++)
		if (strncmp(what, "proxy-", 6) == 0 &&
		    strcmp(what + 6, proxy_mode_names[i]) == 0)
			proxy_set(p, (enum proxy_mode)i, every);
}

int
main(int argc, char **argv)
{
	struct server *s;
	struct proxy *p;
	char what[32], value[1024];

	if (argc != 2)
		return 1;
	s = server_start(argv[1]);
	p = proxy_start();
	printf("%u %u\n", server_port(s), proxy_port(p));
	fflush(stdout);
	while (scanf("%31s %1023s", what, value) == 2) {
		set(s, p, what, value);
		printf("%" PRIu64 "\n", server_requests(s));
		fflush(stdout);
	}
	proxy_stop(p);
	server_stop(s);
	return 0;
}

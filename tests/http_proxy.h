/*
 * http_proxy.h - an HTTP proxy on loopback that misbehaves on request
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_HTTP_PROXY_H
#define COLDPRESS_HTTP_PROXY_H

#include <stdint.h>

/* The misbehaviour of a connection. */
enum proxy_mode {
	PROXY_GOOD,
	PROXY_CUTS,		/* closes it partway through the replies */
	PROXY_RESETS,		/* likewise, with a reset */
	PROXY_STALLS,		/* stops forwarding partway through the
				 * replies */
	PROXY_REFUSES,		/* 403 */
	PROXY_ASKS,		/* requires user:password */
	PROXY_MODES
};

extern const char *const proxy_mode_names[PROXY_MODES];

struct proxy;

/* Serves on 127.0.0.1, on any port, and forwards to 127.0.0.1 only. */
struct proxy *proxy_start(void);
void proxy_stop(struct proxy *p);
unsigned proxy_port(const struct proxy *p);

/* From now on, one in `every` connections misbehaves as specified by mode. */
void proxy_set(struct proxy *p, enum proxy_mode mode, unsigned every);

/* Returns the number of connections so far. */
uint64_t proxy_connections(struct proxy *p);

#endif

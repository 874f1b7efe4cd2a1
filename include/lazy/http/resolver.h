/*
 * resolver.h - looking up host names in a process of its own
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The C library reads files all over /etc and /run to look up a name, and again
 * whenever they change.  A process that confines itself, because it parses what
 * servers send, starts a resolver before.
 */
#ifndef COLDPRESS_LAZY_HTTP_RESOLVER_H
#define COLDPRESS_LAZY_HTTP_RESOLVER_H

#include <stddef.h>

struct resolver;

enum {
	RESOLVER_HOST = 256,		/* maximum size of a name, with its NUL */
	RESOLVER_TEXT = 512		/* of a list of addresses */
};

/*
 * Starts the process, which closes all descriptors, keeps read access to the
 * system's configuration and libraries only (where the kernel has Landlock),
 * and ends with its parent.  To be called before there are threads.  Returns 0,
 * -ENOMEM, -EAGAIN or another -errno.
 */
int resolver_start(struct resolver **r);

/* Ends the process.  No call may be in progress; r may be NULL. */
void resolver_stop(struct resolver *r);

/*
 * Writes the addresses of a host, as text, separated by commas, those of IPv6 in
 * brackets.  Answers are kept for a minute, and longer while the process gives no
 * other, failures for as long as timeout_ms.  Returns 0, -ENOENT (the name has no
 * address, or cannot be looked up now), -ETIMEDOUT after timeout_ms, or -EPIPE if
 * the process has gone.  Thread-safe.
 */
int resolver_find(struct resolver *r, const char *host, unsigned timeout_ms,
    char text[RESOLVER_TEXT]);

#endif

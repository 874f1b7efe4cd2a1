/*
 * aside.h - a process that answers questions which this one may not
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * It starts before this process confines itself and has threads, and ends with
 * it.  Questions and answers are packets on a socket.
 */
#ifndef COLDPRESS_LAZY_HTTP_ASIDE_H
#define COLDPRESS_LAZY_HTTP_ASIDE_H

#include <sys/types.h>

/* The process's end of the socket, next to the standard descriptors. */
enum { ASIDE_ASKED = 3 };

struct aside {
	pid_t pid;
	int fd;				/* this end of the socket */
};

/*
 * Starts the process, which shows this name, has no other descriptors than
 * ASIDE_ASKED and /dev/null, and calls answer().  Returns 0, -EAGAIN or another
 * -errno.
 */
int aside_start(struct aside *a, const char *name, void (*answer)(void *arg),
    void *arg);

/*
 * Ends the process, which does so itself when the socket is closed; one that is
 * still there after a second is killed.
 */
void aside_stop(struct aside *a);

#endif

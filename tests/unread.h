/*
 * unread.h - runs in which each read of a file fails, or comes too late
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * For programs linked with sys_fault.c.
 */
#ifndef COLDPRESS_TESTS_UNREAD_H
#define COLDPRESS_TESTS_UNREAD_H

#include "sys_fault.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

/* The file that SIGHUP shortens, and its new length. */
static int unread_fd;
static off_t unread_len;

static inline void
unread_shorten(int sig)
{
	(void)sig;
	if (ftruncate(unread_fd, unread_len) != 0)
		abort();
}

/* Returns a file with this content, at its start; the caller closes it. */
static inline int
unread_file(const void *data, size_t len)
{
	int fd = memfd_create("unread", MFD_CLOEXEC);

	assert_int_equal(write(fd, data, len), (ssize_t)len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/*
 * Runs fn on unread_fd, from its start.  The k-th call of the given kind fails
 * with the error `what`, or is preceded by that signal.  Returns fn's result,
 * and restores the file.
 */
static inline int
unread_once(int (*fn)(int fd), const void *data, size_t len,
    enum fault_kind kind, unsigned long k, const char *what)
{
	char plan[64];
	off_t left;
	int rc;

	assert_int_equal(lseek(unread_fd, 0, SEEK_SET), 0);
	snprintf(plan, sizeof(plan), "%s:%lu:%s", fault_names[kind], k, what);
	assert_true(fault_plan(plan));
	rc = fn(unread_fd);
	assert_true(fault_plan(""));
	left = lseek(unread_fd, 0, SEEK_END);
	left = left < (off_t)len ? left : (off_t)len;
	assert_int_equal(pwrite(unread_fd, (const char *)data + left,
	    len - (size_t)left, left), (ssize_t)len - left);
	assert_int_equal(ftruncate(unread_fd, (off_t)len), 0);
	return rc;
}

/*
 * Does this for each call of the kind that fn makes; its result must be `want`.
 */
static inline void
unread_each(int (*fn)(int fd), const void *data, size_t len,
    enum fault_kind kind, const char *what, int want)
{
	unsigned long n;

	signal(SIGHUP, unread_shorten);
	unread_fd = unread_file(data, len);
	assert_true(fault_plan(""));
	fn(unread_fd);
	n = fault_count(kind);
	assert_true(n > 0);
	for (unsigned long k = 1; k <= n; k++) {
		int rc = unread_once(fn, data, len, kind, k, what);

		if (rc != want)
			fail_msg("%s %lu, %s: %d, not %d", fault_names[kind],
			    k, what, rc, want);
	}
	close(unread_fd);
}

/* The same, but the file has only `to` bytes left before one of the reads. */
static inline void
unread_shrinks(int (*fn)(int fd), const void *data, size_t len, off_t to,
    int want)
{
	unread_len = to;
	unread_each(fn, data, len, FAULT_PREAD, "HUP", want);
}

#endif

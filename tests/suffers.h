/*
 * suffers.h - a run whose calls are refused in turn, for tests of lazy/
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A run takes what it made or read, and says what it warned of.  It is first
 * made without faults, then with each call refused: it must report that, or
 * give the same bytes as ever, and free and close what it has.
 */
#ifndef COLDPRESS_TESTS_SUFFERS_H
#define COLDPRESS_TESTS_SUFFERS_H

#include "sys_fault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { SUFFERS_MOST = 1 << 20 };

static struct suffered {
	size_t len;
	uint8_t p[SUFFERS_MOST];
	bool warned;
} got, usual;

/*
 * The first and the last calls of each kind are refused, and at most so many,
 * spread over the others.
 */
static unsigned long suffers_first = 30, suffers_last = 1, suffers_turns = 100;

/* The kinds of calls, or all. */
#define SUFFERS_KIND(name) (UINT64_C(1) << FAULT_##name)
static uint64_t suffers_kinds = UINT64_MAX;

/* A plan for all runs, "" or with a comma at its end. */
static const char *suffers_always = "";

/* The kinds of calls whose errors are those of the run. */
static uint64_t suffers_exact;

/* Looks at what a run left, without faults; or NULL. */
static void (*suffers_after)(void);

/* What is refused now. */
static char suffers_plan[128];

/* A call of the test itself, which is not refused. */
#define OWN(call) (fault_direct++, (call), fault_direct--)

/* Checks that there is a reason for an error. */
static inline int
explained(int rc, const char *why)
{
	if (rc != 0 && *why == '\0')
		fail_msg("%s: %d without a reason", suffers_plan, rc);
	return rc;
}

static inline void
take(const void *p, size_t len)
{
	assert_true(len <= SUFFERS_MOST - got.len);
	if (len > 0)
		memcpy(got.p + got.len, p, len);
	got.len += len;
}

static inline void
take_number(uint64_t n)
{
	take(&n, sizeof(n));
}

static inline void
take_text(const char *s)
{
	take(s, strlen(s) + 1);
}

/* A kind of call, and how it fails. */
static const struct suffers_refusal {
	enum fault_kind kind;
	const char *what;
} suffers_refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM" }, { FAULT_MALLOC, "+:ENOMEM" },
	{ FAULT_OPENAT, ":EMFILE" },
	{ FAULT_READ, ":EIO" }, { FAULT_READ, ":short" },
	{ FAULT_PREAD, ":EIO" }, { FAULT_PREAD, ":short" },
	{ FAULT_WRITE, ":ENOSPC" }, { FAULT_WRITE, ":short" },
	{ FAULT_PWRITE, ":ENOSPC" }, { FAULT_PWRITE, ":short" },
	{ FAULT_LSEEK, ":EIO" }, { FAULT_FTRUNCATE, ":EIO" },
	{ FAULT_CLOSE, ":EIO" }, { FAULT_FSYNC, ":EIO" },
	{ FAULT_DUP, ":EMFILE" }, { FAULT_PIPE, ":EMFILE" },
	{ FAULT_GETDENTS, ":EIO" }, { FAULT_STAT, ":EIO" },
	{ FAULT_READLINKAT, ":EIO" }, { FAULT_MKDIRAT, ":ENOSPC" },
	{ FAULT_SYMLINKAT, ":ENOSPC" }, { FAULT_MKNODAT, ":EPERM" },
	{ FAULT_LINKAT, ":EMLINK" }, { FAULT_LINKAT, ":EIO" },
	{ FAULT_RENAMEAT, ":EIO" }, { FAULT_UNLINKAT, ":EIO" },
	{ FAULT_CHOWN, ":EPERM" }, { FAULT_CHMOD, ":EPERM" },
	{ FAULT_UTIMENS, ":EPERM" }, { FAULT_SETXATTR, ":ENOSPC" },
	{ FAULT_THREAD, ":EAGAIN" }, { FAULT_MMAP, ":ENOMEM" },
	{ FAULT_LOCK, ":EIO" }, { FAULT_LIBRARY, ":ENOMEM" },
};

static inline unsigned
suffers_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static inline int
suffers_once(int (*run)(void))
{
	got.len = 0;
	got.warned = false;
	return run();
}

static inline void
suffers_refused(const char *name, int (*run)(void),
    const struct suffers_refusal *r, unsigned long k)
{
	unsigned files = suffers_files();
	int input = fcntl(STDIN_FILENO, F_GETFD);
	long blocks = fault_blocks();
	const char *plan = suffers_plan;
	int rc;

	snprintf(suffers_plan, sizeof(suffers_plan), "%s%s:%lu%s",
	    suffers_always, fault_names[r->kind], k, r->what);
	assert_true(fault_plan(plan));
	rc = suffers_once(run);
	assert_true(fault_plan(""));
	if (suffers_after != NULL)
		suffers_after();
	if (fault_blocks() != blocks)
		fail_msg("%s, %s: %ld blocks left", name, plan,
		    fault_blocks() - blocks);
	if (fcntl(STDIN_FILENO, F_GETFD) != input)
		fail_msg("%s, %s: closed what is not its own", name, plan);
	/* a server in this process closes its own a little later */
	for (int i = 0; suffers_files() > files; i++) {
		if (i == 2000)
			fail_msg("%s, %s: descriptors left", name, plan);
		usleep(500);
	}
	if (rc > 0 || (rc == 0 && !got.warned && (got.len != usual.len ||
	    memcmp(got.p, usual.p, got.len) != 0)))
		fail_msg("%s, %s: %d, other bytes", name, plan, rc);
	if ((suffers_exact >> r->kind & 1) != 0 && rc != 0 && strcmp(strerrorname_np(-rc),
	    strchr(r->what, 'E')) != 0)
		fail_msg("%s, %s: %d", name, plan, rc);
	/* neither is it mistaken for damage */
	if (rc != 0 && rc != -ENOMEM && r->kind == FAULT_MALLOC)
		fail_msg("%s, %s: %d", name, plan, rc);
}

/* The next of n calls to be refused after call k. */
static inline unsigned long
suffers_next(unsigned long k, unsigned long n)
{
	unsigned long last = n < suffers_last ? 1 : n - suffers_last + 1;

	if (k < suffers_first || k >= last)
		return k + 1;
	k += 1 + n / suffers_turns;
	return k < last ? k : last;
}

/* Each call is refused in turn, or that call and all later ones. */
static inline void
suffers(const char *name, int (*run)(void))
{
	unsigned long n[FAULT_KINDS];
	int rc;

	/* once for what libraries keep, too */
	for (int i = 0; i < 2; i++) {
		size_t len = strlen(suffers_always);

		snprintf(suffers_plan, sizeof(suffers_plan), "%.*s",
		    len > 0 ? (int)len - 1 : 0, suffers_always);
		assert_true(fault_plan(suffers_plan));
		rc = suffers_once(run);
		for (int k = 0; k < FAULT_KINDS; k++)
			n[k] = fault_count((enum fault_kind)k);
		assert_true(fault_plan(""));
		if (suffers_after != NULL)
			suffers_after();
	}
	if (rc != 0 || got.warned || got.len == 0)
		fail_msg("%s: %d", name, rc);
	usual = got;
	for (size_t i = 0; i < sizeof(suffers_refusals) /
	    sizeof(suffers_refusals[0]); i++) {
		const struct suffers_refusal *r = &suffers_refusals[i];

		if ((suffers_kinds >> r->kind & 1) == 0)
			continue;
		for (unsigned long k = 1; k <= n[r->kind];
		    k = suffers_next(k, n[r->kind]))
			suffers_refused(name, run, r, k);
	}
}

#define SUFFERS(run) suffers(#run, run)

#endif

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

#include "refused.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { SUFFERS_MOST = 1 << 20 };

static struct suffered {
	size_t len;
	uint8_t p[SUFFERS_MOST];
	bool warned;
} got, usual;

static const struct refusal suffers_refusals[] = {
	{ FAULT_MALLOC, ":ENOMEM", 0, false }, { FAULT_MALLOC, "+:ENOMEM", 0, false },
	{ FAULT_OPENAT, ":EMFILE", 0, false },
	{ FAULT_READ, ":EIO", 0, false }, { FAULT_READ, ":short", 0, false },
	{ FAULT_PREAD, ":EIO", 0, false }, { FAULT_PREAD, ":short", 0, false },
	{ FAULT_WRITE, ":ENOSPC", 0, false }, { FAULT_WRITE, ":short", 0, false },
	{ FAULT_PWRITE, ":ENOSPC", 0, false }, { FAULT_PWRITE, ":short", 0, false },
	{ FAULT_LSEEK, ":EIO", 0, false }, { FAULT_FTRUNCATE, ":EIO", 0, false },
	{ FAULT_CLOSE, ":EIO", 0, false }, { FAULT_FSYNC, ":EIO", 0, false },
	{ FAULT_DUP, ":EMFILE", 0, false }, { FAULT_PIPE, ":EMFILE", 0, false },
	{ FAULT_GETDENTS, ":EIO", 0, false }, { FAULT_STAT, ":EIO", 0, false },
	{ FAULT_READLINKAT, ":EIO", 0, false }, { FAULT_MKDIRAT, ":ENOSPC", 0, false },
	{ FAULT_SYMLINKAT, ":ENOSPC", 0, false }, { FAULT_MKNODAT, ":EPERM", 0, false },
	{ FAULT_LINKAT, ":EMLINK", 0, false }, { FAULT_LINKAT, ":EIO", 0, false },
	{ FAULT_RENAMEAT, ":EIO", 0, false }, { FAULT_UNLINKAT, ":EIO", 0, false },
	{ FAULT_CHOWN, ":EPERM", 0, false }, { FAULT_CHMOD, ":EPERM", 0, false },
	{ FAULT_UTIMENS, ":EPERM", 0, false }, { FAULT_SETXATTR, ":ENOSPC", 0, false },
	{ FAULT_THREAD, ":EAGAIN", 0, false }, { FAULT_MMAP, ":ENOMEM", 0, false },
	{ FAULT_LOCK, ":EIO", 0, false }, { FAULT_LIBRARY, ":ENOMEM", 0, false },
};

/* What is refused now, and which of the calls of each kind are. */
static struct refused suffers_run = { .refusals = suffers_refusals,
	.refusal_count = sizeof(suffers_refusals) / sizeof(suffers_refusals[0]),
	.first = 30, .last = 1, .turns = 100 };

/* The kinds of calls, or all. */
#define SUFFERS_KIND(name) (UINT64_C(1) << FAULT_##name)
static uint64_t suffers_kinds = UINT64_MAX;

/* The kinds of calls whose errors are those of the run. */
static uint64_t suffers_exact;

/* Looks at what a run left, without faults; or NULL. */
static void (*suffers_after)(void);

/* A call of the test itself, which is not refused. */
#define OWN(call) (fault_direct++, (call), fault_direct--)

/* Checks that there is a reason for an error. */
static inline int
explained(int rc, const char *why)
{
	if (rc != 0 && *why == '\0')
		fail_msg("%s: %d without a reason", suffers_run.call, rc);
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

/* Checks a run that has ended, whose result is rc. */
static inline void
suffers_judge(const struct refused *f, unsigned files, int input, int rc)
{
	const struct refusal *r = f->refusal;

	if (suffers_after != NULL)
		suffers_after();
	refused_end(f);
	if (fcntl(STDIN_FILENO, F_GETFD) != input)
		fail_msg("%s, %s: closed what is not its own", f->name, f->call);
	/* a server in this process closes its own a little later */
	for (int i = 0; suffers_files() > files; i++) {
		if (i == 2000)
			fail_msg("%s, %s: descriptors left", f->name, f->call);
		usleep(500);
	}
	if (rc > 0 || (rc == 0 && !got.warned && (got.len != usual.len ||
	    memcmp(got.p, usual.p, got.len) != 0)))
		fail_msg("%s, %s: %d, other bytes", f->name, f->call, rc);
	if ((suffers_exact >> r->kind & 1) != 0 && rc != 0 &&
	    strcmp(strerrorname_np(-rc), strchr(r->what, 'E')) != 0)
		fail_msg("%s, %s: %d", f->name, f->call, rc);
	/* neither is it mistaken for damage */
	if (rc != 0 && rc != -ENOMEM && r->kind == FAULT_MALLOC)
		fail_msg("%s, %s: %d", f->name, f->call, rc);
}

/* Each call is refused in turn, or that call and all later ones. */
static inline void
suffers(const char *name, int (*run)(void))
{
	struct refused *f = &suffers_run;
	int rc;

	f->name = name;
	/* once for what libraries keep, too */
	for (int i = 0; i < 2; i++) {
		size_t len = f->always != NULL ? strlen(f->always) : 1;

		snprintf(f->call, sizeof(f->call), "%.*s", (int)len - 1,
		    f->always != NULL ? f->always : "");
		assert_true(fault_plan(f->call));
		rc = suffers_once(run);
		refused_count(f);
		assert_true(fault_plan(""));
		if (suffers_after != NULL)
			suffers_after();
	}
	if (rc != 0 || got.warned || got.len == 0)
		fail_msg("%s: %d", name, rc);
	usual = got;
	for (int i = 0; i < FAULT_KINDS; i++)
		if ((suffers_kinds >> i & 1) == 0)
			f->calls[i] = 0;
	for (;;) {
		unsigned files = suffers_files();
		int input = fcntl(STDIN_FILENO, F_GETFD);

		if (!refused_next(f))
			break;
		rc = suffers_once(run);
		assert_true(fault_plan(""));
		suffers_judge(f, files, input, rc);
	}
}

#define SUFFERS(run) suffers(#run, run)

#endif

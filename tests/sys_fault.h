/*
 * sys_fault.h - the seam that breaks where it is told to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * tests/sys_fault.c takes the place of src/base/sys.c in a program that is linked
 * with it.  It does what that one does until the plan says otherwise:
 *
 *	COLDPRESS_FAULT=KIND:K:WHAT[,...]
 *	KIND	malloc (also calloc, realloc), openat, read, pread, write,
 *		fsync, close, linkat, renameat, unlinkat, thread, now
 *	K	the K-th call of that kind, from 1; "K+": and all later ones
 *	WHAT	an error by its name (EIO): the call does nothing and fails so;
 *		close(2) really closes, as the kernel does
 *		short: read, pread, write move one byte only
 *		KILL, TERM, INT, HUP, PIPE, STOP: that signal before the call
 *
 * COLDPRESS_FAULT_COUNT=FILE: at exit, how many calls of each kind were made,
 * a line each: "write 12".  A plan that makes no sense ends the program at
 * once with status 125.
 */
#ifndef COLDPRESS_SYS_FAULT_H
#define COLDPRESS_SYS_FAULT_H

#include <stdbool.h>

enum fault_kind {
	FAULT_MALLOC, FAULT_OPENAT, FAULT_READ, FAULT_PREAD, FAULT_WRITE,
	FAULT_FSYNC, FAULT_CLOSE, FAULT_LINKAT, FAULT_RENAMEAT,
	FAULT_UNLINKAT, FAULT_THREAD, FAULT_NOW, FAULT_KINDS,
};

extern const char *const fault_names[FAULT_KINDS];

/*
 * Another plan, from a test itself, and counts from 0.  False: it makes no
 * sense.  Not while other threads run.
 */
bool fault_plan(const char *plan);

/* How many calls there have been since then. */
unsigned long fault_count(enum fault_kind kind);

/* How many blocks of memory are allocated and not freed. */
long fault_blocks(void);

#endif

/*
 * sys_fault.h - the seam that breaks where it is told to
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * tests/sys_fault.c and sys_fault_plan.c take the place of src/base/sys.c in a
 * program that is linked with them.  They do what that one does until the plan
 * says otherwise:
 *
 *	COLDPRESS_FAULT=KIND:K:WHAT[,...]
 *	KIND	malloc (also calloc, realloc), openat, read, pread, write,
 *		pwrite, lseek, ftruncate, fsync (also syncfs), close, dup,
 *		pipe, getdents, stat (fstat, fstatat), readlinkat, mkdirat,
 *		symlinkat, mknodat, linkat, renameat, unlinkat, chown, chmod,
 *		utimens, setxattr, getxattr (also llistxattr), thread, now
 *	K	the K-th call of that kind, from 1; "K+": and all later ones
 *	WHAT	an error by its name (EIO): the call does nothing and fails so;
 *		close(2) really closes, as the kernel does
 *		short: read, pread, write, pwrite move one byte only
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
	FAULT_PWRITE, FAULT_LSEEK, FAULT_FTRUNCATE, FAULT_FSYNC, FAULT_CLOSE,
	FAULT_DUP, FAULT_PIPE, FAULT_GETDENTS, FAULT_STAT, FAULT_READLINKAT,
	FAULT_MKDIRAT, FAULT_SYMLINKAT, FAULT_MKNODAT, FAULT_LINKAT,
	FAULT_RENAMEAT, FAULT_UNLINKAT, FAULT_CHOWN, FAULT_CHMOD,
	FAULT_UTIMENS, FAULT_SETXATTR, FAULT_GETXATTR, FAULT_THREAD,
	FAULT_NOW, FAULT_KINDS,
};

/* A call is to be made, but for one byte. */
enum { FAULT_SHORT = -1 };

/* Counts a call: 0 (make it), FAULT_SHORT, or the errno it fails with. */
int fault(enum fault_kind kind);

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

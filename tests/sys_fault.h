/*
 * sys_fault.h - a system interface that fails on request
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * tests/sys_fault.c and sys_fault_plan.c replace src/base/sys.c in a program
 * linked with them.  They behave in the same way except for the calls in the
 * plan:
 *
 * 	COLDPRESS_FAULT=KIND[@SITE]:K:WHAT[,...]
 * 	KIND	malloc (also calloc, realloc), openat, read, pread, write,
 * 		pwrite, lseek, ftruncate, fsync (also syncfs), close, dup,
 * 		pipe, getdents, stat (fstat, fstatat), readlinkat, mkdirat,
 * 		symlinkat, mknodat, linkat, renameat, unlinkat, chown, chmod,
 * 		utimens, setxattr, getxattr (also llistxattr), thread, now;
 * 		of sys_fault_wrap.c: mmap, fork, wait, poll, lock,
 * 		library
 * 	SITE	only calls from there: a name from a file of counts, of a run
 * 		with the same COLDPRESS_FAULT_DEPTH
 * 	K	the K-th call of that kind, from 1; "K+": and all later ones
 * 	WHAT	an error by its name (EIO): the call does nothing but fail;
 * 		close(2) really closes, as the kernel does
 * 		short: read, pread, write, pwrite transfer only one byte
 * 		end: read, pread transfer nothing, as at the end of the file
 * 		KILL, TERM, INT, HUP, PIPE, STOP: that signal before the call
 *
 * COLDPRESS_FAULT_COUNT=FILE: at exit, writes how many calls of each kind were
 * made, one per line: "write 12".  With COLDPRESS_FAULT_DEPTH=N, callers are
 * told apart by the N innermost frames of the stack, and further lines count the
 * calls of each: "write@8c3f01d2 3".  An invalid plan ends the program
 * immediately with status 125.
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
	FAULT_NOW, FAULT_MMAP, FAULT_FORK, FAULT_WAIT, FAULT_POLL,
	FAULT_LOCK, FAULT_LIBRARY, FAULT_KINDS,
};

/* The call should be made, but for only one byte, or for none. */
enum { FAULT_SHORT = -1, FAULT_END = -2 };

/*
 * Counts a call.  Returns 0 (make it), one of these, or the errno with which it
 * should fail.
 */
int fault(enum fault_kind kind);

extern const char *const fault_names[FAULT_KINDS];

/*
 * Sets another plan from within a test, and resets the counts; must not be
 * called while other threads run.  Returns false if it is invalid.
 */
bool fault_plan(const char *plan);

/* Returns the number of calls since the plan was set. */
unsigned long fault_count(enum fault_kind kind);

/* While it is above 0, calls of this thread are not counted. */
extern _Thread_local int fault_direct;

/* Returns the number of memory blocks allocated and not freed. */
long fault_blocks(void);

#endif

/*
 * sandbox.h - confining a process so that it can open nothing more
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/userspace-api/landlock.rst and
 * landlock_create_ruleset(2); ABI 1 came with Linux 5.13.
 */
#ifndef COLDPRESS_SANDBOX_H
#define COLDPRESS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Permanently confines the calling thread, the threads it starts later and
 * their children: no path can be opened, created, renamed, removed or executed
 * and, if the kernel supports it, no TCP socket can be connected or bound and
 * no abstract socket outside can be reached.  Descriptors already open are not
 * affected.  execve(2) grants no privileges.
 *
 * To be called when everything is open and before any thread is started.
 * Afterwards output_commit(), a library that loads a file lazily and opendir(3)
 * of /proc fail with -EACCES (but see sandbox_enter_naming()).
 *
 * *confined says whether the kernel has Landlock; without it the call succeeds,
 * but only the restriction on privileges applies.  Returns 0 or -errno.
 */
int sandbox_enter(bool *confined);

/*
 * The same, except that files beneath the count directories in dirs can be
 * opened for reading.  The directories are open descriptors and remain the
 * caller's.
 */
int sandbox_enter_reading(const int *dirs, size_t count, bool *confined);

/*
 * The same, except that beneath dir, an open directory that remains the
 * caller's, files can be created by name, renamed and removed, as
 * output_commit() requires for an output there.  No file can be opened there.
 */
int sandbox_enter_naming(int dir, bool *confined);

/*
 * The same, except that beneath dir, an open directory that remains the
 * caller's, everything can be read, created, linked, written and removed;
 * nothing can be executed.  Files beneath the count directories in dirs, which
 * also remain the caller's, can be read.  Before Linux 5.19 nothing is
 * confined, because the kernel would also forbid linking files into other
 * directories.
 */
int sandbox_enter_making(int dir, const int *dirs, size_t count,
    bool *confined);

/*
 * The same, except for what is still allowed beneath these directories.  Each
 * is a descriptor that remains the caller's, or -1.
 */
struct sandbox_dirs {
	int reading, naming, making;	/* as in the functions above */
	int renaming;			/* directories can be renamed */
	int spooling;			/* files can be opened and written, even
					 * unnamed ones, but not created by
					 * name */
};
int sandbox_enter_dirs(const struct sandbox_dirs *d, bool *confined);

/*
 * The same, except that files beneath the count directories in dirs can also be
 * read and executed, as the C library requires to resolve host names, and
 * sockets can be connected.  All descriptors remain the caller's.
 */
int sandbox_enter_fetching(int dir, const int *dirs, size_t count,
    bool *confined);

#endif

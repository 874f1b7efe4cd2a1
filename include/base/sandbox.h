/*
 * sandbox.h - preventing a process from opening more files
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Source: the kernel's Documentation/userspace-api/landlock.rst and
 * landlock_create_ruleset(2); ABI 1 appeared in Linux 5.13.
 */
#ifndef COLDPRESS_SANDBOX_H
#define COLDPRESS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Permanently confines the calling thread, the threads it starts later and
 * their children: no path can be opened, created, renamed, removed or executed
 * and, if the kernel supports it, no TCP socket can be connected or bound and
 * no abstract socket outside the sandbox can be reached.  Descriptors already
 * open are not affected.  execve(2) grants no privileges.
 *
 * Call this after opening all files and before starting any thread.  Afterwards
 * output_commit(), opendir(3) of /proc and libraries that load files lazily
 * fail with EACCES (but see sandbox_enter_naming()).
 *
 * *confined is set to whether the kernel supports Landlock.  If it does not,
 * the call succeeds, but only the restriction on privileges applies.  Returns 0
 * or -errno.
 */
int sandbox_enter(bool *confined);

/*
 * Like sandbox_enter(), except that files beneath the count directories in dirs
 * can be opened for reading.  dirs contains open descriptors, which are not
 * closed.
 */
int sandbox_enter_reading(const int *dirs, size_t count, bool *confined);

/*
 * Like sandbox_enter(), except that files can be created by name, renamed and
 * removed beneath dir, as output_commit() requires for an output there.  dir is
 * an open directory, which is not closed.  Files beneath dir cannot be opened.
 */
int sandbox_enter_naming(int dir, bool *confined);

/*
 * Like sandbox_enter(), except that everything beneath dir can be read,
 * created, linked, written and removed, but not executed, and that files
 * beneath the count directories in dirs can be read.  The descriptors are not
 * closed.  Before Linux 5.19 nothing is confined, because the kernel would also
 * forbid linking files into other directories.
 */
int sandbox_enter_making(int dir, const int *dirs, size_t count,
    bool *confined);

/*
 * sandbox_enter_making() in steps, for directories that are known one after
 * another: begin, add, enter.  What is beneath `dir` is allowed anyway; the
 * directories that are added lie there, too.  The kernel looks for a rule from
 * a file upward, so in a deep tree some directories on the way save it most of
 * the way.  Until sandbox_making_enter(), nothing is confined;
 * sandbox_making_close() forgets it all.  Use from one thread.
 */
struct sandbox_making {
	int ruleset;			/* -1: not supported */
	unsigned long long access;
};
int sandbox_making_begin(struct sandbox_making *s, int dir);
int sandbox_making_add(struct sandbox_making *s, int dir);
int sandbox_making_enter(struct sandbox_making *s, bool *confined);
void sandbox_making_close(struct sandbox_making *s);

/*
 * Like sandbox_enter(), except that some access beneath these directories is
 * still allowed.  Each member is a descriptor, which is not closed, or -1.
 */
struct sandbox_dirs {
	int reading, naming, making;	/* as in the functions above */
	int renaming;			/* directories can be renamed */
	int spooling;			/* files, including unnamed ones, can be
					 * opened and written, but none can be
					 * created by name */
};
int sandbox_enter_dirs(const struct sandbox_dirs *d, bool *confined);

/*
 * Like sandbox_enter_making(), except that sockets can be connected, and that
 * files beneath the count directories in dirs can also be executed, which the C
 * library needs in order to resolve host names.  If dir is -1, nothing can be
 * written.
 */
int sandbox_enter_fetching(int dir, const int *dirs, size_t count,
    bool *confined);

/*
 * The same, but with the access that sandbox_enter_dirs() allows.
 */
int sandbox_enter_pulling(const struct sandbox_dirs *d, const int *dirs,
    size_t count, bool *confined);

#endif

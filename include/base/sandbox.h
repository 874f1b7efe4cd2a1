/*
 * sandbox.h - a filter that can open nothing any more
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
 * For the calling thread, the threads that it starts later and their
 * children, for good: no path can be opened, made, renamed, removed or
 * executed, and as far as the kernel can say so no TCP socket connected or
 * bound, and no abstract socket outside reached.  Descriptors that are open
 * already stay as they are.  No privileges come by execve(2).
 *
 * Called when everything is open and before any thread is started; then an
 * output_commit(), a library that loads a file late and opendir(3) of /proc
 * fail with -EACCES (but see sandbox_enter_naming()).
 *
 * *confined: whether the kernel has Landlock; without it the call succeeds,
 * and only the part about privileges holds.  0 or -errno.
 */
int sandbox_enter(bool *confined);

/*
 * The same, but what is beneath these count directories, open descriptors
 * that stay the caller's, can be opened to be read.
 */
int sandbox_enter_reading(const int *dirs, size_t count, bool *confined);

/*
 * The same, but beneath the directory dir, a descriptor that stays the
 * caller's, files can get a name, change it and lose it: as much as
 * output_commit() of an output there needs.  None can be opened.
 */
int sandbox_enter_naming(int dir, bool *confined);

/*
 * The same, but beneath the directory dir, a descriptor that stays the
 * caller's, anything can be read, made, linked, written and removed; nothing
 * is executed.  A kernel before Linux 5.19, with which no file gets a second
 * name in another directory then, confines nothing.
 */
int sandbox_enter_making(int dir, bool *confined);

#endif

/*
 * cgroup.h - the control groups of this process
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: cgroups(7), proc_pid_mountinfo(5), and the kernel's
 * Documentation/admin-guide/cgroup-v2.rst.  Thread-safe.
 */
#ifndef COLDPRESS_CGROUP_H
#define COLDPRESS_CGROUP_H

#include <stdbool.h>

/* A group; its files are in root/dir.  v2: of version 2 of control groups. */
struct cgroup {
	const char *root, *dir;
	bool v2;
};

/*
 * Calls fn(arg, ...) for each group whose limits apply to this process: its own
 * and those above it, as far as they are mounted.  The controller ("cpu",
 * "memory") matters in version 1.  What cannot be read is passed over.  root is
 * prepended to every path that is read ("" for the running system), so that a
 * test can simulate a system.
 */
void cgroup_each(const char *root, const char *controller,
    void (*fn)(void *arg, const struct cgroup *g), void *arg);

/*
 * Reads up to two numbers that begin a file of the group.  Returns how many there
 * are.
 */
int cgroup_numbers(const struct cgroup *g, const char *name, long long n[2]);

#endif

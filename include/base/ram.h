/*
 * ram.h - the memory this process may use
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Sources: sysconf(3), cgroups(7), and the kernel's
 * Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.high) and
 * Documentation/admin-guide/cgroup-v1/memory.rst (memory.limit_in_bytes).
 * Thread-safe.
 */
#ifndef COLDPRESS_RAM_H
#define COLDPRESS_RAM_H

#include <stdint.h>

/*
 * Returns the bytes of memory of the machine, or of the tightest limit of this
 * process's control groups; 0 if neither is known.
 */
uint64_t ram_usable(void);

/*
 * Returns the tightest limit, in bytes, of this process's control groups and
 * their ancestors; UINT64_MAX if there is none or it cannot be read.  root is as
 * for cpus_quota().
 */
uint64_t ram_quota(const char *root);

#endif

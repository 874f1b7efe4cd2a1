/*
 * leftover.h - finding and removing the leftovers of killed tools
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A running program has an identity, "NAMESPACE.PID.START": the inode of its
 * PID namespace, its PID, and its start time in clock ticks.  The identity is
 * part of everything that the program creates: its directory and its control
 * group are named "TOOL.IDENTITY", and its processes have "LAP_ID=IDENTITY" in
 * their environment.  If an identity belongs to this namespace and its process
 * no longer exists, everything marked with it is removed.
 *
 * All functions are thread-safe.
 */
#ifndef COLDPRESS_LEFTOVER_H
#define COLDPRESS_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>

enum { LEFTOVER_ID_B = 64 };

/*
 * Writes the identity of this process.  Returns 0, or -errno if there is no
 * /proc.
 */
int leftover_id(char id[LEFTOVER_ID_B]);

/*
 * Returns whether id is an identity in this namespace whose process no longer
 * exists.  Returns false if id is not a valid identity, or if it cannot be told.
 */
bool leftover_dead(const char *id);

/*
 * Kills all processes with a dead identity, as far as permissions allow.
 * Returns their number.
 */
int leftover_kill(void);

/* Removes dead programs' control groups "TOOL.IDENTITY" next to our own. */
void leftover_end_groups(const char *tool);

/*
 * Removes dead programs' directories "TOOL.IDENTITY", and the files in them,
 * from dir.  Other users' directories are not removed.
 */
void leftover_remove(const char *dir, const char *tool);

/* Removes a directory and the files in it, but no subdirectories. */
void leftover_rmdir(int dirfd, const char *name);

#endif

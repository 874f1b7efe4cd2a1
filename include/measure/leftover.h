/*
 * leftover.h - finding and removing what a killed tool left behind
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A running program has an identity, "NAMESPACE.PID.START": the inode of its
 * PID namespace, its PID, and its start time in clock ticks.  Everything it
 * creates is marked with that name: a directory and a control group
 * "TOOL.IDENTITY", and processes with "LAP_ID=IDENTITY" in their environment.
 * If an identity belongs to this namespace and its process no longer exists,
 * everything marked with it is removed.
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
 * exists.  Anything that is not a valid identity yields false.
 */
bool leftover_dead(const char *id);

/*
 * Kills those processes with a dead identity that we may kill.  Returns their
 * number.
 */
int leftover_kill(void);

/* Removes dead programs' groups "TOOL.IDENTITY" next to ours. */
void leftover_end_groups(const char *tool);

/*
 * Removes dead programs' directories "TOOL.IDENTITY" from the directory dir,
 * with the files in them; other users' directories remain.
 */
void leftover_remove(const char *dir, const char *tool);

/* Removes a directory and the files in it, but no subdirectories. */
void leftover_rmdir(int dirfd, const char *name);

#endif

/*
 * leftover.h - what a killed program of ours has left, found and ended
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A running program has an identity, "NAMESPACE.PID.START": the inode of its
 * PID namespace, its process number, and when it started in clock ticks.
 * What it makes bears that name: a folder and a control group "TOOL.IDENTITY",
 * and processes with "LAP_ID=IDENTITY" in their environment.  If the process
 * of an identity of this namespace is gone, whatever bears it is to go too.
 *
 * All thread-safe.
 */
#ifndef COLDPRESS_LEFTOVER_H
#define COLDPRESS_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>

enum { LEFTOVER_ID_B = 64 };

/* The identity of this process.  0 or -errno (there is no /proc). */
int leftover_id(char id[LEFTOVER_ID_B]);

/*
 * Whether id is an identity of this namespace, and its process is no more.
 * False for anything that is not the text of an identity.
 */
bool leftover_dead(const char *id);

/*
 * Kills the processes with a dead identity that are ours to kill.  Returns
 * their number.
 */
int leftover_kill(void);

/* Ends the groups "TOOL.IDENTITY" of the dead beside ours. */
void leftover_end_groups(const char *tool);

/*
 * Removes the folders "TOOL.IDENTITY" of the dead in the folder dir, with the
 * files in them; not those of another user.
 */
void leftover_remove(const char *dir, const char *tool);

/* Removes a folder with the files in it, but no folder in it. */
void leftover_rmdir(int dirfd, const char *name);

#endif

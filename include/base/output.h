/*
 * output.h - a file that comes into being whole or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The only way in which a tool makes a file.  Data goes to an unnamed file
 * (O_TMPFILE) in the target's directory, which gets its name when it is
 * complete: even SIGKILL leaves nothing under that name.  A file system
 * without O_TMPFILE gets a temporary name, removed by output_abort().
 *
 * A struct output belongs to one thread at a time.
 */
#ifndef COLDPRESS_OUTPUT_H
#define COLDPRESS_OUTPUT_H

#include <stdbool.h>

struct output {
	int fd;			/* to be written to, while open */
	int dirfd;
	char *name;		/* the final name, within dirfd */
	char temp[64];		/* a temporary name, or "" */
	bool replace;
	bool direct;		/* a device or FIFO: no name is made */
};

/*
 * Prepares path.  With replace an existing file is replaced at commit;
 * without it -EEXIST, here already or at commit.  An existing character
 * device or FIFO is written to directly, with replace only.
 * 0 or -errno; on failure there is nothing to abort.
 */
int output_create(struct output *o, const char *path, bool replace);

/*
 * Gives the file its name and closes it.  With sync, data and directory are
 * on the disk when it returns.  0 or -errno: then the file is gone, as after
 * output_abort().  Only where an existing file has been replaced and then the
 * directory cannot be synced, the new one stands, whole.
 */
int output_commit(struct output *o, bool sync);

/* Drops the file. */
void output_abort(struct output *o);

#endif

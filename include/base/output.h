/*
 * output.h - a file that comes into being whole or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The only way in which a tool makes a file.  Data goes to an unnamed file
 * (O_TMPFILE) in the target's directory, which gets its name when it is
 * complete: even SIGKILL leaves nothing under that name.  A file system
 * without O_TMPFILE gets a temporary name, removed by output_abort().
 *
 * The directory is opened once: all names are looked up within it.
 *
 * A struct output belongs to one thread at a time, and must not be moved
 * while it is open.
 */
#ifndef COLDPRESS_OUTPUT_H
#define COLDPRESS_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

struct output {
	int fd;			/* to be written to, while open */
	int dirfd;
	char *name;		/* the final name, within dirfd */
	char temp[64];		/* a temporary name, or "" */
	bool replace;
	bool direct;		/* written in place: no name is made */
	bool synced;		/* the data is on the disk */
	bool dir_sync;		/* dirfd can be synced */
	struct stat there;	/* what the name led to; st_mode 0: nothing */
};

/*
 * Prepares path.  With replace an existing file or link is replaced at
 * commit; without it -EEXIST, here already or at commit.  A FIFO, a character
 * or block device, a link to one of these, and a link to what is open as
 * descriptor 0, 1 or 2 (/dev/stdout) are never replaced: with replace they
 * are written in place.  0 or -errno; on failure there is nothing to abort.
 */
int output_create(struct output *o, const char *path, bool replace);

/*
 * The same for a name, of one component, in the open directory dirfd (or
 * AT_FDCWD), which stays the caller's.  Here what is not replaced is not
 * written to either: -EEXIST.
 */
int output_create_at(struct output *o, int dirfd, const char *name,
    bool replace);

/* Whether the target was the file, or the block device, that st is of. */
bool output_is(const struct output *o, const struct stat *st);

/*
 * Brings the data, not yet the name, to the disk: what output_commit() would
 * do first.  0 or -errno; in both cases the output is open still.
 */
int output_sync(struct output *o);

/*
 * Gives the file its name and closes it.  With sync, data and directory are
 * on the disk when it returns.  0 or -errno: then the file is gone, as after
 * output_abort().  Only where an existing file has been replaced and then the
 * directory cannot be synced, the new one stands, whole.
 */
int output_commit(struct output *o, bool sync);

/* Drops the file. */
void output_abort(struct output *o);

/*
 * For the start of a main: HUP, INT, PIPE, TERM, XCPU and XFSZ, where they
 * have their default action, remove a temporary name before they take it.
 */
void output_on_signals(void);

#endif

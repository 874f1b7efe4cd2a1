/*
 * output.h - an output file that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tools create files only through this module.  Data is written to an unnamed
 * file (O_TMPFILE) in the target's directory; the file gets its name when it is
 * complete, so even SIGKILL leaves nothing under that name.  On a filesystem
 * without O_TMPFILE a temporary name is used, which output_abort() removes.
 *
 * The directory is opened only once, and all names are looked up in it.
 *
 * A struct output belongs to one thread at a time, and must not be moved
 * while it is open.
 */
#ifndef COLDPRESS_OUTPUT_H
#define COLDPRESS_OUTPUT_H

#include <stdbool.h>
#include <sys/stat.h>

/* Embedded, as the first member, in whatever a signal handler removes. */
struct output_armed {
	void (*remove)(const struct output_armed *a);
};

struct output {
	struct output_armed armed;
	int fd;			/* open for writing */
	int dirfd;
	char *name;		/* final name, within dirfd */
	char temp[64];		/* a temporary name, or "" */
	bool replace;
	bool direct;		/* written in place: no name is created */
	bool synced;		/* data has been synced */
	bool dir_sync;		/* dirfd is syncable */
	struct stat there;	/* the existing file, with mode 0 if none */
};

/*
 * Prepares path.  With replace an existing file or link is replaced at commit;
 * without it -EEXIST is returned, here or at commit.  A FIFO, a character or
 * block device, a link to one of these, or a link to descriptor 0, 1 or 2
 * (/dev/stdout) is never replaced: with replace it is written in place, except
 * that a block device in use (mounted, for example) gives -EBUSY.  Returns 0 or
 * -errno; on failure there is nothing to abort.
 */
int output_create(struct output *o, const char *path, bool replace);

/*
 * The same for a single-component name in the open directory dirfd (or
 * AT_FDCWD), which remains the caller's.  Unlike output_create(), it returns
 * -EEXIST for a file that would have to be written in place.
 */
int output_create_at(struct output *o, int dirfd, const char *name,
    bool replace);

/*
 * Returns whether the target was the file, or the block device, described by
 * st.
 */
bool output_is(const struct output *o, const struct stat *st);

/*
 * Syncs the data, but not the name, to disk: the first step of output_commit().
 * Returns 0 or -errno; in both cases the output remains open.
 */
int output_sync(struct output *o);

/*
 * Gives the file its name and closes it.  With sync, the data and the directory
 * are on disk on return.  Returns 0, or -errno with the file gone, as after
 * output_abort().  If only syncing the directory fails, however, and an
 * existing file has been replaced, the complete new file remains.
 */
int output_commit(struct output *o, bool sync);

/* Discards the file. */
void output_abort(struct output *o);

/*
 * Installs a handler for each of HUP, INT, PIPE, TERM, XCPU and XFSZ whose
 * action is the default.  The handler removes any temporary name, or the
 * directory of output_tree.h, before that action is taken.  To be called at the
 * start of main().
 */
void output_on_signals(void);

#endif

/*
 * output.h - an output file that appears complete or not at all
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Tools create files only through this module.  Data is written to an unnamed
 * file (O_TMPFILE) in the target's directory; the file is linked to its name
 * once it is complete, so that no incomplete file has that name, even after
 * SIGKILL.  On a filesystem without O_TMPFILE a temporary name is used, which
 * output_abort() removes.
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

/*
 * Embedded as the first member of a struct whose file a signal handler must
 * remove.
 */
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
	struct stat there;	/* the existing file; mode 0: none */
};

/*
 * Prepares to write path.  If replace is set, an existing file or link is
 * replaced at commit; otherwise -EEXIST is returned, here or at commit.  A
 * FIFO, a character or block device, a link to one of these, or a link to
 * descriptor 0, 1 or 2 (/dev/stdout) is never replaced.  If replace is set, it
 * is written in place, except that a block device in use (mounted, for example)
 * causes -EBUSY.  Returns 0 or -errno; on failure there is nothing to abort.
 */
int output_create(struct output *o, const char *path, bool replace);

/*
 * Like output_create(), but for a single-component name in the open directory
 * dirfd (or AT_FDCWD), which is not closed.  A file that would have to be
 * written in place causes -EEXIST.
 */
int output_create_at(struct output *o, int dirfd, const char *name,
    bool replace);

/*
 * Returns whether st describes the existing target: the same file, or the same
 * block device.
 */
bool output_is(const struct output *o, const struct stat *st);

/*
 * Syncs the data, but not the name, to disk: the first step of output_commit().
 * Returns 0 or -errno; in both cases the output remains open.
 */
int output_sync(struct output *o);

/*
 * Links the file to its name and closes it.  If sync is set, the data and the
 * directory have been synced to disk on return.  Returns 0, or -errno after
 * removing the file as output_abort() does.  However, if an existing file has
 * been replaced and only syncing the directory fails, the complete new file
 * remains.
 */
int output_commit(struct output *o, bool sync);

/* Discards the file. */
void output_abort(struct output *o);

/*
 * Installs a handler for each of HUP, INT, PIPE, TERM, XCPU and XFSZ that has
 * its default action.  The handler removes any temporary file, or the directory
 * of output_tree.h, before the default action is taken.  Call this at the start
 * of main().
 */
void output_on_signals(void);

#endif

/*
 * node.h - creating names in a directory, without following links
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A name is a single component, other than "." and "..", in the open directory
 * dir.  Links are not followed, so nothing is created elsewhere.  If replace is
 * set, an existing file with that name is removed, unless it is a directory.
 * Thread-safe.
 */
#ifndef COLDPRESS_NODE_H
#define COLDPRESS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

/*
 * Opens the directory path, in which names will be created.  If it does not
 * exist, creates it with the given mode and sets *made.  Returns a descriptor,
 * or -errno.
 */
int node_root(const char *path, mode_t mode, bool *made);

/*
 * Creates a directory with mode 0700.  Returns 1, 0 if it already exists, or
 * -errno.
 */
int node_dir(int dir, const char *name, bool replace);

/*
 * Creates an empty regular file that will get the given mode.  At first its
 * permissions are at most those that will belong to everybody, and its owner's,
 * who may read and write it.  Returns a descriptor for writing, or -errno.
 */
int node_file(int dir, const char *name, mode_t mode, bool replace);

/*
 * Opens a file created earlier.  Returns a descriptor for writing, or -errno;
 * -ESTALE if the file is not ours: one that we created has a single link.
 */
int node_reopen(int dir, const char *name);

/*
 * Creates a symbolic link, or a node of another type with mode 0600.  Returns 0
 * or -errno.
 */
int node_symlink(int dir, const char *name, const char *target, bool replace);
int node_special(int dir, const char *name, mode_t type, dev_t device,
    bool replace);

/*
 * Creates a hard link to the file `old` in the directory `from`.  Returns 0 or
 * -errno.
 */
int node_link(int from, const char *old, int dir, const char *name,
    bool replace);

/* Attributes set after the data has been written. */
struct node_status {
	mode_t mode;			/* mode, including the type */
	uint64_t size;			/* of a regular file that is open for
					 * writing: zeros are appended to it up
					 * to this size */
	bool owner;			/* also set the owner, which requires
					 * root */
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	/*
	 * Sets extended attributes: after the owner, because changing it
	 * removes some attributes, and before the mode, which may forbid
	 * setting them.  Returns whether there were any, since an access
	 * control list changes the mode.  May be NULL.
	 */
	bool (*attributes)(void *arg);
	/*
	 * Called when an operation fails; `what` names it, for example "its
	 * owner: ".
	 */
	void (*fail)(void *arg, const char *what, int rc);
	void *arg;
};

/*
 * Sets size, owner, attributes, mode and time, in this order, of the open file
 * `at` or, if name is not NULL, all but the size of name in the directory `at`.
 * Set-ID bits are set only if the owner is also set.  What is right already is
 * left alone.  Returns 0, or -errno for the size.
 */
int node_finish(int at, const char *name, const struct node_status *s);

/*
 * Sets an extended attribute of the open file fd or, if that is -1, of the name
 * in dir.  Returns 0 or -errno.
 */
int node_xattr(int fd, int dir, const char *name, const char *attribute,
    const void *value, size_t len);

#endif

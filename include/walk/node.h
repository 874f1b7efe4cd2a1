/*
 * node.h - creating names in a directory, without following links
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * A name is one component, without a slash and neither "." nor "..", in the
 * open directory dir.  It is never followed, so that nothing is created
 * elsewhere.  With replace, what has the name already is removed, unless it is
 * a directory.  Thread-safe.
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
 * A directory of mode 0700.  1: created; 0: there is one already; or -errno.
 */
int node_dir(int dir, const char *name, bool replace);

/*
 * A regular file of mode 0600 and size bytes, all zero: its descriptor, for
 * writing, or -errno.
 */
int node_file(int dir, const char *name, uint64_t size, bool replace);

/*
 * Opens a file created before, for writing: its descriptor, or -errno.  A file
 * that we created has one link so far unless linked says otherwise; any other
 * is foreign: -ESTALE.
 */
int node_reopen(int dir, const char *name, bool linked);

/* A symbolic link, or a node of another type, of mode 0600: 0 or -errno. */
int node_symlink(int dir, const char *name, const char *target, bool replace);
int node_special(int dir, const char *name, mode_t type, dev_t device,
    bool replace);

/* A hard link to the name old in the directory from: 0 or -errno. */
int node_link(int from, const char *old, int dir, const char *name,
    bool replace);

/* What is set after the data was written. */
struct node_status {
	mode_t mode;			/* with its type */
	bool owner;			/* set it, too: root can */
	uid_t uid;
	gid_t gid;
	struct timespec mtime;
	/*
	 * Sets extended attributes, which a change of owner would remove, and
	 * which a mode may forbid to set; may be NULL.
	 */
	void (*attributes)(void *arg);
	/* Is told what failed: "its owner: ", for example. */
	void (*fail)(void *arg, const char *what, int rc);
	void *arg;
};

/*
 * Sets owner, attributes, mode and time, in this order, of the open file at or,
 * if name is not NULL, of name in the directory at.  Set-id bits are set only
 * with the owner.
 */
void node_finish(int at, const char *name, const struct node_status *s);

/*
 * Sets an extended attribute of the open file fd or, if that is -1, of the name
 * in dir.  0 or -errno.
 */
int node_xattr(int fd, int dir, const char *name, const char *attribute,
    const void *value, size_t len);

#endif

/*
 * sqpack_extract.h - declarations shared by the extraction code
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Directories are created first.  Then files and their data are written, by
 * several threads in image order.  Names without data, hard links, and finally
 * the modes and times of directories follow.
 */
#ifndef COLDPRESS_SQPACK_EXTRACT_H
#define COLDPRESS_SQPACK_EXTRACT_H

#include "sqpack_read.h"

#include <pthread.h>
#include <stdatomic.h>

enum made {
	NOT_MADE,
	WAS_THERE,			/* an existing directory */
	MADE,				/* created; removed if incomplete */
	BROKEN,				/* a file with a write error */
	WHOLE
};

struct extract {
	struct sqpack_image i;
	int root;			/* nothing is created outside it */
	bool made_root;
	bool owner;			/* running as root: owners can be set */
	/* indexed by name */
	_Atomic uint8_t *made;		/* enum made */
	uint32_t *as;			/* for the first name of an inode: the
					 * name under which the inode is
					 * extracted */
	atomic_int err;			/* stops all threads */
	pthread_mutex_t lock;		/* protects messages and counts: */
	uint64_t devices;		/* skipped, because they require root */
	uint64_t attributes;		/* attributes that could not be set */
};

/* A thread's current directory, and its path buffer. */
struct place {
	struct extract *x;
	int fd;				/* -1: none */
	size_t dir;
	char *path;
	size_t cap;
	char name[SQUASHFS_NAME_MAX + 1];
};

void place_open(struct place *p, struct extract *x);
void place_close(struct place *p);

/*
 * These functions create name `number` in its directory, without following
 * links.  The first creates a directory; the second creates a file and returns
 * a descriptor for writing; the third reopens a file created before; the last
 * creates any other type.  They return 0, a descriptor, or -errno.
 */
int place_dir(struct place *p, size_t number, const struct sq_entry *e);
int place_file(struct place *p, size_t number, const struct sq_entry *e);
int place_reopen(struct place *p, size_t number, const struct sq_entry *e);
int place_other(struct place *p, size_t number, const struct sq_entry *e);

/*
 * Creates name `number` as a hard link to the first name of its inode, which is
 * located with `of`.
 */
int place_link(struct place *p, struct place *of, size_t number,
    const struct sq_entry *e);

/* Sets owner, attributes, mode and time, in this order, on an open file. */
void place_finish(struct place *p, int fd, size_t number,
    const struct sq_entry *e);

/* Removes an incomplete file. */
void place_drop(struct place *p, size_t number, const struct sq_entry *e);

/* Returns the path of a name; valid until the next call with p. */
const char *place_path(struct place *p, size_t number);

/*
 * Opens directory `dir`, unless it is the current one.  Returns p->fd, or
 * -errno.
 */
int place_enter(struct place *p, size_t dir);

/*
 * Reports an error for a name; `what` is printed between the name and the text
 * of -errno.
 */
void extract_fail(struct place *p, size_t number, const char *what, int rc);

/* Stops the extraction after an error that is not specific to one name. */
void extract_stop(struct extract *x, int rc);

/* Reports damage at byte `at` of the image. */
void extract_damage(struct place *p, size_t number, uint64_t at,
    const char *why);

/* Returns whether the inode is extracted under this name. */
static inline bool
extract_is_first(const struct extract *x, size_t number,
    const struct sq_entry *e)
{
	return x->as[e->first] == number;
}

/* Writes all data, with the given number of threads.  Returns 0 or -errno. */
int extract_data(struct extract *x, unsigned threads);

/*
 * Returns whether one thread writes all data of the file, and therefore also
 * creates and completes it.
 */
bool extract_at_once(const struct extract *x, const struct sq_entry *e);

#endif

/*
 * sqpack_extract.h - declarations shared by the parts of extraction
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Directories are created first, then files with their data, by several threads
 * in the order of the image, then names without data, hard links, and finally
 * the directories' modes and times.
 */
#ifndef COLDPRESS_SQPACK_EXTRACT_H
#define COLDPRESS_SQPACK_EXTRACT_H

#include "sqpack_read.h"

#include <pthread.h>
#include <stdatomic.h>

enum made {
	NOT_MADE,
	WAS_THERE,			/* a directory */
	MADE,				/* not to be left behind, if a file */
	BROKEN,				/* a file that cannot be written */
	WHOLE
};

struct extract {
	struct sqpack_image i;
	int root;			/* the directory that is never left */
	bool made_root;
	bool owner;			/* root: owners can be set */
	/* by number */
	_Atomic uint8_t *made;		/* enum made */
	uint32_t *as;			/* for an inode's first name: the name
					 * under which it is extracted */
	atomic_int err;			/* ends everything */
	pthread_mutex_t lock;		/* protects messages and the counts: */
	uint64_t devices;		/* that require root */
	uint64_t attributes;		/* that were not set */
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
 * Creates the name with this number in its directory, following no link: a
 * directory; a file to be written, whose descriptor is returned; a file created
 * before, opened; anything else.  Or -errno.
 */
int place_dir(struct place *p, size_t number, const struct sqr_entry *e);
int place_file(struct place *p, size_t number, const struct sqr_entry *e);
int place_reopen(struct place *p, size_t number, const struct sqr_entry *e);
int place_other(struct place *p, size_t number, const struct sqr_entry *e);

/* Creates another name of first. */
int place_link(struct place *p, struct place *of, size_t number,
    const struct sqr_entry *e);

/* Sets owner, attributes, mode and time, in this order, of an open file. */
void place_finish(struct place *p, int fd, size_t number,
    const struct sqr_entry *e);

/* Takes a file away of which not all could be written. */
void place_drop(struct place *p, size_t number, const struct sqr_entry *e);

/* The path of a name, until the next call with p. */
const char *place_path(struct place *p, size_t number);

/* Opens the directory with that number; -errno. */
int place_enter(struct place *p, size_t dir);

/* Reports an error with a name: the text goes between it and -errno's. */
void extract_fail(struct place *p, size_t number, const char *what, int rc);

/* Ends it all, when no single name is to blame. */
void extract_stop(struct extract *x, int rc);

/* Says that the image is damaged at byte `at` of it. */
void extract_damage(struct place *p, size_t number, uint64_t at,
    const char *why);

/* Whether its inode is extracted under this name. */
static inline bool
extract_is_first(const struct extract *x, size_t number,
    const struct sqr_entry *e)
{
	return x->as[e->first] == number;
}

/* Writes all data with the given number of threads; 0 or -errno. */
int extract_data(struct extract *x, unsigned threads);

/*
 * A file whose data one thread writes in one go, and thus creates and finishes.
 */
bool extract_at_once(const struct extract *x, const struct sqr_entry *e);

#endif

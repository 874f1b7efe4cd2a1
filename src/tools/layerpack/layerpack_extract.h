/*
 * layerpack_extract.h - declarations shared by the extraction code
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_LAYERPACK_EXTRACT_H
#define COLDPRESS_LAYERPACK_EXTRACT_H

#include "layerpack_plan.h"
#include "layerpack_units.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* The state of an entry. */
enum made { NOT_MADE, MADE, BROKEN };

struct extract {
	struct layerpack *p;
	struct layerpack_source s;
	const struct layer_entry *entries;
	size_t count;
	size_t reached;			/* first entry not yet attempted */
	struct plan plan;
	struct unit_map map;
	int root;			/* nothing is created outside it */
	bool made_root;
	bool owner;			/* running as root: owners can be set */
	_Atomic uint8_t *made;		/* enum made for each entry */
	atomic_uint next;		/* next unit */
	atomic_int err;			/* stops all threads */
	pthread_mutex_t lock;		/* protects messages and counts: */
	uint64_t devices;		/* skipped, because they require root */
	uint64_t attributes;		/* attributes that could not be set */
};

/* A thread's current directory, and a name in it. */
struct spot {
	struct extract *x;
	int fd;				/* -1: none */
	const char *path;		/* path of an entry below it */
	size_t dir_len;			/* length of the part before the name */
	char name[NAME_MAX + 1];
};

void spot_open(struct spot *s, struct extract *x);
void spot_close(struct spot *s);

/*
 * Opens the directory of a clean path, without following links, and sets
 * s->name.  If make is set, missing directories are created.  Returns the
 * descriptor, which is also stored in s->fd, or -errno.
 */
int spot_enter(struct spot *s, const char *path, bool make);

/*
 * Creates an entry other than a hard link, replacing an existing file if
 * `replace` is set.  Returns 0 or -errno.
 */
int spot_make(struct spot *s, size_t n, bool replace);

/* Sets the final attributes of the open file fd, or of s->name if fd is -1. */
void spot_finish(struct spot *s, int fd, size_t n);

/*
 * Reports an error for an entry; `what` is printed between its path and the
 * error text.
 */
void extract_fail(struct extract *x, size_t n, const char *what, int rc);

/*
 * Returns whether an entry is a whiteout to be extracted in the form used by
 * overlayfs.
 */
bool extract_is_whiteout(const struct extract *x, size_t n);

/*
 * Writes the data of all files, with several threads.  Incomplete files are
 * BROKEN afterwards.  Returns 0, or the -errno that ended the extraction.
 */
int extract_data(struct extract *x);

#endif

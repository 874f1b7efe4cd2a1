/*
 * extract_impl.h - declarations shared by the parts of an extraction
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_WALK_EXTRACT_IMPL_H
#define COLDPRESS_WALK_EXTRACT_IMPL_H

#include "walk/extract.h"

/* The state of an entry. */
enum extract_state {
	EXTRACT_NEW,
	EXTRACT_FAILED,			/* could not be made; was reported */
	EXTRACT_OLD_DIR,		/* existed before */
	EXTRACT_NEW_DIR,
	EXTRACT_PARTIAL,		/* a file without all of its data */
	EXTRACT_BROKEN,			/* a file to be removed */
	EXTRACT_WHOLE
};

struct extract {
	const struct extract_source *s;
	struct extract_options o;
	_Atomic uint8_t *state;		/* enum extract_state, by entry */
	_Atomic uint32_t *left;		/* pieces yet to be written, by entry */
	size_t root_entry;		/* the entry of the root itself, or
					 * EXTRACT_NONE */
	atomic_size_t next;		/* the next name to create */
	atomic_int err;			/* the -errno that ended it */
	atomic_size_t devices;		/* skipped, because they require root */
	atomic_size_t attributes;	/* could not be set */
};

/*
 * Creates entry n, which is not a hard link.  Returns 0 or -errno.
 * extract_place_file() creates a regular file, sets its state and returns a
 * descriptor; extract_place_dir() creates a directory and sets its state.
 */
int extract_place_dir(struct extract_place *p, size_t n);
int extract_place_file(struct extract_place *p, size_t n,
    const struct extract_entry *e);
int extract_place_other(struct extract_place *p, size_t n,
    const struct extract_entry *e);

/*
 * Creates entry n as another name of entry `file`, which is located with `of`.
 * Returns 0 or -errno.
 */
int extract_place_link(struct extract_place *p, struct extract_place *of,
    size_t n, size_t file);

/* Opens a file or a directory created earlier, or returns -errno. */
int extract_place_reopen(struct extract_place *p, size_t n);
int extract_place_open_dir(struct extract_place *p, size_t n);

/* Removes a file.  Returns 0 or -errno. */
int extract_place_remove(struct extract_place *p, size_t n);

/*
 * Sets owner, attributes, mode and time, in this order, of the open file fd or,
 * if that is -1, of the name just created.  Reports errors.
 */
void extract_place_finish(struct extract_place *p, int fd, size_t n,
    const struct extract_entry *e);

/*
 * Reports an error for entry n, and ends the extraction if it is one that would
 * affect every later write; `what` precedes the text for -errno.
 */
void extract_fail(struct extract_place *p, size_t n, const char *what, int rc);

/* Calls the source's report function for entry n. */
void extract_report(struct extract_place *p, enum extract_level level, size_t n,
    const char *text);

#endif

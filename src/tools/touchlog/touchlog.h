/*
 * touchlog.h - declarations shared by the parts of touchlog
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TOUCHLOG_H
#define COLDPRESS_TOUCHLOG_H

#include "base/msg.h"
#include "base/output.h"
#include "measure/opens.h"
#include "measure/proc.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum { TOUCHLOG_TOLD = 1 };		/* an error that has been reported */

enum touchlog_format { TOUCHLOG_TSV, TOUCHLOG_SORT, TOUCHLOG_LIST };

struct touchlog_options {
	const char *root;
	enum touchlog_format format;
	bool pages;			/* list parts of files instead of whole
					 * files */
	bool exact;			/* with single-page accuracy */
	bool null_lines;
	bool force;
	const char *output;		/* NULL: standard output */
	char **command;
};

struct touchlog_file {
	char *path;			/* relative to the root; NULL: outside
					 * it */
	uint64_t size;			/* bytes */
};

struct touchlog {
	struct msg msg;
	struct touchlog_options o;
	struct proc proc;
	struct output out;
	int root;			/* directory, open */
	struct opens *opens;
	struct touchlog_file *files;	/* as in opens_files() */
	size_t count;
};

/*
 * Parses the command line.  Returns -1, or the exit status if the program
 * should exit.
 */
int touchlog_parse(struct touchlog *t, int argc, char **argv);

/*
 * Does the work of the first process in the PID namespace.  Returns the exit
 * status of the command, or MSG_ERROR, 126 or 127 after reporting an error.
 */
int touchlog_inside(struct touchlog *t);

/*
 * Called for a regular file below the root.  Returns 0, or -errno to end the
 * search.
 */
typedef int touchlog_file_fn(struct touchlog *t, const char *path,
    const struct stat *st, void *arg);

/*
 * Calls the function for each regular file, in any order.  Returns 0 or -errno.
 */
int touchlog_each_file(struct touchlog *t, touchlog_file_fn *file, void *arg);

/* Warns of filesystems below the root, which are not watched. */
void touchlog_warn_of_mounts(struct touchlog *t);

/* Evicts the root's files from memory.  Returns 0 or -errno. */
int touchlog_make_cold(struct touchlog *t);

/*
 * Finds the names of the files opened, and stores them in t->files.  Returns 0
 * or -ENOMEM.
 */
int touchlog_find_names(struct touchlog *t);

/* Writes the list to descriptor fd.  Returns 0 or -errno, or TOUCHLOG_TOLD. */
int touchlog_write(struct touchlog *t, int fd);

#endif

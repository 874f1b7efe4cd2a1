/*
 * touchlog.h - the parts of touchlog to each other
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

enum { TOUCHLOG_TOLD = 1 };		/* an error, of which that was said */

enum touchlog_format { TOUCHLOG_TSV, TOUCHLOG_SORT, TOUCHLOG_LIST };

struct touchlog_options {
	const char *root;
	enum touchlog_format format;
	bool pages;			/* the parts of files, not all of them */
	bool exact;			/* and these to the page */
	bool null_lines;
	bool force;
	const char *output;		/* NULL: standard output */
	char **command;
};

struct touchlog_file {
	char *path;			/* from the root; NULL: not in it */
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

/* The command line: -1, or the exit status with which all is over. */
int touchlog_parse(struct touchlog *t, int argc, char **argv);

/*
 * All that is done by the first process of a PID namespace.  Returns the exit
 * status: the command's, or MSG_ERROR, 126 or 127 when that was told.
 */
int touchlog_inside(struct touchlog *t);

/*
 * Runs a program by its name or path, its standard output to out (-1:
 * nowhere).  0 and its status as a shell has it, or -errno: it could not be
 * executed.
 */
int touchlog_run(struct touchlog *t, char **argv, int out, int *status);

/*
 * In the place of the root, in this mount namespace: a copy of it in which
 * only those pages come into memory that are asked for.  0, or -1 when the
 * reason was told.
 */
int touchlog_mount_exact(struct touchlog *t);

/* A regular file below the root.  0, or a -errno that ends the search. */
typedef int touchlog_file_fn(struct touchlog *t, const char *path,
    const struct stat *st, void *arg);

/* All of them, in no order.  0 or -errno. */
int touchlog_each_file(struct touchlog *t, touchlog_file_fn *file, void *arg);

/* Takes the root's files out of memory.  0 or -errno. */
int touchlog_make_cold(struct touchlog *t);

/* What the files that were opened are called: t->files.  0 or -ENOMEM. */
int touchlog_find_names(struct touchlog *t);

/* The list, to descriptor fd.  0 or -errno, or TOUCHLOG_TOLD. */
int touchlog_write(struct touchlog *t, int fd);

#endif

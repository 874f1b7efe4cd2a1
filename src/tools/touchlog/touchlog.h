/*
 * touchlog.h - declarations shared by the parts of touchlog
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef COLDPRESS_TOUCHLOG_H
#define COLDPRESS_TOUCHLOG_H

#include "base/msg.h"
#include "measure/opens.h"
#include "measure/proc.h"

#include <stdbool.h>

enum touchlog_format { TOUCHLOG_TSV, TOUCHLOG_SORT, TOUCHLOG_LIST,
    TOUCHLOG_TIMES };

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

struct touchlog {
	struct msg msg;
	struct touchlog_options o;
	struct proc proc;
	int root;			/* directory, open */
	struct opens *opens;
};

/*
 * Parses the command line.  Returns -1, or the exit status if the program
 * should exit.
 */
int touchlog_parse(struct touchlog *t, int argc, char **argv);

/* Warns of filesystems below the root, which are not watched. */
void touchlog_warn_of_mounts(struct touchlog *t);

/* Evicts the root's files from memory.  Returns 0 or -errno. */
int touchlog_make_cold(struct touchlog *t);

/*
 * Writes the list of the files opened.  Returns 0, or MSG_ERROR after reporting
 * the error.
 */
int touchlog_write(struct touchlog *t);

#endif

/*
 * msg.h - messages on standard error, and the exit status of a tool
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only tools' main files use this; libraries return -errno and print nothing.
 * A struct msg belongs to the main thread.
 */
#ifndef COLDPRESS_MSG_H
#define COLDPRESS_MSG_H

#include <stdbool.h>

enum { MSG_OK = 0, MSG_ERROR = 1, MSG_WARNING = 2 };

struct msg {
	const char *prog;	/* name at the start of each line */
	bool quiet;		/* -q: do not print warnings */
	bool silent;		/* do not print errors either */
	int verbose;		/* number of -v options */
	int status;		/* exit status so far */
};

/* prog: argv[0]; only its last component is used, and it must outlive m. */
void msg_init(struct msg *m, const char *prog);

/*
 * Prints "prog: ", the message and a newline.  Control characters, which can
 * occur in file names, are written as \ooo (see utf8.h).  msg_error sets the
 * status to 1; msg_warn sets it to 2 unless it is already 1.  msg_note does not
 * change the status, and prints even if quiet is set.  msg_bare is msg_error
 * without "prog: ".
 */
void msg_error(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_bare(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_warn(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_note(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Prints a question and a blank, without a newline, even if quiet is set. */
void msg_ask(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Flushes and closes standard output, and reports an error if that fails.
 * Returns the exit status.
 */
int msg_finish(struct msg *m);

#endif

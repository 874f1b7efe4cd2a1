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
	int verbose;		/* how often -v was given */
	int status;		/* exit status so far */
};

/* prog: argv[0]; only its last component is used, and it must outlive m. */
void msg_init(struct msg *m, const char *prog);

/*
 * Prints a sentence, given without a newline, after "prog: ".  Control
 * characters in it (a file name may contain any) are written as \ooo (see
 * utf8.h).  msg_error sets the status to 1; msg_warn sets it to 2 unless it is
 * already 1: a warning never lowers an error.  msg_note does not change the
 * status, and is printed even with quiet.
 */
void msg_error(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_warn(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_note(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Asks a question, given without a trailing blank, even with quiet. */
void msg_ask(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Flushes and closes standard output; failure is reported as an error. Returns
 * the status.
 */
int msg_finish(struct msg *m);

#endif

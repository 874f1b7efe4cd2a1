/*
 * msg.h - what a tool says on standard error, and its exit status
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Only mains use this; libraries return -errno and say nothing.  A struct msg
 * belongs to the main thread.
 */
#ifndef COLDPRESS_MSG_H
#define COLDPRESS_MSG_H

#include <stdbool.h>

enum { MSG_OK = 0, MSG_ERROR = 1, MSG_WARNING = 2 };

struct msg {
	const char *prog;	/* the name that begins each line */
	bool quiet;		/* -q: warnings are not written */
	bool silent;		/* nor are errors */
	int verbose;		/* number of -v */
	int status;		/* the exit status so far */
};

/* prog: argv[0]; only its last component is kept, and it must outlive m. */
void msg_init(struct msg *m, const char *prog);

/*
 * A sentence without its newline, after "prog: ".  Control characters in it
 * (a file's name may hold any) are written as \ooo, as utf8.h has it.
 * msg_error makes the status 1; msg_warn makes it 2 unless it is 1 already: a
 * warning never lowers an error.  msg_note changes no status, and quiet does
 * not silence it.
 */
void msg_error(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_warn(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void msg_note(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A question without the blank at its end; it is asked also with quiet. */
void msg_ask(struct msg *m, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Flushes and closes standard output; a failure is an error. Returns status. */
int msg_finish(struct msg *m);

#endif

/*
 * winwait.h - declarations shared by the parts of winwait
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * The first thread runs the command (proc.h); a second thread, the watch, waits
 * for the window or the line and then ends the run.  Its results are read after
 * it has been joined.
 */
#ifndef COLDPRESS_WINWAIT_H
#define COLDPRESS_WINWAIT_H

#include "base/msg.h"
#include "measure/proc.h"

#include <pthread.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	WINWAIT_TIMEOUT = 124,
	WINWAIT_FAILED,
	WINWAIT_CANNOT_RUN,
	WINWAIT_NOT_FOUND
};

enum { IMAGES_MAX = 8, TEXT_B = 256 };

struct winwait_options {
	bool line;			/* wait for a line, not a window */
	bool csv, json, provenance;
	const char *match;		/* of the class or line; or NULL */
	const char *title, *error;	/* of titles; title may be NULL */
	const char *output;		/* file to append rows to, or NULL */
	double timeout_s, quiet_s, linger_s;
	const char *images[IMAGES_MAX];
	int image_count;
	char **command;
	int argc;			/* the complete command line */
	char **argv;
};

enum winwait_result {
	RESULT_NONE,			/* the command ended first */
	RESULT_SEEN,
	RESULT_ERROR_WINDOW,
	RESULT_LOST,			/* the connection to the X server was
					 * lost */
};

/* Times from sys_now_ns(); 0 if missing. */
struct winwait_seen {
	enum winwait_result result;
	uint64_t created_ns, mapped_ns;	/* for a window */
	uint64_t seen_ns;		/* window listed, or line read */
	uint64_t quiet_ns;		/* time of the last request to the
					 * images */
	char class[TEXT_B], title[TEXT_B];
	/* a window that was ignored because the process is not the command's */
	pid_t other_pid;		/* 0: none */
	char other_class[TEXT_B];
};

struct winwait_x;

struct winwait {
	struct msg msg;
	struct winwait_options o;
	regex_t match, title, error;	/* those of the options */
	struct proc proc;
	struct winwait_x *x;		/* NULL: not waiting for a window */
	int images[IMAGES_MAX];		/* statistics of block devices */
	int line[2];			/* pipe; -1 */

	pthread_t thread;
	int stop;			/* eventfd: the run has ended */
	struct winwait_seen seen;	/* written by the watch */
};

/*
 * Parses the command line.  Returns -1, or the exit status if the program
 * should exit.
 */
int winwait_parse(struct winwait *w, int argc, char **argv);

/*
 * Starts the watch; call it before starting the command.  Returns 0, or -1
 * after reporting the reason.
 */
int winwait_watch_start(struct winwait *w);

/* Stops the watch.  Afterwards, w->seen may be read. */
void winwait_watch_stop(struct winwait *w);

/*
 * Connects to the X server and selects the events of its root window; the
 * selection is in effect on return.  Returns 0, or -1 after reporting the
 * reason.
 */
int winwait_x_open(struct winwait *w);
void winwait_x_close(struct winwait_x *x);	/* may be NULL */

/* Returns a descriptor that is readable when there are events. */
int winwait_x_fd(const struct winwait_x *x);

/*
 * Processes all pending events, received at time `now`, and updates w->seen.
 */
void winwait_x_events(struct winwait *w, uint64_t now);

/*
 * Opens the request statistics of the devices in o.images.  Returns 0, or -1
 * after reporting the error.
 */
int winwait_quiet_open(struct winwait *w);

/* Writes the row.  Returns 0 or -errno. */
int winwait_write(struct winwait *w, const struct proc_run *r);

#endif

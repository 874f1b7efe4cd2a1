/*
 * winwait.c - start a program; report when its window or output line appears
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "winwait.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
winwait_failed(struct winwait *w, const char *what, int rc)
{
	msg_error(&w->msg, "%s: %s", what, strerror(-rc));
	return WINWAIT_FAILED;
}

/*
 * Runs the command while watching it.  Returns the exit status, or a negative
 * signal number.
 */
static int
run_command(struct winwait *w)
{
	struct proc_stage st = { .argv = w->o.command, .envp = environ };
	struct proc_run r = { .stages = &st, .count = 1, .in = -1,
		.out = STDERR_FILENO, .err = -1, .follow = true,
		.timeout_ns = (uint64_t)(w->o.timeout_s * 1e9) };
	const struct winwait_seen *s = &w->seen;
	int rc = proc_find(w->o.command[0], getenv("PATH"), &st.path);

	if (rc != 0) {
		winwait_failed(w, w->o.command[0], rc);
		return rc == -ENOENT ? WINWAIT_NOT_FOUND : rc == -EACCES ?
		    WINWAIT_CANNOT_RUN : WINWAIT_FAILED;
	}
	if (w->o.line && pipe2(w->line, O_CLOEXEC) == -1) {
		rc = winwait_failed(w, "pipe", -errno);
		goto out;
	}
	if ((!w->o.line && winwait_x_open(w) != 0) ||
	    winwait_quiet_open(w) != 0 || winwait_watch_start(w) != 0) {
		rc = WINWAIT_FAILED;
		goto out;
	}
	/* rows go to standard output, and the command's to standard error */
	if (w->o.line)
		r.out = w->line[1];
	rc = proc_run(&w->proc, &r);
	winwait_watch_stop(w);
	if (rc != 0) {
		winwait_failed(w, w->o.command[0], rc);
		rc = r.failed < 0 ? WINWAIT_FAILED : rc == -ENOENT ?
		    WINWAIT_NOT_FOUND : WINWAIT_CANNOT_RUN;
		goto out;
	}
	if (r.stopped != 0) {
		rc = -r.stopped;
		goto out;
	}
	if (s->result == RESULT_LOST)
		msg_error(&w->msg, "the X server closed the connection");
	rc = winwait_write(w, &r);
	if (rc != 0) {
		rc = winwait_failed(w, w->o.output != NULL ? w->o.output :
		    "standard output", rc);
		goto out;
	}
	/* say why no window may have been seen */
	if (!w->o.line && s->result == RESULT_NONE && s->other_pid != 0)
		msg_note(&w->msg, "a window of class '%s' was ignored: process "
		    "%d was not started by the command, which may have asked "
		    "it for the window", s->other_class, (int)s->other_pid);
	if (!w->o.line && s->result == RESULT_NONE &&
	    getenv("WAYLAND_DISPLAY") != NULL)
		msg_note(&w->msg, "a window on Wayland is not seen; "
		    "GDK_BACKEND=x11, QT_QPA_PLATFORM=xcb or "
		    "SDL_VIDEODRIVER=x11 lets a program use X11");
	switch (s->result) {
	case RESULT_SEEN: rc = 0; break;
	case RESULT_LOST: rc = WINWAIT_FAILED; break;
	default: rc = r.timed_out ? WINWAIT_TIMEOUT : MSG_ERROR;
	}
out:
	sys_free(st.path);
	return rc;
}

int
main(int argc, char *argv[])
{
	struct winwait w = { .line = { -1, -1 }, .stop = -1 };
	int status, rc;
	bool over;

	for (int i = 0; i < IMAGES_MAX; i++)
		w.images[i] = -1;
	msg_init(&w.msg, argv[0]);
	rc = proc_open(&w.proc);
	if (rc != 0) {
		msg_error(&w.msg, "commands cannot be run: %s",
		    strerror(-rc));
		return WINWAIT_FAILED;
	}
	status = winwait_parse(&w, argc, argv);
	over = status >= 0;
	if (!over)
		status = run_command(&w);
	winwait_x_close(w.x);
	for (int i = 0; i < w.o.image_count; i++)
		if (w.images[i] >= 0)
			sys_close(w.images[i]);
	for (int i = 0; i < 2; i++)
		if (w.line[i] >= 0)
			sys_close(w.line[i]);
	regfree(&w.match);
	regfree(&w.title);
	regfree(&w.error);
	/* If stopped by a signal, terminate by the same signal. */
	if (status < 0)
		proc_raise(-status);
	proc_close(&w.proc);
	if (over)
		return status;
	return msg_finish(&w.msg) == MSG_ERROR && status == 0 ?
	    WINWAIT_FAILED : status;
}

/*
 * msg.c - messages on standard error, and the exit status of a tool
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/msg.h"

#include "base/path.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
msg_init(struct msg *m, const char *prog)
{
	*m = (struct msg){ .prog = prog == NULL ? "coldpress" :
		path_name(prog) };
}

/*
 * Writes each line with one call, so that lines from several processes do not
 * mix.
 */
static void __attribute__((format(printf, 2, 0)))
say(const char *prog, const char *fmt, va_list ap, const char *end)
{
	char text[8192], line[4 * sizeof(text) + UTF8_SAFE];
	const char *s = text;
	size_t n = 0;

	vsnprintf(text, sizeof(text), fmt, ap);
	while (*s != '\0')
		n += utf8_safe(&s, line + n);
	line[n] = '\0';
	fprintf(stderr, "%s%s%s%s", prog, *prog == '\0' ? "" : ": ", line,
	    end);
}

void
msg_error(struct msg *m, const char *fmt, ...)
{
	va_list ap;

	m->status = MSG_ERROR;
	if (m->silent)
		return;
	va_start(ap, fmt);
	say(m->prog, fmt, ap, "\n");
	va_end(ap);
}

void
msg_bare(struct msg *m, const char *fmt, ...)
{
	va_list ap;

	m->status = MSG_ERROR;
	if (m->silent)
		return;
	va_start(ap, fmt);
	say("", fmt, ap, "\n");
	va_end(ap);
}

void
msg_warn(struct msg *m, const char *fmt, ...)
{
	va_list ap;

	if (m->status != MSG_ERROR)
		m->status = MSG_WARNING;
	if (m->quiet)
		return;
	va_start(ap, fmt);
	say(m->prog, fmt, ap, "\n");
	va_end(ap);
}

void
msg_note(struct msg *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(m->prog, fmt, ap, "\n");
	va_end(ap);
}

void
msg_ask(struct msg *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(m->prog, fmt, ap, " ");
	va_end(ap);
}

int
msg_finish(struct msg *m)
{
	/*
	 * A full disk is noticed only when the buffer is flushed or the
	 * descriptor is closed.  If nothing was written, EBADF is not an error:
	 * standard output may have been closed from the start.
	 */
	if (fflush(stdout) != 0 || ferror(stdout) ||
	    (fclose(stdout) != 0 && errno != EBADF))
		msg_error(m, "standard output: %s", strerror(errno));
	return m->status;
}

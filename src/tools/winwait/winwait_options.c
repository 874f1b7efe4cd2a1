/*
 * winwait_options.c - the command line of winwait
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "winwait.h"

#include "base/options.h"

#include <stdio.h>

static void
show_winwait_parts(void)
{
#if defined(COLDPRESS_XCB_RES)
	puts("libxcb " COLDPRESS_XCB "\nlibxcb-res " COLDPRESS_XCB_RES);
#elif defined(COLDPRESS_XCB)
	puts("libxcb " COLDPRESS_XCB "\nno libxcb-res: "
	    "processes are known by _NET_WM_PID only");
#else
	puts("no libxcb: lines only");
#endif
}

/* Compiles the expression of an option.  Returns whether it is valid. */
static bool
compile(struct winwait *w, const char *text, regex_t *regex)
{
	char why[128];
	int rc = text == NULL ? 0 :
	    regcomp(regex, text, REG_EXTENDED | REG_NOSUB);

	if (rc == 0)
		return true;
	regerror(rc, regex, why, sizeof(why));
	*regex = (regex_t){ 0 };
	msg_error(&w->msg, "'%s': %s", text, why);
	return false;
}

static int
add_image(void *into)
{
	struct winwait *w = into;

	if (w->o.image_count < IMAGES_MAX) {
		w->o.images[w->o.image_count++] = optarg;
		return -1;
	}
	msg_error(&w->msg, "more than %d images", IMAGES_MAX);
	return WINWAIT_FAILED;
}

static const char winwait_usage[] =
"usage: winwait [-hV] [--criterion window|line] [--class regex]\n"
"               [--title regex] [--match regex] [--error regex] [-t seconds]\n"
"               [--image path] [--quiet-for seconds] [--linger seconds]\n"
"               [--csv|--json] [-o file] [--provenance] -- command ...\n";

static const char winwait_about[] =
"Starts the command, waits for its first window, kills everything that it has\n"
"started, and reports when the window appeared.\n";

#define OPTIONS_INTO struct winwait

static const struct options_row winwait_table[] = {
	{ 0, "criterion", "WHAT", "window (default), or line: a line on "
	    "standard output",
	    OPTIONS_NAME(o.line, "criterion", "window or line") },
	{ 0, "class", "REGEX", "class of the window, instance.class "
	    "(default: any)", OPTIONS_TEXT(o.match) },
	{ 0, "title", "REGEX", "title of the window (default: any)",
	    OPTIONS_TEXT(o.title) },
	{ 0, "match", "REGEX", "the line to wait for (default: any)",
	    OPTIONS_TEXT(o.match) },
	{ 0, "error", "REGEX", "window title that means failure (default: "
	    "[Ee]rror|[Ff]ail|ERROR|FAIL)", OPTIONS_TEXT(o.error) },
	{ 0, "image", "PATH", "then wait until the device of this mount has "
	    "had no request for --quiet-for seconds; may be repeated",
	    OPTIONS_CALL(add_image) },
	{ 0, "quiet-for", "S", "time without requests (default: 0.5)",
	    OPTIONS_SECONDS(o.quiet_s, "time") },
	{ 0, "linger", "S", "keep the command running for S seconds "
	    "afterwards", OPTIONS_SECONDS(o.linger_s, "time") },
	{ 't', "timeout", "S", "give up after S seconds (default: 60)",
	    OPTIONS_SECONDS(o.timeout_s, "time-out") },
	{ 0, "csv", NULL, "", OPTIONS_FLAG(o.csv) },
	{ 0, "json", NULL, "write a row instead of a line of text",
	    OPTIONS_FLAG(o.json) },
	{ 0, "provenance", NULL, "write provenance as comments between the "
	    "rows of CSV, not to FILE.provenance", OPTIONS_FLAG(o.provenance) },
	{ 'o', "output", "FILE", "append the row to FILE, as CSV unless "
	    "--json", OPTIONS_TEXT(o.output) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; versions",
	    OPTIONS_VERSION("winwait", show_winwait_parts) },
};

int
winwait_parse(struct winwait *w, int argc, char **argv)
{
	struct options options = { .msg = &w->msg, .into = w,
	    OPTIONS_TABLE(winwait_table), .usage = winwait_usage,
	    .about = winwait_about, .scan = "+" };
	int status;

	w->o = (struct winwait_options){ .timeout_s = 60, .quiet_s = 0.5,
		.argc = argc, .argv = argv,
		.error = "[Ee]rror|[Ff]ail|ERROR|FAIL" };
	status = options_parse(&options, argc, argv);
	w->o.command = argv + optind;
	if (status < 0 && (!compile(w, w->o.match, &w->match) ||
	    !compile(w, w->o.title, &w->title) ||
	    !compile(w, w->o.error, &w->error)))
		status = WINWAIT_FAILED;
	if (status < 0 && w->o.csv && w->o.json) {
		msg_error(&w->msg, "--csv and --json cannot be combined");
		status = WINWAIT_FAILED;
	}
	if (status < 0 && optind == argc) {
		options_usage(winwait_usage);
		status = WINWAIT_FAILED;
	}
	return status == MSG_ERROR ? WINWAIT_FAILED : status;
}

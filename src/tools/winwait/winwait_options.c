/*
 * winwait_options.c - the command line of winwait
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "winwait.h"

#include "base/args.h"
#include "base/options.h"

#include <stdio.h>
#include <string.h>

enum { OPT_CLASS = 256, OPT_CRITERION, OPT_CSV, OPT_ERROR, OPT_IMAGE, OPT_JSON,
    OPT_LINGER, OPT_MATCH, OPT_QUIET, OPT_TITLE };

static const struct option longs[] = {
	{ "class", required_argument, NULL, OPT_CLASS },
	{ "criterion", required_argument, NULL, OPT_CRITERION },
	{ "csv", no_argument, NULL, OPT_CSV },
	{ "error", required_argument, NULL, OPT_ERROR },
	{ "help", no_argument, NULL, 'h' },
	{ "image", required_argument, NULL, OPT_IMAGE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "linger", required_argument, NULL, OPT_LINGER },
	{ "match", required_argument, NULL, OPT_MATCH },
	{ "output", required_argument, NULL, 'o' },
	{ "quiet-for", required_argument, NULL, OPT_QUIET },
	{ "timeout", required_argument, NULL, 't' },
	{ "title", required_argument, NULL, OPT_TITLE },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: winwait [-hV] [--criterion window|line] [--class regex]\n"
"               [--title regex] [--match regex] [--error regex] [-t seconds]\n"
"               [--image path] [--quiet-for seconds] [--linger seconds]\n"
"               [--csv|--json] [-o file] -- command ...\n";

static const char help[] =
"\n"
"Starts the command, waits for its first window, kills everything that it has\n"
"started, and reports when the window appeared.\n"
"\n"
"  --criterion WHAT  window (default), or line: a line on standard output\n"
"  --class REGEX     class of the window, instance.class (default: any)\n"
"  --title REGEX     title of the window (default: any)\n"
"  --match REGEX     the line to wait for (default: any)\n"
"  --error REGEX     window title that means failure\n"
"                    (default: [Ee]rror|[Ff]ail|ERROR|FAIL)\n"
"  --image PATH      then wait until the device of this mount has had no\n"
"                    request for --quiet-for seconds; may be repeated\n"
"  --quiet-for S     time without requests (default: 0.5)\n"
"  --linger S        keep the command running for S seconds afterwards\n"
"  -t, --timeout S   give up after S seconds (default: 60)\n"
"  --csv, --json     write a row instead of a line of text\n"
"  -o, --output FILE append the row to FILE, as CSV unless --json\n"
"  -h, -V            this help; versions\n";

static int
show_version(struct winwait *w)
{
#if defined(COLDPRESS_XCB_RES)
	printf("winwait (coldpress) %s\nlibxcb %s\nlibxcb-res %s\n",
	    COLDPRESS_VERSION, COLDPRESS_XCB, COLDPRESS_XCB_RES);
#elif defined(COLDPRESS_XCB)
	printf("winwait (coldpress) %s\nlibxcb %s\nno libxcb-res: "
	    "processes are known by _NET_WM_PID only\n", COLDPRESS_VERSION,
	    COLDPRESS_XCB);
#else
	printf("winwait (coldpress) %s\nno libxcb: lines only\n",
	    COLDPRESS_VERSION);
#endif
	return msg_finish(&w->msg);
}

static int
set_regex(struct winwait *w, regex_t *regex)
{
	char why[128];
	int rc;

	regfree(regex);
	rc = regcomp(regex, optarg, REG_EXTENDED | REG_NOSUB);
	if (rc == 0)
		return -1;
	regerror(rc, regex, why, sizeof(why));
	*regex = (regex_t){ 0 };
	msg_error(&w->msg, "'%s': %s", optarg, why);
	return WINWAIT_FAILED;
}

static int
set_match(struct winwait *w)
{
	w->has_match = true;
	return set_regex(w, &w->match);
}

static int
set_title(struct winwait *w)
{
	w->has_title = true;
	return set_regex(w, &w->title);
}

static int
set_seconds(struct winwait *w, const char *what, double *value)
{
	return args_real(optarg, 0.001, 1e8, value) == 0 ? -1 :
	    options_bad(&w->msg, what, "a number of seconds above 0.001");
}

static int
set_criterion(struct winwait *w)
{
	w->o.line = strcmp(optarg, "line") == 0;
	return w->o.line || strcmp(optarg, "window") == 0 ? -1 :
	    options_bad(&w->msg, "criterion", "window or line");
}

static int
add_image(struct winwait *w)
{
	if (w->o.image_count < IMAGES_MAX) {
		w->o.images[w->o.image_count++] = optarg;
		return -1;
	}
	msg_error(&w->msg, "more than %d images", IMAGES_MAX);
	return WINWAIT_FAILED;
}

/* Returns -1, or the exit status. */
static int
take(struct winwait *w, int opt)
{
	struct winwait_options *o = &w->o;

	switch (opt) {
	case 'h': return options_help(&w->msg, usage, help);
	case 'o': o->output = optarg; break;
	case 't': return set_seconds(w, "time-out", &o->timeout_s);
	case 'V': return show_version(w);
	case OPT_CLASS:
	case OPT_MATCH: return set_match(w);
	case OPT_CRITERION: return set_criterion(w);
	case OPT_CSV: o->csv = true; break;
	case OPT_ERROR: return set_regex(w, &w->error);
	case OPT_IMAGE: return add_image(w);
	case OPT_JSON: o->json = true; break;
	case OPT_LINGER: return set_seconds(w, "time", &o->linger_s);
	case OPT_QUIET: return set_seconds(w, "time", &o->quiet_s);
	case OPT_TITLE: return set_title(w);
	default: return WINWAIT_FAILED;
	}
	return -1;
}

int
winwait_parse(struct winwait *w, int argc, char **argv)
{
	int ch, status = -1;

	w->o = (struct winwait_options){ .timeout_s = 60, .quiet_s = 0.5,
		.argc = argc, .argv = argv };
	regcomp(&w->error, "[Ee]rror|[Ff]ail|ERROR|FAIL",
	    REG_EXTENDED | REG_NOSUB);
	while (status < 0 && (ch = options_next(&w->msg, argc, argv,
	    "+ho:t:V", longs)) != -1)
		status = take(w, ch);
	w->o.command = argv + optind;
	if (status < 0 && w->o.csv && w->o.json) {
		msg_error(&w->msg, "--csv and --json cannot be combined");
		status = WINWAIT_FAILED;
	}
	if (status < 0 && optind == argc) {
		options_usage(usage);
		status = WINWAIT_FAILED;
	}
	return status == MSG_ERROR ? WINWAIT_FAILED : status;
}

/*
 * touchlog_options.c - the command line of touchlog
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "touchlog.h"

#include "base/options.h"

#include <stdio.h>
#include <string.h>

static const char touchlog_usage[] =
"usage: touchlog [-0fhqV] [--root dir] [--pages] [--exact]\n"
"                [--format tsv|sort|list|times] [-o file] -- command ...\n";

static const char touchlog_about[] =
"Runs the command and lists the files that it opens, in order of first use.\n"
"Requires root.\n";

#define OPTIONS_INTO struct touchlog

static const struct options_row touchlog_table[] = {
	{ '0', "null", NULL, "end lines with NUL, not newline",
	    OPTIONS_FLAG(o.null_lines) },
	{ 0, "exact", NULL, "run on a copy of DIR, read page by page; implies "
	    "--pages", OPTIONS_FLAG(o.exact), OPTIONS_GIVEN(o.pages) },
	{ 0, "format", "FORMAT", "tsv (default): number, path, offset_B, "
	    "length_B; sort: for mksquashfs -sort; list: paths; times: tsv "
	    "and seconds", OPTIONS_NAME(o.format, "format",
	    "tsv, sort, list or times") },
	{ 'o', "output", "FILE", "write the list to FILE instead of standard "
	    "output, which is then left to the command",
	    OPTIONS_TEXT(o.output) },
	{ 'f', "force", NULL, "replace FILE", OPTIONS_FLAG(o.force) },
	{ 0, "pages", NULL, "list the parts of each file that were read into "
	    "memory", OPTIONS_FLAG(o.pages) },
	{ 'q', "quiet", NULL, "do not report how exact and complete the list "
	    "is", OPTIONS_FLAG(msg.quiet) },
	{ 0, "root", "DIR", "the tree whose files are listed (default: /)",
	    OPTIONS_TEXT(o.root) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; version",
	    OPTIONS_VERSION("touchlog", NULL) },
};

int
touchlog_parse(struct touchlog *t, int argc, char **argv)
{
	struct options options = { .msg = &t->msg, .into = t,
	    OPTIONS_TABLE(touchlog_table), .usage = touchlog_usage,
	    .about = touchlog_about, .scan = "+" };
	const struct touchlog_options *o = &t->o;
	const char *wrong = NULL;
	int status;

	t->o = (struct touchlog_options){ .root = "/" };
	status = options_parse(&options, argc, argv);
	if (status >= 0)
		return status;
	t->o.command = argv + optind;
	if (o->command[0] == NULL)
		return options_usage(touchlog_usage);
	if (o->pages && o->format != TOUCHLOG_TSV)
		wrong = "--pages requires --format tsv: other formats list "
		    "whole files";
	else if (o->exact && strcmp(o->root, "/") == 0)
		wrong = "--exact requires --root with a directory: / cannot be "
		    "replaced";
	else if (o->null_lines && o->format == TOUCHLOG_SORT)
		wrong = "-0 cannot be combined with --format sort: mksquashfs "
		    "does not accept NUL";
	return wrong == NULL ? -1 : options_wrong(&t->msg, wrong);
}

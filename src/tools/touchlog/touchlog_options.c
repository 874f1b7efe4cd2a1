/*
 * touchlog_options.c - the command line of touchlog
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "touchlog.h"

#include "base/options.h"

#include <stdio.h>
#include <string.h>

enum { OPT_EXACT = 256, OPT_FORMAT, OPT_PAGES, OPT_ROOT };

static const struct option longs[] = {
	{ "exact", no_argument, NULL, OPT_EXACT },
	{ "force", no_argument, NULL, 'f' },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "help", no_argument, NULL, 'h' },
	{ "null", no_argument, NULL, '0' },
	{ "output", required_argument, NULL, 'o' },
	{ "pages", no_argument, NULL, OPT_PAGES },
	{ "quiet", no_argument, NULL, 'q' },
	{ "root", required_argument, NULL, OPT_ROOT },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static const char usage[] =
"usage: touchlog [-0fhqV] [--root dir] [--pages] [--exact]\n"
"                [--format tsv|sort|list] [-o file] -- command ...\n";

static const char help[] =
"\n"
"Runs the command and lists the files that it opens, in order of first use.\n"
"Requires root.\n"
"\n"
"  -0, --null          end lines with NUL, not newline\n"
"  --exact             run on a copy of DIR, read page by page; implies\n"
"                      --pages\n"
"  --format FORMAT     tsv (default): number, path, offset_B, length_B;\n"
"                      sort: for mksquashfs -sort; list: paths\n"
"  -o, --output FILE   write the list to FILE instead of standard output,\n"
"                      which is then left to the command\n"
"  -f, --force         replace FILE\n"
"  --pages             list the parts of each file that were read into memory\n"
"  -q, --quiet         do not report how exact and complete the list is\n"
"  --root DIR          the tree whose files are listed (default: /)\n"
"  -h, -V              this help; version\n";

static int
show_version(struct touchlog *t)
{
	printf("touchlog (coldpress) %s\n", COLDPRESS_VERSION);
	return msg_finish(&t->msg);
}

static int
set_format(struct touchlog *t)
{
	static const char *const names[] = { [TOUCHLOG_TSV] = "tsv",
		[TOUCHLOG_SORT] = "sort", [TOUCHLOG_LIST] = "list" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(optarg, names[i]) == 0) {
			t->o.format = (enum touchlog_format)i;
			return -1;
		}
	return options_bad(&t->msg, "format", "tsv, sort or list");
}

static int
take(struct touchlog *t, int opt)
{
	struct touchlog_options *o = &t->o;

	switch (opt) {
	case '0': o->null_lines = true; break;
	case 'f': o->force = true; break;
	case 'h': return options_help(&t->msg, usage, help);
	case 'o': o->output = optarg; break;
	case 'q': t->msg.quiet = true; break;
	case 'V': return show_version(t);
	case OPT_EXACT: o->exact = o->pages = true; break;
	case OPT_FORMAT: return set_format(t);
	case OPT_PAGES: o->pages = true; break;
	case OPT_ROOT: o->root = optarg; break;
	default: return MSG_ERROR;
	}
	return -1;
}

static int
check(struct touchlog *t)
{
	const struct touchlog_options *o = &t->o;
	const char *wrong = NULL;

	if (o->command[0] == NULL)
		return options_usage(usage);
	if (o->pages && o->format != TOUCHLOG_TSV)
		wrong = "--pages requires --format tsv: other formats list "
		    "whole files";
	else if (o->exact && strcmp(o->root, "/") == 0)
		wrong = "--exact requires --root with a directory: / cannot be "
		    "replaced";
	else if (o->null_lines && o->format == TOUCHLOG_SORT)
		wrong = "-0 cannot be combined with --format sort: mksquashfs "
		    "does not accept NUL";
	if (wrong == NULL)
		return -1;
	msg_error(&t->msg, "%s", wrong);
	return MSG_ERROR;
}

int
touchlog_parse(struct touchlog *t, int argc, char **argv)
{
	int ch, status = -1;

	t->o = (struct touchlog_options){ .root = "/" };
	while (status < 0 && (ch = options_next(&t->msg, argc, argv,
	    "+0fho:qV", longs)) != -1)
		status = take(t, ch);
	if (status >= 0)
		return status;
	t->o.command = argv + optind;
	return check(t);
}

/*
 * as_unsquashfs.c - the command line of unsquashfs
 * SPDX-License-Identifier: BSD-2-Clause
 *
 * Supports the options of unsquashfs 4.5.1.
 */
#include "as.h"

#include "base/cpus.h"
#include "base/options.h"
#include "base/sys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PARTLY = 2 };

enum { FORCE, CAT, DEST, EXTRACT_FILE, HELP, IGNORED, IGNORED_VALUE, INFO,
    LACKS, LINFO, LIST, LIST_CONCISE, LONG_CONCISE, LONG_LIST, LONG_NUMERIC,
    NO_EXIT_CODE, NO_PROGRESS, NO_WILDCARDS, NO_XATTRS, OFFSET, PROCESSORS,
    QUIET, REGEX, STAT, TIME, USER_XATTRS, UTC, VERSION, XATTRS };

static const struct as_option options[] = {
	{ "-UTC", NULL, false, UTC },
	{ "-cat", NULL, false, CAT },
	{ "-data-queue", "-da", true, IGNORED_VALUE },
	{ "-dest", "-d", true, DEST },
	{ "-exclude-file", "-excf", false, LACKS },
	{ "-exc", NULL, false, LACKS },
	{ "-exclude-list", "-ex", false, LACKS },
	{ "-excludes", NULL, false, LACKS },
	{ "-extract-file", "-ef", true, EXTRACT_FILE },
	{ "-e", NULL, true, EXTRACT_FILE },
	{ "-follow-symlinks", "-follow", false, LACKS },
	{ "-L", NULL, false, LACKS },
	{ "-force", "-f", false, FORCE },
	{ "-frag-queue", "-fr", true, IGNORED_VALUE },
	{ "-fstime", "-mkfs-time", false, TIME },
	{ "-help", "-h", false, HELP },
	{ "-ignore-errors", "-ig", false, IGNORED },
	{ "-info", "-i", false, INFO },
	{ "-lc", NULL, false, LIST_CONCISE },
	{ "-linfo", "-li", false, LINFO },
	{ "-llc", NULL, false, LONG_CONCISE },
	{ "-lls", "-ll", false, LONG_LIST },
	{ "-llnumeric", "-lln", false, LONG_NUMERIC },
	{ "-ls", "-l", false, LIST },
	{ "-max-depth", "-max", false, LACKS },
	{ "-missing-symlinks", "-missing", false, LACKS },
	{ "-no-exit-code", "-no-exit", false, NO_EXIT_CODE },
	{ "-no-progress", "-n", false, NO_PROGRESS },
	{ "-no-wildcards", "-no-wild", false, NO_WILDCARDS },
	{ "-no-xattrs", "-no", false, NO_XATTRS },
	{ "-offset", "-o", true, OFFSET },
	{ "-processors", "-p", true, PROCESSORS },
	{ "-pseudo-file", "-pf", false, LACKS },
	{ "-quiet", "-q", false, QUIET },
	{ "-regex", "-r", false, REGEX },
	{ "-stat", "-s", false, STAT },
	{ "-strict-errors", "-st", false, LACKS },
	{ "-user-xattrs", "-u", false, USER_XATTRS },
	{ "-version", "-v", false, VERSION },
	{ "-xattrs", "-x", false, XATTRS },
	{ NULL, NULL, false, 0 }
};

static const char usage[] =
"SYNTAX: unsquashfs [OPTIONS] FILESYSTEM [files to extract or list]\n";

static const char help[] =
"This is sqpack, standing in for unsquashfs 4.5.1.\n"
"\n"
"  -d[est] DIR            extract to DIR (squashfs-root)\n"
"  -f[orce]               replace files\n"
"  -n[o-progress], -q[uiet], -i[nfo], -li[nfo]\n"
"  -p[rocessors] N        threads\n"
"  -u[ser-xattrs], -x[attrs], -no[-xattrs]\n"
"  -l[s], -ll[s], -lln[umeric], -lc, -llc    list, in various formats\n"
"  -s[tat]                describe the image\n"
"  -mkfs-time             print the creation time (seconds since 1970)\n"
"  -cat                   write files to standard output\n"
"  -ef, -e FILE           names to extract, one per line\n"
"  -no-wild[cards]        names are not patterns\n"
"  -r[egex]               names are regular expressions\n"
"  -o[ffset] BYTES        offset of the image in the file\n"
"  -no-exit[-code]        exit with 0 even if some names were left out\n"
"  -UTC                   times in UTC\n"
"  -v[ersion], -h[elp]\n";

static void
set_list(struct sqpack *p, bool is_long, bool concise, bool numeric)
{
	struct as_unsquashfs *u = p->o.as;

	p->o.task = as_unsquashfs_list;
	u->is_long = is_long;
	u->concise = concise;
	u->numeric = numeric;
}

static int
take_option(struct sqpack *p, const struct as_words *w, int id)
{
	struct sqpack_options *o = &p->o;
	struct as_unsquashfs *u = o->as;

	switch (id) {
	case AS_WRONG: return options_usage(usage);
	case CAT: o->task = sqpack_cat; break;
	case STAT: o->task = as_unsquashfs_stat; break;
	case TIME: o->task = as_unsquashfs_time; break;
	case LIST: set_list(p, false, false, false); break;
	case LIST_CONCISE: set_list(p, false, true, false); break;
	case LONG_LIST: set_list(p, true, false, false); break;
	case LONG_NUMERIC: set_list(p, true, false, true); break;
	case LONG_CONCISE: set_list(p, true, true, false); break;
	case INFO: u->info = true; break;
	case LINFO: u->info = u->is_long = true; break;
	case UTC: u->utc = true; break;
	case QUIET: u->quiet = true; break;
	case NO_EXIT_CODE: u->no_exit_code = true; break;
	case DEST: o->directory = w->value; break;
	case EXTRACT_FILE:
		return as_lines(p, &u->names, w->value) == 0 ? -1 : MSG_ERROR;
	case FORCE: o->force = true; break;
	case HELP: return options_help(&p->msg, usage, help);
	case LACKS: return as_lacks(&p->msg, w->word, "unsquashfs");
	case NO_PROGRESS: p->msg.quiet = true; break;
	case NO_WILDCARDS: o->plain_names = true; break;
	case NO_XATTRS: o->no_xattrs = true; break;
	case OFFSET:
		o->from.has_offset = true;
		return as_offset(p, w, &o->from.offset);
	case PROCESSORS: return as_threads(p, w);
	case REGEX: o->regex = true; break;
	case USER_XATTRS: o->user_xattrs = true; break;
	case VERSION:
		/* as in the original, the other words still count */
		u->version = true;
		printf("unsquashfs version 4.5.1 (2022/03/17)\n"
		    "This is sqpack (coldpress) %s, standing in for it.\n",
		    COLDPRESS_VERSION);
		fflush(stdout);
		break;
	case XATTRS: o->no_xattrs = o->user_xattrs = false; break;
	default: break;
	}
	return -1;
}

/* Removes slashes at the ends of a name, and all but one between components. */
static void
tidy(char *name)
{
	char *to = name;

	for (const char *s = name; *s != '\0'; s++)
		if (*s != '/' || (to > name && s[1] != '/' && s[1] != '\0'))
			*to++ = *s;
	*to = '\0';
}

/* Parses the words after the options: the image, and names in it. */
static int
take_names(struct sqpack *p, struct as_words *w)
{
	struct sqpack_options *o = &p->o;
	struct as_unsquashfs *u = o->as;

	if (w->at == w->argc && u->version) {
		msg_finish(&p->msg);
		return MSG_ERROR;	/* as the original does */
	}
	if (w->at == w->argc) {
		msg_error(&p->msg, "expected an image");
		return options_usage(usage);
	}
	o->source = w->argv[w->at++];
	for (; w->at < w->argc; w->at++)
		if (as_texts_add(p, &u->names, w->argv[w->at],
		    strlen(w->argv[w->at])) != 0)
			return MSG_ERROR;
	if (o->task == sqpack_cat && u->names.count == 0) {
		msg_error(&p->msg, "-cat requires the names of files");
		return options_usage(usage);
	}
	for (size_t i = 0; i < u->names.count; i++) {
		char *name = u->names.items[i];

		if (name[strspn(name, "/")] == '\0') {
			msg_error(&p->msg, "expected a name in the image, "
			    "found '%s'", name);
			return MSG_ERROR;
		}
		tidy(name);
		if (!o->plain_names && !o->regex &&
		    !as_can_match(&p->msg, name))
			return MSG_ERROR;
	}
	o->names = u->names.items;
	o->name_count = u->names.count;
	if (o->task == as_unsquashfs_list || o->task == as_unsquashfs_extract) {
		o->globs = u->names.items;
		o->glob_count = u->names.count;
	}
	return -1;
}

static void
release(struct sqpack *p)
{
	struct as_unsquashfs *u = p->o.as;

	as_texts_free(&u->names);
	sys_free(u);
}

/*
 * Returns the exit status: 2 if any names were omitted, or 1 if the image
 * cannot be read.
 */
static int
status_of(const struct sqpack *p, int rc)
{
	const struct as_unsquashfs *u = p->o.as;

	if (rc != 0 || p->msg.status != MSG_ERROR)
		return p->msg.status;
	return u->no_exit_code ? MSG_OK : PARTLY;
}

int
as_unsquashfs_parse(struct sqpack *p, int argc, char **argv)
{
	struct as_words w = { .argc = argc, .argv = argv, .at = 1 };
	int id, status = -1;

	msg_init(&p->msg, argv[0]);
	p->o.as = sys_calloc(1, sizeof(struct as_unsquashfs));
	if (p->o.as == NULL) {
		msg_error(&p->msg, "%s", strerror(ENOMEM));
		return MSG_ERROR;
	}
	p->o.release = release;
	p->o.status_of = status_of;
	p->o.task = as_unsquashfs_extract;
	p->o.directory = "squashfs-root";
	p->o.missing_is_fine = true;
	while (status < 0 && (id = as_next(&p->msg, &w, options)) != AS_END)
		status = take_option(p, &w, id);
	if (status < 0)
		status = take_names(p, &w);
	p->o.data.threads = cpus_choose(p->o.data.threads, AS_THREADS_MAX);
	return status;
}

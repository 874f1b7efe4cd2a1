/*
 * pzseek_options.c - the command line of pzseek
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzseek.h"

#include "base/cpus.h"
#include "base/options.h"

#include <stdio.h>
#include <string.h>

enum { THREADS_MAX = 4096, SPACING_LEAST = 64 << 10 };

static const char pzseek_usage[] =
"usage: pzseek [-fqv] [-o file] [-p threads] [--index file] [--no-index]\n"
"           [--from-start] [--memory size] [--verify] file range ...\n"
"       pzseek [-fqv] [-p threads] [--index file] [--memory size]\n"
"           --make-index [--spacing size] file\n"
"       pzseek [-f] [-o file] --seek-table file ...\n"
"       pzseek [--json] -l file\n";

static const char pzseek_about[] =
"Writes ranges of the data in a compressed file, without decompressing\n"
"everything before them.\n";

#define OPTIONS_INTO struct pzseek

static const struct options_row pzseek_table[] = {
	{ 0, NULL, "range", "OFFSET:LENGTH, OFFSET: (to the end), :LENGTH, "
	    "-N: (the last N bytes), -N:LENGTH; K, M, G, T", OPTIONS_NOTE },
	{ 'o', "output", "FILE", "write to FILE", OPTIONS_TEXT(output) },
	{ 'p', "processes", "N", "number of threads (default: usable CPUs)",
	    OPTIONS_THREADS(convert.options.threads, THREADS_MAX) },
	{ 0, "memory", "SIZE", "use fewer threads rather than more memory",
	    OPTIONS_SIZE(convert.memory, "size") },
	{ 0, "verify", NULL, "decompress up to the next checksum",
	    OPTIONS_FLAG(verify) },
	{ 0, "from-start", NULL, "use no table or index; decompress from the "
	    "start", OPTIONS_FLAG(from_start) },
	{ 0, "make-index", NULL, "make a side index for a gzip file",
	    OPTIONS_FLAG(make_index) },
	{ 0, "spacing", "SIZE", "distance between index points (4M)",
	    OPTIONS_SIZE_IN(spacing, "spacing", SPACING_LEAST, INT64_MAX,
	    "64K or more") },
	{ 0, "seek-table", NULL, "write the seek table of zstd files that are "
	    "to be joined", OPTIONS_FLAG(seek_table) },
	{ 0, "index", "FILE", "use this index instead of file.pzi",
	    OPTIONS_TEXT(index) },
	{ 0, "no-index", NULL, "do not look for an index",
	    OPTIONS_FLAG(no_index) },
	{ 'l', "list", NULL, "list sizes, and how ranges are located (--json)",
	    OPTIONS_FLAG(list) },
	{ 0, "json", NULL, NULL, OPTIONS_FLAG(json) },
	{ 'f', "force", NULL, "overwrite", OPTIONS_FLAG(force) },
	{ 'q', "quiet", NULL, "", OPTIONS_FLAG(msg.quiet),
	    .also = "silent" },
	{ 'v', "verbose", NULL, "be quiet, or verbose",
	    OPTIONS_COUNT(msg.verbose) },
	{ 'h', "help", NULL, "", OPTIONS_HELP },
	{ 'V', "version", NULL, "this help; version",
	    OPTIONS_VERSION("pzseek", NULL) },
};

/* Options end at the file: a range may begin with a dash. */
int
pzseek_parse(struct pzseek *p, int argc, char **argv)
{
	struct options options = { .msg = &p->msg, .into = p,
	    OPTIONS_TABLE(pzseek_table), .usage = pzseek_usage,
	    .about = pzseek_about, .scan = "+" };
	int status = options_parse(&options, argc, argv);

	if (status >= 0)
		return status;
	if (p->output != NULL && strcmp(p->output, "-") == 0)
		p->output = NULL;
	p->convert.options.threads = cpus_choose(p->convert.options.threads,
	    THREADS_MAX);
	if (p->seek_table && !p->list && !p->make_index && optind < argc) {
		p->ranges = argv + optind;
		p->range_count = argc - optind;
		return -1;
	}
	p->ranges = argv + optind + 1;
	p->range_count = argc - optind - 1;
	if (p->range_count == 0 && !p->list && !p->make_index) {
		msg_error(&p->msg, "a range is missing after %s "
		    "(OFFSET:LENGTH)", argv[optind]);
		return MSG_ERROR;
	}
	if (p->range_count < 0 ||
	    (p->range_count == 0) != (p->list || p->make_index) ||
	    (p->list && p->make_index) || p->seek_table)
		return options_usage(pzseek_usage);
	p->path = argv[optind];
	for (int i = 0; i < p->range_count; i++) {
		struct seek_range r;

		if (seek_parse(p->ranges[i], &r) != 0) {
			msg_error(&p->msg,
			    "'%s' is not a range (OFFSET:LENGTH)", p->ranges[i]);
			return MSG_ERROR;
		}
	}
	return -1;
}

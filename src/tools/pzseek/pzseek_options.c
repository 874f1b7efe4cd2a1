/*
 * pzseek_options.c - the command line of pzseek
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "pzseek.h"

#include "base/args.h"
#include "base/cpus.h"
#include "base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { THREADS_MAX = 4096, SPACING_LEAST = 64 << 10 };

static const char usage[] =
"usage: pzseek [-fqv] [-o file] [-p threads] [--index file] [--no-index]\n"
"           [--from-start] [--memory size] [--verify] file range ...\n"
"       pzseek [-fqv] [--index file] --make-index [--spacing size] file\n"
"       pzseek [--json] -l file\n";

static const char help[] =
"\n"
"Writes ranges of the data in a compressed file, without decompressing\n"
"everything before them.\n"
"\n"
"  range               OFFSET:LENGTH, OFFSET: (to the end), :LENGTH,\n"
"                      -N: (the last N bytes), -N:LENGTH; K, M, G, T\n"
"  -o, --output FILE   write to FILE\n"
"  -p, --processes N   number of threads (default: usable CPUs)\n"
"  --memory SIZE       use fewer threads rather than more memory\n"
"  --verify            decompress up to the next checksum\n"
"  --from-start        use no table or index; decompress from the start\n"
"  --make-index        make a side index for a gzip file\n"
"  --spacing SIZE      distance between index points (4M)\n"
"  --index FILE        use this index instead of file.pzi\n"
"  --no-index          do not look for an index\n"
"  -l, --list          list sizes, and how ranges are located (--json)\n"
"  -f, --force         overwrite\n"
"  -q, -v              be quiet, or verbose\n"
"  -h, -V              this help; version\n";

enum long_only {
	INDEX = 256, NO_INDEX, MAKE_INDEX, SPACE, FROM_START, VERIFY, MEMORY,
	JSON
};

static const struct option long_options[] = {
	{ "force", no_argument, NULL, 'f' },
	{ "from-start", no_argument, NULL, FROM_START },
	{ "help", no_argument, NULL, 'h' },
	{ "index", required_argument, NULL, INDEX },
	{ "json", no_argument, NULL, JSON },
	{ "list", no_argument, NULL, 'l' },
	{ "make-index", no_argument, NULL, MAKE_INDEX },
	{ "memory", required_argument, NULL, MEMORY },
	{ "no-index", no_argument, NULL, NO_INDEX },
	{ "output", required_argument, NULL, 'o' },
	{ "processes", required_argument, NULL, 'p' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "silent", no_argument, NULL, 'q' },
	{ "spacing", required_argument, NULL, SPACE },
	{ "verbose", no_argument, NULL, 'v' },
	{ "verify", no_argument, NULL, VERIFY },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

static int
version(struct pzseek *p)
{
	printf("pzseek (coldpress) %s\n", COLDPRESS_VERSION);
	return msg_finish(&p->msg);
}

static int
set_spacing(struct pzseek *p)
{
	if (args_size(optarg, &p->spacing) != 0 ||
	    p->spacing < SPACING_LEAST)
		return options_bad(&p->msg, "spacing", "64K or more");
	return -1;
}

/* Returns -1 to continue, or the exit status. */
static int
take_option(struct pzseek *p, int opt)
{
	switch (opt) {
	case 'f': p->force = true; break;
	case 'h': return options_help(&p->msg, usage, help);
	case 'l': p->list = true; break;
	case 'o':
		p->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		break;
	case 'p':
		return options_threads(&p->msg, THREADS_MAX,
		    &p->convert.options.threads);
	case 'q': p->msg.quiet = true; break;
	case 'v': p->msg.verbose++; break;
	case 'V': return version(p);
	case FROM_START: p->from_start = true; break;
	case INDEX: p->index = optarg; break;
	case JSON: p->json = true; break;
	case MAKE_INDEX: p->make_index = true; break;
	case MEMORY:
		return options_size(&p->msg, "size", &p->convert.memory);
	case NO_INDEX: p->no_index = true; break;
	case SPACE: return set_spacing(p);
	case VERIFY: p->verify = true; break;
	default: return MSG_ERROR;
	}
	return -1;
}

/* Options end at the file: a range may begin with a dash. */
int
pzseek_parse(struct pzseek *p, int argc, char **argv)
{
	int opt, status = -1;

	while (status < 0 && (opt = options_next(&p->msg, argc, argv,
	    "+fhlo:p:qvV", long_options)) != -1)
		status = take_option(p, opt);
	if (status >= 0)
		return status;
	p->convert.options.threads = cpus_choose(p->convert.options.threads,
	    THREADS_MAX);
	p->ranges = argv + optind + 1;
	p->range_count = argc - optind - 1;
	if (p->range_count == 0 && !p->list && !p->make_index) {
		msg_error(&p->msg, "a range is missing after %s "
		    "(OFFSET:LENGTH)", argv[optind]);
		return MSG_ERROR;
	}
	if (p->range_count < 0 ||
	    (p->range_count == 0) != (p->list || p->make_index) ||
	    (p->list && p->make_index))
		return options_usage(usage);
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
